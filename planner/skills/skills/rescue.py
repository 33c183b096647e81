"""Skills of LLaMAR's rescue grid."""

from collections.abc import Mapping

from planner.skills.part import SkillPart
from planner.skills.rescuing import alone, on_target
from planner.world.primitive import PrimitiveName
from planner.world.skill import AsReported, Role

SKILLS: Mapping[str, SkillPart] = {
    "Scout": SkillPart(
        summary="goes some way in a random direction, to find lost persons",
        routine=alone(PrimitiveName.SCOUT),
        abilities=frozenset({PrimitiveName.SCOUT}),
        partnr_text="goes some way in a random direction, to find lost persons. Example (Scout[])",
    ),
    "Carry": SkillPart(
        summary="takes hold of a lost person, whom at least two have to carry",
        routine=on_target(PrimitiveName.CARRY),
        roles=(Role.OBJECT,),
        abilities=frozenset({PrimitiveName.CARRY}),
        effects=(AsReported(),),
        partnr_text=(
            "takes hold of a lost person who is near; the person moves once at least two agents "
            "hold on, and supplies are dropped. Example (Carry[lost_person_timmy_6])"
        ),
    ),
    "DiscardSupplies": SkillPart(
        summary="throws all sand and water away",
        routine=alone(PrimitiveName.DISCARD_SUPPLIES),
        abilities=frozenset({PrimitiveName.DISCARD_SUPPLIES}),
        partnr_text="throws all sand and water of the agent away. Example (DiscardSupplies[])",
    ),
    "DropOff": SkillPart(
        summary="puts the person whom the agent holds into a deposit",
        routine=on_target(PrimitiveName.DROP_OFF),
        roles=(Role.FURNITURE,),
        abilities=frozenset({PrimitiveName.DROP_OFF}),
        effects=(AsReported(),),
        partnr_text=(
            "puts the person whom the agent holds into a deposit; all who hold the person have to "
            "be near it and do so. Example (DropOff[deposit_facility_5])"
        ),
    ),
    "StoreSupplies": SkillPart(
        summary="puts all sand and water into a deposit",
        routine=on_target(PrimitiveName.STORE_SUPPLIES),
        roles=(Role.FURNITURE,),
        abilities=frozenset({PrimitiveName.STORE_SUPPLIES}),
        partnr_text=(
            "puts all sand and water of the agent into a deposit, which must be near. Example "
            "(StoreSupplies[deposit_facility_5])"
        ),
    ),
    "TakeSand": SkillPart(
        summary="takes sand from a reservoir, or as much as fits from a deposit",
        routine=on_target(PrimitiveName.TAKE_SAND),
        roles=(Role.FURNITURE,),
        abilities=frozenset({PrimitiveName.TAKE_SAND}),
        partnr_text=(
            "takes one unit of sand from a reservoir, or as many as fit from a deposit, which "
            "must be near. Example (TakeSand[reservoir_utah_3])"
        ),
    ),
    "TakeWater": SkillPart(
        summary="takes water from a reservoir, or as much as fits from a deposit",
        routine=on_target(PrimitiveName.TAKE_WATER),
        roles=(Role.FURNITURE,),
        abilities=frozenset({PrimitiveName.TAKE_WATER}),
        partnr_text=(
            "takes one unit of water from a reservoir, or as many as fit from a deposit, which "
            "must be near. Example (TakeWater[reservoir_york_4])"
        ),
    ),
    "UseSand": SkillPart(
        summary="throws one unit of sand onto a fire, around where the agent is",
        routine=on_target(PrimitiveName.USE_SAND),
        roles=(Role.OBJECT_OR_FURNITURE,),
        abilities=frozenset({PrimitiveName.USE_SAND}),
        effects=(AsReported(),),
        partnr_text=(
            "throws one unit of sand onto a chemical fire; it works on the cells around the "
            "agent. Example (UseSand[caldor_fire_1])"
        ),
    ),
    "UseWater": SkillPart(
        summary="throws one unit of water onto a fire, around where the agent is",
        routine=on_target(PrimitiveName.USE_WATER),
        roles=(Role.OBJECT_OR_FURNITURE,),
        abilities=frozenset({PrimitiveName.USE_WATER}),
        effects=(AsReported(),),
        partnr_text=(
            "throws one unit of water onto a fire that is not chemical; it works on the cells "
            "around the agent. Example (UseWater[great_fire_2])"
        ),
    ),
}
