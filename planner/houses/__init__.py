"""Procedural houses: rooms and doors, furniture, objects, drawings and the commands."""
