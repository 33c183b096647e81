"""Skill `Close`."""

from planner.skills.opening import close_furniture
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import OpenedTo

SKILL = SkillPart(
    summary="closes all doors, drawers and lids of furniture",
    routine=close_furniture,
    roles=(Role.FURNITURE,),
    aliases=("CloseFurniture",),
    abilities=frozenset({PrimitiveName.CLOSE}),
    effects=(OpenedTo(0.0),),
    partnr_text="closes furniture that opens. Example (Close[cabinet_7])",
    epm_text="closes furniture that opens. Example: Close[Object.101]",
)
