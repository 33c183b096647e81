"""Skill `FindAgentActionTool`."""

from planner.skills.part import SkillPart
from planner.skills.tools import find_agent_actions

SKILL = SkillPart(
    summary="tells what the other agents do and did",
    routine=find_agent_actions,
    aliases=("FindPartnerAgentActionTool",),
    partnr_text="tells what the other agents do and did. Example (FindAgentActionTool[])",
    is_query=True,
)
