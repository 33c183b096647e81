"""Skill `Navigate`."""

from planner.skills.moving import navigate
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILL = SkillPart(
    summary="walks next to furniture or a thing, or into a room",
    routine=navigate,
    roles=(Role.TARGET,),
    abilities=frozenset({PrimitiveName.NAVIGATE}),
    timed_out_text="Unsuccessful execution - skill timed out on the way to target",
    partnr_text="goes next to furniture, a room or an object. Example (Navigate[table_3])",
    epm_text="goes next to a thing or furniture. Example: Navigate[Object.101]",
    timeout_s=180.0,
)
