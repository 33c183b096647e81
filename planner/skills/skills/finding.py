"""PARTNR's tools: questions to the memory, without a motion."""

from collections.abc import Mapping

from planner.skills.part import SkillPart
from planner.skills.tools import (
    answers,
    find_agent_actions,
    find_objects,
    find_receptacles,
    find_rooms,
)
from planner.world.skill import Role

SKILLS: Mapping[str, SkillPart] = {
    "FindAgentActionTool": SkillPart(
        summary="tells what the other agents do and did",
        routine=find_agent_actions,
        aliases=("FindPartnerAgentActionTool",),
        named_text="tells what the other agents do and did. Example (FindAgentActionTool[])",
        is_query=True,
    ),
    "FindObjectTool": SkillPart(
        summary="names known things that fit a description",
        routine=answers(find_objects),
        roles=(Role.TEXT,),
        named_text=(
            "finds known objects by a description. Example (FindObjectTool[toys on the floor])"
        ),
        is_query=True,
    ),
    "FindReceptacleTool": SkillPart(
        summary="names furniture that fits a description",
        routine=answers(find_receptacles),
        roles=(Role.TEXT,),
        named_text=(
            "finds furniture by a description. Example (FindReceptacleTool[a table in the kitchen])"
        ),
        is_query=True,
    ),
    "FindRoomTool": SkillPart(
        summary="names rooms that fit a description",
        routine=answers(find_rooms),
        roles=(Role.TEXT,),
        named_text="finds rooms by a description. Example (FindRoomTool[a room with a bed])",
        is_query=True,
    ),
}
