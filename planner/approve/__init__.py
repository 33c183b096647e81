"""Answering an agent's questions to its operator: `planner approve`."""
