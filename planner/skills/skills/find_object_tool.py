"""Skill `FindObjectTool`."""

from planner.skills.part import SkillPart
from planner.skills.tools import answers, find_objects
from planner.world.skill import Role

SKILL = SkillPart(
    summary="names known things that fit a description",
    routine=answers(find_objects),
    roles=(Role.TEXT,),
    partnr_text="finds known objects by a description. Example (FindObjectTool[toys on the floor])",
    is_query=True,
)
