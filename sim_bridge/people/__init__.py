"""Positions of persons on a topic."""
