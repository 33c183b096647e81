"""Structured goals derived from the words of an instruction."""
