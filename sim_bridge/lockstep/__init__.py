"""Lockstep: fast time waits for memory, skills and planner."""
