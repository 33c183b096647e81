"""What perception takes the thing at a place for: an operator approves what is there, not a word.

The words of a call may be of a planner that is wrong, and its point may be of something else.
"""

from __future__ import annotations

import math

from planner.world.belief import UNNAMED_CLASS, Belief, BeliefNode, Source
from planner.world.geometry import Vec3
from planner.world.vocabulary import EntityKind, Relation

# How far outside of a thing a point may be that is meant to be in it.
MARGIN_M = 0.05
# Of two things whose distances differ by less nobody can say which one is meant.
AS_NEAR_M = 0.03


def class_at(belief: Belief, point_m: Vec3) -> str:
    """The class of the thing that was seen at a point of the map.

    Empty where none was seen there, where it has no class yet, and where things of different
    classes are equally near. What somebody told of, or what follows from a skill, was not seen.
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
