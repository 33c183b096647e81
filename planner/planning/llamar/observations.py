"""What an agent sees now and how it stands, from the memory (LLAMAR-D5).

An agent sees what the memory knows of that is in its room, in front of it within its camera's
opening angle, and not inside anything closed; through doors, what cameras have seen in other rooms.
What hides behind other things the memory has not seen either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from planner.planning.llamar.names import InstanceNames, is_nameable
from planner.planning.llamar.sightlines import Sightline, no_sightline
from planner.world.agents import body_of
from planner.world.belief import Belief, BeliefNode, Source
from planner.world.openness import is_open
from planner.world.vocabulary import Relation

# The paper's camera, for bodies that are not ours.
_ANGLE_RAD = math.pi / 2
# Things this close are seen in any direction, since the agent stands at them.
_AT_HAND_M = 0.3
_COMPASS = ("east", "north", "west", "south")


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


def note_seen(
    names: InstanceNames,
    belief: Belief,
    agent: str,
    sightline: Sightline = no_sightline,
    among: Sequence[BeliefNode] | None = None,
) -> tuple[str, ...]:
    """Names what an agent sees now; returns the instance names of these."""
    nodes = visible(belief, agent, sightline, among)
    names.see(nodes, agent)
    return tuple(name for node in nodes if (name := names.name_of(node.name)) is not None)


def note_met(names: InstanceNames, belief: Belief) -> None:
    """Names what the team's cameras have seen in passing."""
    names.see(node for node in belief.nodes.values() if node.source is Source.SEEN)


def state_words(belief: Belief, agent: str, names: InstanceNames) -> str:
    """Where an agent is in the map (metres), where it faces, and what it holds."""
    node = belief.nodes.get(agent)
    if node is None:
        return "unknown"
    x, y, _ = node.position_m
    held = [names.name_of(thing) or thing for thing in node.hands if thing is not None]
    facing = f", facing {compass(node.heading_rad)}" if node.heading_rad is not None else ""
    # Adding 0.0 turns a negative zero into zero.
    return (
        f"({round(x, 2) + 0.0:.2f}, {round(y, 2) + 0.0:.2f}){facing}, "
        f"holding {' and '.join(held) or 'nothing'}"
    )


def compass(heading_rad: float) -> str:
    """The nearest of four directions: +x of the map is east, +y north."""
    return _COMPASS[round(heading_rad / (math.pi / 2)) % 4]


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
