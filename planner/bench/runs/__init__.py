"""Runs of a benchmark: many episodes, resumable, with a row and a trace for each."""
