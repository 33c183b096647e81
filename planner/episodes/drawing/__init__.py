"""Draws an episode: rooms, furniture, things and what the evaluation asks for (PARTNR-4.6)."""
