"""Finds the things that fit an instruction's descriptions (docs/language.md)."""
