"""The class of the object perceived at a place, so that operators approve what is really there.

The words of a call may come from a planner that is wrong, and its point may be on something else.
"""

from __future__ import annotations

import math

from planner.world.belief import UNNAMED_CLASS, Belief, BeliefNode, Source
from planner.world.geometry import Vec3
from planner.world.vocabulary import EntityKind, Relation

# Tolerance for a point that is meant to be inside an object but lies outside.
MARGIN_M = 0.05
# If two distances differ by less, it is ambiguous which object is meant.
AS_NEAR_M = 0.03


def class_at(belief: Belief, point_m: Vec3) -> str:
    """The class of the object that was seen at a point of the map.

    Empty if none was seen there, if it has no class yet, or if objects of different classes are
    equally near. Objects known from a person or inferred from a skill were not seen.
    """
    there = [node for node in belief.of_kind(EntityKind.OBJECT) if _is_at(node, point_m)]
    if not there:
        return ""
    nearest_m = min(math.dist(node.position_m, point_m) for node in there)
    meant = {
        _seen_class(node)
        for node in there
        if math.dist(node.position_m, point_m) <= nearest_m + AS_NEAR_M
    }
    return meant.pop() if len(meant) == 1 else ""


def _is_at(node: BeliefNode, point_m: Vec3) -> bool:
    reach_m = max(node.size_m) / 2 + MARGIN_M
    return node.relation is not Relation.HELD and math.dist(node.position_m, point_m) <= reach_m


def _seen_class(node: BeliefNode) -> str:
    if node.source is not Source.SEEN or node.class_name == UNNAMED_CLASS:
        return ""
    return node.class_name
