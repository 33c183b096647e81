"""Skill `ToggleObjectOn`."""

from planner.skills.changing import within_range

SKILL = within_range("PowerOn", "switches on something within 1.5 m (LLaMAR)")
