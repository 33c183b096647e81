"""Skill `Open`."""

from planner.skills.opening import open_furniture
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role
from planner.world.skill_effect import OpenedTo

SKILL = SkillPart(
    summary="opens all doors, drawers and lids of furniture",
    routine=open_furniture,
    roles=(Role.FURNITURE,),
    aliases=("OpenFurniture",),
    abilities=frozenset({PrimitiveName.OPEN}),
    effects=(OpenedTo(1.0),),
    partnr_text="opens furniture that opens. Example (Open[cabinet_7])",
    epm_text="opens furniture, so that one can look and reach inside. Example: Open[Object.101]",
)
