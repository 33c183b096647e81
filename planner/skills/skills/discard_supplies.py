"""Skill `DiscardSupplies`."""

from planner.skills.part import SkillPart
from planner.skills.rescuing import alone
from planner.world.primitive import PrimitiveName

SKILL = SkillPart(
    summary="throws all sand and water away",
    routine=alone(PrimitiveName.DISCARD_SUPPLIES),
    abilities=frozenset({PrimitiveName.DISCARD_SUPPLIES}),
    partnr_text="throws all sand and water of the agent away. Example (DiscardSupplies[])",
)
