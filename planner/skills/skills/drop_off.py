"""Skill `DropOff`."""

from planner.skills.part import SkillPart
from planner.skills.rescuing import on_target
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import AsReported

SKILL = SkillPart(
    summary="puts the person whom the agent holds into a deposit",
    routine=on_target(PrimitiveName.DROP_OFF),
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.DROP_OFF}),
    effects=(AsReported(),),
    partnr_text=(
        "puts the person whom the agent holds into a deposit; all who hold the person have to "
        "be near it and do so. Example (DropOff[deposit_facility_5])"
    ),
)
