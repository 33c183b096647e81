"""Skill `Scout`."""

from planner.skills.part import SkillPart
from planner.skills.rescuing import alone
from planner.world.primitive import PrimitiveName

SKILL = SkillPart(
    summary="goes some way in a random direction, to find lost persons",
    routine=alone(PrimitiveName.SCOUT),
    abilities=frozenset({PrimitiveName.SCOUT}),
    partnr_text="goes some way in a random direction, to find lost persons. Example (Scout[])",
)
