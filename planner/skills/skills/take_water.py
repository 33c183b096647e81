"""Skill `TakeWater`."""

from planner.skills.part import SkillPart
from planner.skills.rescuing import on_target
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILL = SkillPart(
    summary="takes water from a reservoir, or as much as fits from a deposit",
    routine=on_target(PrimitiveName.TAKE_WATER),
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.TAKE_WATER}),
    partnr_text=(
        "takes one unit of water from a reservoir, or as many as fit from a deposit, which "
        "must be near. Example (TakeWater[reservoir_york_4])"
    ),
)
