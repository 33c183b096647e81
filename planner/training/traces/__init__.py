"""Dialogues of planners for training: their format, where they come from, and how they are kept."""
