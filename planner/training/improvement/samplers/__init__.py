"""The algorithms, one module each."""
