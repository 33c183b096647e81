"""Skill `NavigateTo`."""

from planner.skills.in_range import navigate_to
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILL = SkillPart(
    summary="walks to furniture or a thing until it is within 1.5 m (LLaMAR)",
    routine=navigate_to,
    roles=(Role.TARGET,),
    abilities=frozenset({PrimitiveName.NAVIGATE}),
    timeout_s=180.0,
    like="Navigate",
)
