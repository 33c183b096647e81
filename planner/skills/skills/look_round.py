"""Skill `LookRound`."""

from planner.skills.moving import look_round
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName

SKILL = SkillPart(
    summary="turns round once, in twelve turns of 30 degrees, and looks after each (ET-Plan-Bench)",
    routine=look_round,
    abilities=frozenset({PrimitiveName.LOOK}),
)
