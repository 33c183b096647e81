"""Skill `ExploreFurniture`."""

from planner.skills.moving import explore_furniture
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILL = SkillPart(
    summary="walks to a piece of furniture and looks at it",
    routine=explore_furniture,
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK}),
    epm_text=(
        "goes to a piece of furniture and looks for things at it, and in it where it is open."
        " Example: ExploreFurniture[Object.101]"
    ),
    timeout_s=240.0,
)
