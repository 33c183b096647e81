"""Skill `OpenObject`."""

from planner.skills.in_range import is_closed, is_in_range
from planner.skills.opening import open_furniture
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import OpenedTo

SKILL = SkillPart(
    summary="opens furniture within 1.5 m that is closed (LLaMAR)",
    routine=open_furniture,
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.OPEN}),
    preconditions=(is_in_range, is_closed),
    effects=(OpenedTo(1.0),),
    like="Open",
)
