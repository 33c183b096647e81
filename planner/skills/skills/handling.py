"""Skills of the hand: things, doors and drawers."""

from collections.abc import Mapping

from planner.skills.handling import pick, place, rearrange
from planner.skills.moving import close_furniture, open_furniture
from planner.skills.part import SkillPart
from planner.skills.preconditions import hand_is_free, thing_can_be_fetched, thing_is_in_hand
from planner.world.primitive import PrimitiveName
from planner.world.skill import PLACE_ROLES, OpenedTo, PickedUp, PutDown, Role

SKILLS: Mapping[str, SkillPart] = {
    "Pick": SkillPart(
        summary="takes a thing within reach",
        routine=pick,
        roles=(Role.OBJECT,),
        aliases=("PickObject",),
        abilities=frozenset({PrimitiveName.PICK}),
        preconditions=(hand_is_free,),
        effects=(PickedUp(),),
        named_text="takes an object, which must be near; a hand holds one. Example (Pick[vase_0])",
        numbered_text="takes a thing into the hand; a hand holds one thing. "
        "Example: Pick[Object.149]",
    ),
    "Place": SkillPart(
        summary="puts the held thing on or into furniture, or on the floor",
        routine=place,
        roles=PLACE_ROLES,
        aliases=("PlaceObject",),
        abilities=frozenset({PrimitiveName.PLACE}),
        preconditions=(thing_is_in_hand,),
        effects=(PutDown(),),
        named_text=(
            "puts down the object in the hand: Place[<object>, <on or within>, <furniture>, "
            "<next_to or None>, <reference object or None>]. The reference object must already be"
            " on that furniture. Example (Place[vase_0, on, table_3, None, None])"
        ),
        numbered_text=(
            "puts the thing in the hand down, on or within furniture, next_to a thing that is "
            "there already or anywhere. Examples: Place[Object.149, on, Object.101, None, None], "
            "Place[Object.149, on, Object.101, next_to, Object.150]"
        ),
        timeout_s=180.0,
    ),
    "Rearrange": SkillPart(
        summary="fetches a thing and places it",
        routine=rearrange,
        roles=PLACE_ROLES,
        abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.PICK, PrimitiveName.PLACE}),
        preconditions=(thing_can_be_fetched,),
        effects=(PutDown(),),
        named_text=(
            "fetches an object and puts it down: Rearrange[<object>, <on or within>, <furniture>,"
            " <next_to or None>, <reference object or None>]. Example (Rearrange[vase_0, on, "
            "table_3, None, None])"
        ),
        timeout_s=600.0,
    ),
    "Open": SkillPart(
        summary="opens all doors, drawers and lids of furniture",
        routine=open_furniture,
        roles=(Role.FURNITURE,),
        aliases=("OpenFurniture",),
        abilities=frozenset({PrimitiveName.OPEN}),
        effects=(OpenedTo(1.0),),
        named_text="opens furniture that opens. Example (Open[cabinet_7])",
        numbered_text=(
            "opens furniture, so that one can look and reach inside. Example: Open[Object.101]"
        ),
    ),
    "Close": SkillPart(
        summary="closes all doors, drawers and lids of furniture",
        routine=close_furniture,
        roles=(Role.FURNITURE,),
        aliases=("CloseFurniture",),
        abilities=frozenset({PrimitiveName.CLOSE}),
        effects=(OpenedTo(0.0),),
        named_text="closes furniture that opens. Example (Close[cabinet_7])",
        numbered_text="closes furniture that opens. Example: Close[Object.101]",
    ),
}
