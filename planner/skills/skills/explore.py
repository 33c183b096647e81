"""Skill `Explore`."""

from planner.skills.moving import explore
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILL = SkillPart(
    summary="looks around in a room, then at its furniture piece by piece",
    routine=explore,
    roles=(Role.ROOM,),
    aliases=("ExploreRoom",),
    abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK}),
    partnr_text="goes to all furniture of a room, to find things. Example (Explore[kitchen_1])",
    timeout_s=600.0,
)
