"""Skill `Rearrange`."""

from planner.skills.handling import rearrange
from planner.skills.part import SkillPart
from planner.skills.preconditions import thing_can_be_fetched
from planner.world.primitive import PrimitiveName
from planner.world.skill import PLACE_ROLES
from planner.world.skill_effect import PutDown

SKILL = SkillPart(
    summary="fetches a thing and places it",
    routine=rearrange,
    roles=PLACE_ROLES,
    abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.PICK, PrimitiveName.PLACE}),
    preconditions=(thing_can_be_fetched,),
    effects=(PutDown(),),
    partnr_text=(
        "fetches an object and puts it down: Rearrange[<object>, <on or within>, <furniture>,"
        " <next_to or None>, <reference object or None>]. Example (Rearrange[vase_0, on, "
        "table_3, None, None])"
    ),
    timeout_s=600.0,
)
