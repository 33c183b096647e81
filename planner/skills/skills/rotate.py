"""Skill `Rotate`."""

from planner.skills.part import SkillPart
from planner.skills.small_steps import is_turn, rotate
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILL = SkillPart(
    summary="turns by 90 degrees: Left or Right (LLaMAR)",
    routine=rotate,
    roles=(Role.TEXT,),
    abilities=frozenset({PrimitiveName.NAVIGATE}),
    preconditions=(is_turn,),
    timeout_s=30.0,
)
