"""Reads and imports PARTNR's instruction and episode files."""
