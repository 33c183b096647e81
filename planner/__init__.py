"""Household robots that are told things in words: memory, planning, skills, evaluation."""
