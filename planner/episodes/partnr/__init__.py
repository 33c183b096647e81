"""PARTNR's instruction and episode files, read and imported."""
