"""Lint rules for episodes, and the command that applies them."""
