"""Skill `SliceObject`."""

from planner.skills.changing import within_range

SKILL = within_range("Slice", "slices food within 1.5 m with the knife in the hand (LLaMAR)")
