"""Skill `Clean`."""

from planner.skills.changing import changes
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import StateSet
from planner.world.vocabulary import Affordance, State

SKILL = SkillPart(
    summary="cleans a thing or furniture",
    routine=changes(PrimitiveName.CLEAN, State.CLEAN),
    roles=(Role.OBJECT_OR_FURNITURE,),
    abilities=frozenset({PrimitiveName.CLEAN}),
    affordance=Affordance.CLEANABLE,
    effects=(StateSet(State.CLEAN, True),),
    partnr_text="cleans an object or furniture, which must be near. Example (Clean[vase_0])",
    epm_text="cleans a thing or furniture. Example: Clean[Object.149]",
)
