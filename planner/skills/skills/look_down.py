"""Skill `LookDown`."""

from planner.skills.part import SkillPart
from planner.skills.small_steps import is_angle, look_down
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILL = SkillPart(
    summary="tilts the camera down by 30 to 180 degrees (LLaMAR)",
    routine=look_down,
    roles=(Role.TEXT,),
    abilities=frozenset({PrimitiveName.LOOK}),
    preconditions=(is_angle,),
    timeout_s=30.0,
)
