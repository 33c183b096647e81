"""Derives structured goals from the words of an instruction."""
