"""Answering what an agent asks its operator: `planner approve`."""
