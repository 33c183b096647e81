"""Skill `CloseObject`."""

from planner.skills.in_range import is_in_range, is_opened
from planner.skills.opening import close_furniture
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import OpenedTo

SKILL = SkillPart(
    summary="closes furniture within 1.5 m that is open (LLaMAR)",
    routine=close_furniture,
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.CLOSE}),
    preconditions=(is_in_range, is_opened),
    effects=(OpenedTo(0.0),),
    like="Close",
)
