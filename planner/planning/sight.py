"""What an agent sees now, as far as the memory knows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import shapely

from planner.world.agents import body_of
from planner.world.belief import Belief, BeliefNode, Source
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.object_checks import walls_of
from planner.world.vocabulary import EntityKind, Relation, is_open

_FLOOR = "floor"
_KINDS = frozenset({EntityKind.FURNITURE, EntityKind.OBJECT})


def is_nameable(node: BeliefNode) -> bool:
    """Whether actions can be about it: furniture and things, but no floor or agent."""
    return node.kind in _KINDS and node.class_name != _FLOOR


# Which points of a house see one another past its walls, through doors.

# Whether nothing of the house's walls is between one point of the map and each of several others.
# All at once, since a house has hundreds of things, and a team looks in every joint step.
Sightline = Callable[[Vec3, Sequence[Vec3]], Sequence[bool]]


def no_sightline(_from_m: Vec3, to_m: Sequence[Vec3]) -> Sequence[bool]:
    """Nothing outside the own room is seen."""
    return [False] * len(to_m)


def sightline_of(layout: House) -> Sightline:
    """For a house; in a scene graph, whose walls are not known, no room sees into another."""
    if layout.graph is not None:
        return no_sightline
    walls = walls_of(layout)
    shapely.prepare(walls)

    def sees(from_m: Vec3, to_m: Sequence[Vec3]) -> Sequence[bool]:
        if not to_m:
            return []
        lines = shapely.linestrings([(from_m[:2], point[:2]) for point in to_m])
        return [not is_hit for is_hit in shapely.intersects(walls, lines).tolist()]

    return sees


# LLaMAR's camera, for bodies that are not ours.
_ANGLE_RAD = math.pi / 2
# Things this close are seen in any direction, since the agent stands at them.
_AT_HAND_M = 0.3


def in_the_open(belief: Belief) -> list[BeliefNode]:
    """The furniture and things that are not inside anything closed, in the memory's order."""
    return [
        node
        for node in belief.nodes.values()
        if is_nameable(node) and not _is_enclosed(node, belief)
    ]


def visible(
    belief: Belief,
    agent: str,
    sightline: Sightline = no_sightline,
    among: Sequence[BeliefNode] | None = None,
) -> list[BeliefNode]:
    """The furniture and things that an agent sees, in the memory's order; not what it holds.

    Nothing for an agent that the memory does not know. One whose heading is unknown sees its room.
    `among` is what is in the open; None = it is looked for, which is the same for all agents.
    """
    viewer = belief.nodes.get(agent)
    if viewer is None:
        return []
    held, half_rad = set(viewer.hands), _angle_rad(viewer.class_name) / 2
    faced = [
        node
        for node in (in_the_open(belief) if among is None else among)
        # Only what was seen is known to stand in view behind a door.
        if (node.room == viewer.room or node.source is Source.SEEN)
        and node.name not in held
        and _faces(viewer, node, half_rad)
    ]
    others = [node for node in faced if node.room != viewer.room]
    in_view = sightline(viewer.position_m, [node.position_m for node in others])
    hidden = {node.name for node, is_seen in zip(others, in_view, strict=True) if not is_seen}
    return [node for node in faced if node.name not in hidden]


def _faces(viewer: BeliefNode, node: BeliefNode, half_rad: float) -> bool:
    if viewer.heading_rad is None:
        return True
    dx = node.position_m[0] - viewer.position_m[0]
    dy = node.position_m[1] - viewer.position_m[1]
    if math.hypot(dx, dy) <= _AT_HAND_M:
        return True
    turn_rad = math.remainder(math.atan2(dy, dx) - viewer.heading_rad, math.tau)
    return abs(turn_rad) <= half_rad


def _angle_rad(kind: str) -> float:
    body = body_of(kind)
    if body is None or "hand" not in body.cameras:
        return _ANGLE_RAD
    return body.cameras["hand"].horizontal_fov_rad


def _is_enclosed(node: BeliefNode, belief: Belief) -> bool:
    """Whether it is, directly or indirectly, inside something closed."""
    passed: set[str] = set()
    while node.name not in passed:
        passed.add(node.name)
        parent = belief.nodes.get(node.parent or "")
        if parent is None or not is_nameable(node):
            return False
        if node.relation is Relation.WITHIN and is_open(parent.openness) is False:
            return True
        node = parent
    return False
