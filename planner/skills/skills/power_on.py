"""Skill `PowerOn`."""

from planner.skills.changing import changes
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import StateSet
from planner.world.vocabulary import Affordance, State

SKILL = SkillPart(
    summary="switches something on",
    routine=changes(PrimitiveName.POWER_ON, State.POWERED_ON),
    roles=(Role.OBJECT_OR_FURNITURE,),
    abilities=frozenset({PrimitiveName.POWER_ON}),
    affordance=Affordance.POWERABLE,
    effects=(StateSet(State.POWERED_ON, True),),
    partnr_text="switches something on. Example (PowerOn[lamp_1])",
    epm_text="switches something on. Example: PowerOn[Object.149]",
)
