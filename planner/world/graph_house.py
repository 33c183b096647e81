"""Converts a scene graph to a house: rooms, furniture and things keep their names and classes.

Nothing is fitted to the catalogue. What the graph places keeps its position and box; the rest gets
one: rooms in a row, furniture in its room, things on or in what the edges say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from planner.world.errors import FileError
from planner.world.geometry import Vec3
from planner.world.graph_file import EdgeKind, Graph, GraphNode, label, parse_graph
from planner.world.house import (
    Door,
    Furniture,
    House,
    Interior,
    Joint,
    ObjectPlacement,
    Room,
    Surface,
)
from planner.world.shapes import Part
from planner.world.states import default_states
from planner.world.vocabulary import Affordance, Relation, floor_name

# Default sizes, metres, of what no simulator has placed.
_ROOM_M: Vec3 = (6.0, 5.0, 2.6)
_PIECE_M: Vec3 = (0.6, 0.6, 0.8)
_THING_M: Vec3 = (0.1, 0.1, 0.1)
_PIECE_PITCH_M, _THING_PITCH_M = 1.2, 0.15
_THINNEST_M = 0.02
_MIN_ROOM_SIDE_M, _MIN_HEIGHT_M, _MAX_HEIGHT_M = 1.0, 1.9, 6.0
_STRUCTURE = frozenset({"ceiling", "doorjamb", "floor", "wall", "walls", "window"})
_STRUCTURE_CATEGORIES = frozenset({"Ceiling", "Floor", "Floors", "Walls", "Windows"})
_GREY = (0.6, 0.6, 0.6)
_AFFORDANCES = {"CAN_OPEN": Affordance.OPENABLE, "HAS_SWITCH": "powerable"}
# Edges that follow from positions. A graph without any keeps what it says is close.
_OF_POSITIONS = frozenset({EdgeKind.CLOSE, EdgeKind.FACING})


def house_of_document(document: object, source: Path) -> House:
    """The house of a parsed graph file, named after it.

    Raises:
        FileError: with file, field and reason.
    """
    graph = parse_graph(document, source)
    name = "".join(c if c.isalnum() and c.isascii() else "-" for c in source.stem).strip("-")
    if not any(node.is_room for node in graph.nodes):
        raise FileError(source, "nodes", "there is no room")
    return house_of_graph(graph, name or "graph")


def house_of_graph(graph: Graph, name: str) -> House:
    """The house of a checked graph with at least one room."""
    return _Builder(graph).house(name)


def affordances_of(node: GraphNode) -> tuple[str, ...]:
    """The affordances of a node: allowed by its properties or implied by its states."""
    by_property = [a for name, a in _AFFORDANCES.items() if node.has(name)]
    by_state = [default_states().affordance_of[state] for state in states_of(node)]
    return tuple(dict.fromkeys((*by_property, *by_state)))


def states_of(node: GraphNode) -> dict[str, bool]:
    """Those of a node's states that exist in every world."""
    known = default_states().graph_words
    return dict(known[word.upper()] for word in node.states if word.upper() in known)


def is_structure(node: GraphNode) -> bool:
    """Whether a node is part of the building, which cannot be handled."""
    return node.category in _STRUCTURE_CATEGORIES or node.class_name.lower() in _STRUCTURE


def _is_placed(graph: Graph) -> bool:
    """Whether a simulator has placed any node of it."""
    return any(node.bounding_box or node.obj_transform for node in graph.nodes)


