"""Skill `PutAway`: fetches an object and puts it into furniture, or on it if it has no interior."""

from dataclasses import replace

from planner.skills.attempt import Attempt, Routine
from planner.skills.handling import rearrange
from planner.skills.part import SkillPart
from planner.skills.preconditions import Arguments, thing_can_be_fetched
from planner.world.primitive import PrimitiveName
from planner.world.skill import PutDown, Role
from planner.world.vocabulary import Relation


def put_away(attempt: Attempt, arguments: Arguments) -> Routine:
    """Does what Rearrange does, and chooses between on and within itself."""
    thing, furniture = arguments.entities
    inside = furniture.piece is not None and furniture.piece.interiors
    relation = Relation.WITHIN if inside else Relation.ON
    placing = replace(arguments, thing=thing, target=furniture, relation=relation)
    return (yield from rearrange(attempt, placing))


SKILL = SkillPart(
    summary="fetches a thing and puts it into furniture, or on it",
    routine=put_away,
    roles=(Role.OBJECT, Role.FURNITURE),
    abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.PICK, PrimitiveName.PLACE}),
    preconditions=(thing_can_be_fetched,),
    # On or within is not an argument here: the memory derives it from the object's position.
    effects=(PutDown(thing=0, furniture=1, relation=None),),
    named_text=(
        "fetches an object and puts it into furniture, or on it where there is no room inside. "
        "Example (PutAway[vase_0, cabinet_7])"
    ),
    numbered_text=(
        "fetches a thing and puts it into furniture, or on it where there is no room inside. "
        "Example: PutAway[Object.149, Object.101]"
    ),
    timeout_s=600.0,
)
