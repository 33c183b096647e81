"""Skill `Move`."""

from planner.skills.part import SkillPart
from planner.skills.small_steps import is_direction, move
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILL = SkillPart(
    summary="moves by 0.25 m: Ahead, Back, Left or Right (LLaMAR)",
    routine=move,
    roles=(Role.TEXT,),
    abilities=frozenset({PrimitiveName.NAVIGATE}),
    preconditions=(is_direction,),
    timeout_s=30.0,
)
