"""Skill `Pour`."""

from planner.skills.changing import changes
from planner.skills.part import SkillPart
from planner.skills.preconditions import hand_can_pour
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import HeldStateSet, StateSet
from planner.world.vocabulary import Affordance, State

SKILL = SkillPart(
    summary="pours from the held container into another",
    routine=changes(PrimitiveName.POUR, State.FILLED),
    roles=(Role.OBJECT,),
    abilities=frozenset({PrimitiveName.POUR}),
    affordance=Affordance.FILLABLE,
    preconditions=(hand_can_pour,),
    effects=(StateSet(State.FILLED, True), HeldStateSet(State.FILLED, False)),
    partnr_text="pours from the container in the hand into another. Example (Pour[cup_2])",
    epm_text="pours from the container in the hand into another. Example: Pour[Object.150]",
)
