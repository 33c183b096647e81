"""LLaMAR: a team that plans, acts, corrects and verifies (docs/llamar.md)."""
