"""Skill `ExploreByView`."""

from planner.skills.part import SkillPart
from planner.skills.view_exploring import explore_by_view
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILL = SkillPart(
    summary="looks to four sides and steps where open subtasks seem to be, in rounds (LLaMAR)",
    routine=explore_by_view,
    roles=(Role.TEXT,),
    abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK}),
    timeout_s=180.0,
)
