"""Carries out instructions in plain English: read, bound to things, done, and reported on."""
