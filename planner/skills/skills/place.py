"""Skill `Place`."""

from planner.skills.handling import place
from planner.skills.part import SkillPart
from planner.skills.preconditions import thing_is_in_hand
from planner.world.primitive import PrimitiveName
from planner.world.skill import PLACE_ROLES
from planner.world.skill_effect import PutDown

SKILL = SkillPart(
    summary="puts the held thing on or into furniture, or on the floor",
    routine=place,
    roles=PLACE_ROLES,
    aliases=("PlaceObject",),
    abilities=frozenset({PrimitiveName.PLACE}),
    preconditions=(thing_is_in_hand,),
    effects=(PutDown(),),
    partnr_text=(
        "puts down the object in the hand: Place[<object>, <on or within>, <furniture>, "
        "<next_to or None>, <reference object or None>]. The reference object must already be"
        " on that furniture. Example (Place[vase_0, on, table_3, None, None])"
    ),
    epm_text=(
        "puts the thing in the hand down, on or within furniture, next_to a thing that is "
        "there already or anywhere. Examples: Place[Object.149, on, Object.101, None, None], "
        "Place[Object.149, on, Object.101, next_to, Object.150]"
    ),
    timeout_s=180.0,
)
