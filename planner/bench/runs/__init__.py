"""Runs of a benchmark: many episodes, resumable, a row and a trace for each, and what they say."""
