"""Skill `TakeSand`."""

from planner.skills.part import SkillPart
from planner.skills.rescuing import on_target
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILL = SkillPart(
    summary="takes sand from a reservoir, or as much as fits from a deposit",
    routine=on_target(PrimitiveName.TAKE_SAND),
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.TAKE_SAND}),
    partnr_text=(
        "takes one unit of sand from a reservoir, or as many as fit from a deposit, which "
        "must be near. Example (TakeSand[reservoir_utah_3])"
    ),
)
