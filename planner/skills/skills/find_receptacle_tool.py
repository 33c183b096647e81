"""Skill `FindReceptacleTool`."""

from planner.skills.part import SkillPart
from planner.skills.tools import answers, find_receptacles
from planner.world.skill import Role

SKILL = SkillPart(
    summary="names furniture that fits a description",
    routine=answers(find_receptacles),
    roles=(Role.TEXT,),
    partnr_text=(
        "finds furniture by a description. Example (FindReceptacleTool[a table in the kitchen])"
    ),
    is_query=True,
)
