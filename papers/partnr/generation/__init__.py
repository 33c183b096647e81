"""Generates PARTNR tasks: instructions with things, places and goals, filtered by simulation."""
