"""Skills that look for things."""

from collections.abc import Mapping

from planner.skills.exploring import explore_house
from planner.skills.moving import explore, explore_furniture
from planner.skills.part import SkillPart
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

SKILLS: Mapping[str, SkillPart] = {
    "Explore": SkillPart(
        summary="looks around in a room, then at its furniture piece by piece",
        routine=explore,
        roles=(Role.ROOM,),
        aliases=("ExploreRoom",),
        abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK}),
        named_text="goes to all furniture of a room, to find things. Example (Explore[kitchen_1])",
        timeout_s=600.0,
    ),
    "ExploreFurniture": SkillPart(
        summary="walks to a piece of furniture and looks at it",
        routine=explore_furniture,
        roles=(Role.FURNITURE,),
        abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK}),
        numbered_text=(
            "goes to a piece of furniture and looks for things at it, and in it where it is open."
            " Example: ExploreFurniture[Object.101]"
        ),
        timeout_s=240.0,
    ),
    "ExploreHouse": SkillPart(
        summary="explores all floor that can be walked to, by a map that it builds (HELPER)",
        routine=explore_house,
        abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK}),
        timeout_s=3600.0,
    ),
}
