"""Skill `UseWater`."""

from planner.skills.part import SkillPart
from planner.skills.rescuing import on_target
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import AsReported

SKILL = SkillPart(
    summary="throws one unit of water onto a fire, around where the agent is",
    routine=on_target(PrimitiveName.USE_WATER),
    roles=(Role.OBJECT_OR_FURNITURE,),
    abilities=frozenset({PrimitiveName.USE_WATER}),
    effects=(AsReported(),),
    partnr_text=(
        "throws one unit of water onto a fire that is not chemical; it works on the cells "
        "around the agent. Example (UseWater[great_fire_2])"
    ),
)
