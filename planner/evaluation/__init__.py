"""Evaluation: judges a task only by the true states of the world."""
