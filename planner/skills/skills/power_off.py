"""Skill `PowerOff`."""

from planner.skills.changing import changes
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import StateSet
from planner.world.vocabulary import Affordance, State

SKILL = SkillPart(
    summary="switches something off",
    routine=changes(PrimitiveName.POWER_OFF, State.POWERED_ON, value=False),
    roles=(Role.OBJECT_OR_FURNITURE,),
    abilities=frozenset({PrimitiveName.POWER_OFF}),
    affordance=Affordance.POWERABLE,
    effects=(StateSet(State.POWERED_ON, False),),
    partnr_text="switches something off. Example (PowerOff[lamp_1])",
    epm_text="switches something off. Example: PowerOff[Object.149]",
)
