"""Skill `StoreSupplies`."""

from planner.skills.part import SkillPart
from planner.skills.rescuing import on_target
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILL = SkillPart(
    summary="puts all sand and water into a deposit",
    routine=on_target(PrimitiveName.STORE_SUPPLIES),
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.STORE_SUPPLIES}),
    partnr_text=(
        "puts all sand and water of the agent into a deposit, which must be near. Example "
        "(StoreSupplies[deposit_facility_5])"
    ),
)
