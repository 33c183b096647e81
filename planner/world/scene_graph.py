"""The scene graph: house, rooms, furniture with floors, things and agents (PARTNR-5.1).

Everything is derived from geometry: what supports or encloses a thing follows
from boxes, never from what a simulator notes about it. The same function
serves any world that knows poses and sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from planner.world.geometry import Pose, Vec3
from planner.world.house import Furniture, House
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, floor_name

# A thing rests on what is this near below it.
CONTACT_M = 0.03


class EdgeKind(StrEnum):
    """How a node belongs to its parent."""

    IN = "in"
    ON = "on"
    WITHIN = "within"
    HELD_BY = "held_by"


@dataclass(frozen=True, slots=True)
class Node:
    """An entity of the graph; `pose` and `size_m` as in `EntityState`."""

    name: str
    kind: EntityKind
    class_name: str
    pose: Pose
    size_m: Vec3


@dataclass(frozen=True, slots=True)
class Edge:
    """`child` is `kind` `parent`; `part` names the surface or interior where there is one."""

    child: str
    kind: EdgeKind
    parent: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class SceneGraph:
    """Nodes by name and each node's one edge to its parent; rooms have none."""

    nodes: Mapping[str, Node]
    edges: Mapping[str, Edge]

    def room_of(self, name: str) -> str | None:
        """The room at the top of a node's chain of parents."""
        seen = set()
        while name in self.edges and name not in seen:
            seen.add(name)
            name = self.edges[name].parent
        node = self.nodes.get(name)
        return name if node is not None and node.kind is EntityKind.ROOM else None

    def children(self, parent: str) -> list[str]:
        """The names directly under a node, sorted."""
        return sorted(edge.child for edge in self.edges.values() if edge.parent == parent)


def scene_graph(house: House, state: WorldState) -> SceneGraph:
    """The graph of a world at one instant; a thing that nothing supports has no edge."""
    nodes = {
        e.name: Node(e.name, e.kind, e.class_name, e.pose, e.size_m)
        for e in state.entities.values()
    }
    edges: dict[str, Edge] = {}
    for room in house.rooms:
        floor = floor_name(room.name)
        center = nodes[room.name]
        nodes[floor] = Node(
            floor,
            EntityKind.FURNITURE,
            "floor",
            center.pose,
            (center.size_m[0], center.size_m[1], 0.0),
        )
        edges[floor] = Edge(floor, EdgeKind.IN, room.name)
    agents = [e for e in state.entities.values() if e.kind is EntityKind.AGENT]
    for entity in state.entities.values():
        if entity.kind is EntityKind.FURNITURE or entity.kind is EntityKind.AGENT:
            edge = _in_room(house, entity)
        elif entity.kind is EntityKind.OBJECT:
            edge = _held(entity, agents) or _support(house, state, entity)
        else:
            edge = None
        if edge is not None:
            edges[entity.name] = edge
    return SceneGraph(nodes, edges)


def _in_room(house: House, entity: EntityState) -> Edge | None:
    x, y, _ = entity.pose.position_m
    room = house.room_at(x, y)
    return Edge(entity.name, EdgeKind.IN, room) if room is not None else None


def _held(entity: EntityState, agents: Iterable[EntityState]) -> Edge | None:
    for agent in agents:
        if agent.holding == entity.name:
            return Edge(entity.name, EdgeKind.HELD_BY, agent.name)
    return None


def _support(house: House, state: WorldState, entity: EntityState) -> Edge | None:
    x, y, z = entity.pose.position_m
    middle = (x, y, z + entity.size_m[2] / 2)
    best: tuple[float, Edge] | None = None
    for piece in house.furniture:
        if piece.box.distance_m((x, y, z)) > 1.0:
            continue
        openness = state.entities[piece.name].openness or 0.0
        local = piece.pose.inverse().apply(middle)
        bottom = local[2] - entity.size_m[2] / 2
        within = enclosing(piece, openness, local)
        if within is not None:
            return Edge(entity.name, EdgeKind.WITHIN, piece.name, within)
        for surface in piece.surfaces:
            gap = abs(bottom - surface.center[2])
            if gap <= CONTACT_M and _over(local, surface.center, surface.size):
                edge = Edge(entity.name, EdgeKind.ON, piece.name, surface.name)
                if best is None or gap < best[0]:
                    best = (gap, edge)
    if best is not None:
        return best[1]
    room = house.room_at(x, y)
    if room is not None and abs(z) <= CONTACT_M:
        return Edge(entity.name, EdgeKind.ON, floor_name(room), "floor")
    return None


def enclosing(piece: Furniture, openness: float, local: Vec3) -> str | None:
    """The interior that a point of the furniture's frame is in; `openness` is 0 to 1."""
    for hollow in piece.interiors:
        # A drawer is somewhere between closed and as far out as the widest one.
        shifts = [0.0]
        if hollow.joint is not None and hollow.moves:
            shifts.append(openness * piece.joint(hollow.joint).travel)
        for shift in shifts:
            axis = piece.joint(hollow.joint).axis if hollow.joint is not None else (0.0, 0.0, 0.0)
            center = (
                hollow.center[0] + shift * axis[0],
                hollow.center[1] + shift * axis[1],
                hollow.center[2] + shift * axis[2],
            )
            if all(abs(p - c) <= s / 2 for p, c, s in zip(local, center, hollow.size, strict=True)):
                return hollow.name
    return None


def _over(local: Vec3, center: Vec3, size: tuple[float, float]) -> bool:
    tolerance = 0.01
    return (
        math.fabs(local[0] - center[0]) <= size[0] / 2 + tolerance
        and math.fabs(local[1] - center[1]) <= size[1] / 2 + tolerance
    )
