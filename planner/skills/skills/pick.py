"""Skill `Pick`."""

from planner.skills.handling import pick
from planner.skills.part import SkillPart
from planner.skills.preconditions import hand_is_free
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import PickedUp

SKILL = SkillPart(
    summary="takes a thing within reach",
    routine=pick,
    roles=(Role.OBJECT,),
    aliases=("PickObject",),
    abilities=frozenset({PrimitiveName.PICK}),
    preconditions=(hand_is_free,),
    effects=(PickedUp(),),
    partnr_text="takes an object, which must be near; a hand holds one. Example (Pick[vase_0])",
    epm_text="takes a thing into the hand; a hand holds one thing. Example: Pick[Object.149]",
)
