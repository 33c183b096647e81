"""Skill `ToggleObjectOff`."""

from planner.skills.changing import within_range

SKILL = within_range("PowerOff", "switches off something within 1.5 m (LLaMAR)")
