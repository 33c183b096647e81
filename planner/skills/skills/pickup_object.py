"""Skill `PickupObject`."""

from planner.skills.handling import pick
from planner.skills.in_range import is_in_range
from planner.skills.part import SkillPart
from planner.skills.preconditions import hand_is_free
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import PickedUp

SKILL = SkillPart(
    summary="takes a visible thing within 1.5 m, without a step (LLaMAR)",
    routine=pick,
    roles=(Role.OBJECT,),
    abilities=frozenset({PrimitiveName.PICK}),
    preconditions=(hand_is_free, is_in_range),
    effects=(PickedUp(),),
    like="Pick",
    stands_still=True,
)
