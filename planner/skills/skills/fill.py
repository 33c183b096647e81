"""Skill `Fill`."""

from planner.skills.changing import changes
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import StateSet
from planner.world.vocabulary import Affordance, State

SKILL = SkillPart(
    summary="fills a container at a faucet",
    routine=changes(PrimitiveName.FILL, State.FILLED),
    roles=(Role.OBJECT,),
    abilities=frozenset({PrimitiveName.FILL}),
    affordance=Affordance.FILLABLE,
    effects=(StateSet(State.FILLED, True),),
    partnr_text="fills a container; a faucet must be near. Example (Fill[vase_0])",
    epm_text="fills a container; a faucet must be near. Example: Fill[Object.149]",
)
