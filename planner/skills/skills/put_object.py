"""Skill `PutObject`."""

from planner.skills.handling import place
from planner.skills.in_range import is_in_range
from planner.skills.part import SkillPart
from planner.skills.preconditions import thing_is_in_hand
from planner.world.primitive import PrimitiveName
from planner.world.skill import PLACE_ROLES
from planner.world.skill_effect import PutDown

SKILL = SkillPart(
    summary="puts the held thing on or into furniture within 1.5 m (LLaMAR)",
    routine=place,
    roles=PLACE_ROLES,
    abilities=frozenset({PrimitiveName.PLACE}),
    preconditions=(thing_is_in_hand, is_in_range),
    effects=(PutDown(),),
    timeout_s=180.0,
    like="Place",
)
