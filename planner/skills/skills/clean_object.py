"""Skill `CleanObject`."""

from planner.skills.changing import within_range

SKILL = within_range("Clean", "cleans a thing or furniture within 1.5 m (LLaMAR)")
