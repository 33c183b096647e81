"""Composition: simulator, memory, skills, planner and judge in one process."""
