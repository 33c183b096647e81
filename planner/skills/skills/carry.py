"""Skill `Carry`."""

from planner.skills.part import SkillPart
from planner.skills.rescuing import on_target
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import AsReported

SKILL = SkillPart(
    summary="takes hold of a lost person, whom at least two have to carry",
    routine=on_target(PrimitiveName.CARRY),
    roles=(Role.OBJECT,),
    abilities=frozenset({PrimitiveName.CARRY}),
    effects=(AsReported(),),
    partnr_text=(
        "takes hold of a lost person who is near; the person moves once at least two agents "
        "hold on, and supplies are dropped. Example (Carry[lost_person_timmy_6])"
    ),
)
