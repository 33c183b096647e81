"""Skill `FindRoomTool`."""

from planner.skills.part import SkillPart
from planner.skills.tools import answers, find_rooms
from planner.world.skill import Role

SKILL = SkillPart(
    summary="names rooms that fit a description",
    routine=answers(find_rooms),
    roles=(Role.TEXT,),
    partnr_text="finds rooms by a description. Example (FindRoomTool[a room with a bed])",
    is_query=True,
)