class _Builder:
    """Sorts a graph's nodes by kind and places them one after another."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes = {node.id: node for node in graph.nodes}
        self._below: dict[int, list[tuple[str, int]]] = {}
        for edge in graph.edges:
            self._below.setdefault(edge.from_id, []).append((edge.relation_type, edge.to_id))
        self._holds = {e.to_id for e in graph.edges if e.relation_type == EdgeKind.INSIDE}
        self._rooms: dict[int, Room] = {}
        self._pieces: dict[int, Furniture] = {}
        self._things: dict[int, ObjectPlacement] = {}
        self._count_in: dict[int, int] = {}

    def house(self, name: str) -> House:
        rooms = [node for node in self._graph.nodes if node.is_room]
        for node in rooms:
            self._rooms[node.id] = self._room(node)
        handled = [n for n in self._graph.nodes if not (n.is_room or n.is_character)]
        things = {n.id: n for n in handled if n.has("GRABBABLE")}
        for node in handled:
            if node.id not in things and not is_structure(node):
                self._pieces[node.id] = self._piece(node)
        for node in things.values():
            self._place(node)
        bare = {"bounding_box": None, "obj_transform": None}
        dropped = _OF_POSITIONS if _is_placed(self._graph) else {EdgeKind.FACING}
        kept = Graph(
            nodes=tuple(
                n if n.is_character else n.model_copy(update=bare) for n in self._graph.nodes
            ),
            edges=tuple(e for e in self._graph.edges if e.relation_type not in dropped),
        )
        return House(
            version=1,
            name=name,
            foreign=True,
            rooms=tuple(self._rooms.values()),
            doors=tuple(self._doors()) or tuple(self._openings()),
            furniture=tuple(self._pieces.values()),
            objects=tuple(self._things.values()),
            graph=kept,
        )

    def _room(self, node: GraphNode) -> Room:
        center, size = _box(node) or self._next_room()
        half = [max(side, _MIN_ROOM_SIDE_M) / 2 for side in size[:2]]
        (x, y, _), (dx, dy) = center, half
        return Room(
            name=label(node),
            class_name=node.class_name,
            polygon_m=((x - dx, y - dy), (x + dx, y - dy), (x + dx, y + dy), (x - dx, y + dy)),
            height_m=min(max(size[2], _MIN_HEIGHT_M), _MAX_HEIGHT_M),
        )

    def _next_room(self) -> tuple[Vec3, Vec3]:
        east = max((x for room in self._rooms.values() for x, _ in room.polygon_m), default=0.0)
        return (east + _ROOM_M[0] / 2, 0.0, _ROOM_M[2] / 2), _ROOM_M

    def _room_of(self, number: int) -> int:
        """The room that a node is in: directly, through what it is on or in, or by position."""
        waiting, seen = [number], {number}
        while waiting:
            for kind, other in self._below.get(waiting.pop(0), ()):
                if kind in (EdgeKind.INSIDE, EdgeKind.ON, EdgeKind.BETWEEN) and other not in seen:
                    if other in self._rooms:
                        return other
                    seen.add(other)
                    waiting.append(other)
        box = _box(self._nodes[number])
        if box is None:
            return next(iter(self._rooms))
        return min(self._rooms, key=lambda room: math.dist(box[0][:2], _middle(self._rooms[room])))

    def _piece(self, node: GraphNode) -> Furniture:
        room = self._room_of(node.id)
        center, size = _box(node) or self._free_place(room)
        bottom, top = center[2] - size[2] / 2, center[2] + size[2] / 2
        if bottom < 0:
            bottom, top = 0.0, size[2]
        depth, width = size[:2]
        middle = (bottom + top) / 2
        opens = node.has("CAN_OPEN")
        hollow = node.is_hollow or node.id in self._holds
        interior = Interior(
            name="inside",
            center=(0.0, 0.0, middle),
            size=(depth, width, top - bottom),
            joint="door" if opens else None,
        )
        joint = Joint(
            name="door",
            kind="hinge",
            axis=(0.0, 0.0, 1.0),
            travel=math.pi / 2,
            handle=(depth / 2, 0.0, middle),
        )
        return Furniture(
            name=label(node),
            class_name=node.class_name,
            room=self._rooms[room].name,
            x_m=center[0],
            y_m=center[1],
            yaw_rad=0.0,
            size_m=(depth, width, top),
            affordances=affordances_of(node),
            states=states_of(node),
            parts=(Part(center=(0.0, 0.0, middle), size=(depth, width, top - bottom), rgb=_GREY),),
            surfaces=(Surface(name="top", center=(0.0, 0.0, top), size=(depth, width)),),
            interiors=(interior,) if hollow else (),
            joints=(joint,) if opens else (),
        )

    def _free_place(self, room: int) -> tuple[Vec3, Vec3]:
        number = self._count_in[room] = self._count_in.get(room, 0) + 1
        (x0, y0), _, (x1, y1), _ = self._rooms[room].polygon_m
        x, y = _grid_point(number, (x0, y0), (x1, y1), _PIECE_PITCH_M)
        return (x, y, _PIECE_M[2] / 2), _PIECE_M

    def _place(self, node: GraphNode) -> None:
        """Places a thing, after what it is on or in."""
        if node.id in self._things:
            return
        relation, parent = self._support(node.id)
        holder = self._nodes[parent]
        if parent not in self._rooms and parent not in self._pieces:
            self._place(holder)
        center, size = _box(node) or self._by_parent(relation, parent)
        self._things[node.id] = ObjectPlacement(
            name=label(node),
            class_name=node.class_name,
            size_m=size,
            pose=(center[0], center[1], center[2] - size[2] / 2, 0.0),
            parent=floor_name(label(holder)) if holder.is_room else label(holder),
            relation=Relation.WITHIN if relation == EdgeKind.INSIDE else Relation.ON,
            part="inside" if relation == EdgeKind.INSIDE else "top",
            states=states_of(node),
        )

    def _support(self, number: int) -> tuple[str, int]:
        """What a thing is inside of, or else on, or else the floor of its room."""
        for edge_kind in (EdgeKind.INSIDE, EdgeKind.ON):
            for kind, other in self._below.get(number, ()):
                if kind == edge_kind and (
                    other in self._pieces or self._nodes[other].has("GRABBABLE")
                ):
                    return edge_kind, other
        return EdgeKind.ON, self._room_of(number)

    def _by_parent(self, relation: str, parent: int) -> tuple[Vec3, Vec3]:
        number = self._count_in[parent] = self._count_in.get(parent, 0) + 1
        depth, width, _ = size = _THING_M
        if parent in self._rooms:
            (x0, y0), _, (x1, y1), _ = self._rooms[parent].polygon_m
            low, high, rest = (x0, y0), (x1, y1), 0.0
        elif parent in self._pieces:
            piece = self._pieces[parent]
            dx, dy = piece.size_m[0] / 2, piece.size_m[1] / 2
            low, high = (piece.x_m - dx, piece.y_m - dy), (piece.x_m + dx, piece.y_m + dy)
            inside = relation == EdgeKind.INSIDE
            rest = piece.interiors[0].center[2] if inside else piece.surfaces[0].center[2]
        else:
            thing = self._things[parent]
            (x, y, z, _), step = thing.pose, _THING_PITCH_M / 4
            low, high = (x - depth, y - width), (x + depth, y + width)
            rest = z + (step if relation == EdgeKind.INSIDE else thing.size_m[2])
        x, y = _grid_point(number, low, high, _THING_PITCH_M)
        return (x, y, rest + size[2] / 2), size

    def _doors(self) -> Iterator[Door]:
        """The nodes that are between rooms."""
        for node in self._graph.nodes:
            joined = tuple(
                dict.fromkeys(
                    other
                    for kind, other in self._below.get(node.id, ())
                    if kind == EdgeKind.BETWEEN and other in self._rooms
                )
            )[:2]
            if joined:
                box = _box(node)
                rooms = [self._rooms[number] for number in joined]
                x, y, _ = box[0] if box is not None else (*_mean(rooms), 0.0)
                yield _door(label(node), rooms, (x, y))

    def _openings(self) -> Iterator[Door]:
        """Openings from each room to the nearest earlier one, for a graph without any doors."""
        rooms = list(self._rooms.values())
        for i, room in enumerate(rooms[1:], start=1):
            near = min(rooms[:i], key=lambda other: math.dist(_middle(room), _middle(other)))
            yield _door(f"opening_{i}", [near, room], _mean([near, room]))


def _door(name: str, rooms: Sequence[Room], center_m: tuple[float, float]) -> Door:
    names = tuple(room.name for room in rooms)
    (x0, y0), (x1, y1) = _middle(rooms[0]), _middle(rooms[-1])
    # The wall between two rooms is across the line that joins them.
    yaw_rad = math.pi / 2 if abs(x1 - x0) > abs(y1 - y0) else 0.0
    return Door(name=name, rooms=names, center_m=center_m, yaw_rad=yaw_rad, width_m=0.9)


def _box(node: GraphNode) -> tuple[Vec3, Vec3] | None:
    """Centre and size in the map's frame; None if the graph does not place the node."""
    box = node.bounding_box
    if box is not None:
        (x, y, z), (width, height, depth) = box.center, box.size
        size = tuple(max(abs(side), _THINNEST_M) for side in (width, depth, height))
        return (x, z, y), (size[0], size[1], size[2])
    if node.obj_transform is None:
        return None
    x, y, z = node.obj_transform.position
    size_m = _ROOM_M if node.is_room else _THING_M if node.has("GRABBABLE") else _PIECE_M
    return (x, z, y + size_m[2] / 2), size_m


def _middle(room: Room) -> tuple[float, float]:
    (x0, y0), _, (x1, y1), _ = room.polygon_m
    return (x0 + x1) / 2, (y0 + y1) / 2


def _mean(rooms: Sequence[Room]) -> tuple[float, float]:
    middles = [_middle(room) for room in rooms]
    return (sum(x for x, _ in middles) / len(middles), sum(y for _, y in middles) / len(middles))


def _grid_point(
    number: int, low: tuple[float, float], high: tuple[float, float], pitch_m: float
) -> tuple[float, float]:
    """The `number`-th place, from 1, in rows over a rectangle; later rows go in between."""
    columns = max(1, int((high[0] - low[0]) / pitch_m))
    rows = max(1, int((high[1] - low[1]) / pitch_m))
    lap, index = divmod(number - 1, columns * rows)
    row, column = divmod(index, columns)
    # Offsets of later passes are multiples of an irrational part of the pitch, so never repeat.
    shift = (lap * 0.381966) % 1.0
    x = low[0] + (column + (0.5 + shift) % 1.0) * (high[0] - low[0]) / columns
    y = low[1] + (row + (0.5 + shift / 2) % 1.0) * (high[1] - low[1]) / rows
    return x, y
