"""Skill `ExploreHouse`."""

from planner.skills.house_exploring import explore_house
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName

SKILL = SkillPart(
    summary="explores all floor that can be walked to, by a map that it builds (HELPER)",
    routine=explore_house,
    abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK}),
    timeout_s=3600.0,
)
