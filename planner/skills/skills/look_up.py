"""Skill `LookUp`."""

from planner.skills.part import SkillPart
from planner.skills.small_steps import is_angle, look_up
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILL = SkillPart(
    summary="tilts the camera up by 30 to 180 degrees (LLaMAR)",
    routine=look_up,
    roles=(Role.TEXT,),
    abilities=frozenset({PrimitiveName.LOOK}),
    preconditions=(is_angle,),
    timeout_s=30.0,
)
