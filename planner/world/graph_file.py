"""VirtualHome's scene graphs: nodes with class, properties and states, and edges between them.

A file has one graph (`nodes`, `edges`) or a program's graphs (`init_graph`, `final_graph`).
Coordinates are Unity's: metres, y up.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from planner.world.errors import FileError
from planner.world.files import parse_model, read_document
from planner.world.geometry import Vec3

_log = logging.getLogger(__name__)

MAX_NODES = 5_000
MAX_EDGES = 200_000

Word = Annotated[str, Field(min_length=1, max_length=80)]


class EdgeKind(StrEnum):
    """VirtualHome's relations (ETPLAN-3.1)."""

    ON = "ON"
    INSIDE = "INSIDE"
    CLOSE = "CLOSE"
    FACING = "FACING"
    BETWEEN = "BETWEEN"
    HOLDS_RH = "HOLDS_RH"
    HOLDS_LH = "HOLDS_LH"


HOLDS = (EdgeKind.HOLDS_RH, EdgeKind.HOLDS_LH)
_RESTS = (EdgeKind.ON, EdgeKind.INSIDE)
_KINDS = frozenset(kind.value for kind in EdgeKind)

# The property that a class needs for a state.
_NEEDED = {
    "OPEN": "CAN_OPEN",
    "CLOSED": "CAN_OPEN",
    "ON": "HAS_SWITCH",
    "OFF": "HAS_SWITCH",
    "PLUGGED_IN": "HAS_PLUG",
    "PLUGGED_OUT": "HAS_PLUG",
}
# Classes without a property that VirtualHome's own table of states, or its actions, give them.
_PUBLISHED_EXTRAS = {
    "GRABBABLE": frozenset({"water", "child"}),
    "CAN_OPEN": frozenset({"pantry", "bookshelf", "bathroomcounter", "kitchencounter", "crackers"}),
    "HAS_SWITCH": frozenset({"shower"}),
}
_HOLLOW = frozenset({"CONTAINERS", "RECIPIENT"})
# States of a character's posture.
_POSTURES = frozenset({"SITTING", "LYING"})
# VirtualHome's graphs and its table object_states.json, in capitals.
_STATE_WORDS = """
    BROKEN BURNING CLEAN CLOSED COLD COMBED COOKED CUT DIRTY DONE DRY EATABLE EMPTY FLUSHED
    FOLDED FREE FROZEN FULL GRABBED HANGED HAPPY HOT HURT LYING MELTED OCCUPIED OFF ON OPEN PEELED
    PLEASED PLUGGED PLUGGED_IN PLUGGED_OUT ROTTEN SAD SHARPENED SHAVED SITTING SLICED SQUEEZED
    UNCOMBED UNCOOKED UNDONE UNFOLDED UNHANGED UNPLUGGED UNSHARPENED UNSHAVED WARM WET
"""
_STATES = frozenset(_STATE_WORDS.split())
_ROOM_WORDS = """
    bathroom bedroom dining_room diningroom entrance_hall hallway home_office homeoffice
    kids_bedroom kitchen living_room livingroom
"""
_ROOM_CLASSES = frozenset(_ROOM_WORDS.split())


class _Lenient(BaseModel):
    # Prefabs and the like are VirtualHome's own and are ignored.
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class GraphBox(_Lenient):
    """An axis-aligned box in Unity's coordinates."""

    center: Vec3
    size: Vec3


class GraphTransform(_Lenient):
    """The pose of a node's object in Unity's coordinates."""

    position: Vec3


class GraphNode(_Lenient):
    """An entity; `bounding_box` is absent if no simulator has placed it."""

    id: Annotated[int, Field(ge=0, le=10**9)]
    class_name: Word
    category: str = ""
    states: tuple[Word, ...] = ()
    properties: tuple[Word, ...] = ()
    bounding_box: GraphBox | None = None
    obj_transform: GraphTransform | None = None

    @property
    def is_room(self) -> bool:
        """Whether it is a room of the house."""
        return self.category == "Rooms" or (
            not self.category and self.class_name.lower() in _ROOM_CLASSES
        )

    @property
    def is_character(self) -> bool:
        """Whether it is an acting character."""
        return self.category == "Characters" or self.class_name == "character"

    @property
    def is_hollow(self) -> bool:
        """Whether things can be put into its class."""
        return self.has("CAN_OPEN") or bool(_HOLLOW & set(self.properties))

    def has(self, capability: str) -> bool:
        """Whether its class has a property, by the graph or by VirtualHome's table of states."""
        extras = _PUBLISHED_EXTRAS.get(capability, frozenset())
        return capability in self.properties or self.class_name.replace("_", "") in extras


class GraphEdge(_Lenient):
    """A relation between two nodes."""

    from_id: int
    to_id: int
    relation_type: Word


class Graph(_Lenient):
    """A scene graph, not necessarily checked yet."""

    nodes: Annotated[tuple[GraphNode, ...], Field(min_length=1, max_length=MAX_NODES)]
    edges: Annotated[tuple[GraphEdge, ...], Field(max_length=MAX_EDGES)] = ()


class GraphFile(_Lenient):
    """A file's graphs, and accompanying text."""

    init_graph: Graph
    final_graph: Graph | None = None
    instruction: Annotated[str, Field(max_length=4000)] = ""
    task: Annotated[str, Field(max_length=4000)] = ""


def is_graph(document: object) -> bool:
    """Whether a parsed file is a scene graph, rather than a house or an episode."""
    return isinstance(document, dict) and ("init_graph" in document or "nodes" in document)


def read_graph(path: Path) -> Graph:
    """Reads and checks the initial graph.

    Raises:
        FileError: with file, field and reason.
    """
    return parse_graph(read_document(path), path)


def parse_graph(document: object, source: Path | str) -> Graph:
    """As `read_graph`, for a parsed document; `source` names it in the error."""
    field = ""
    if isinstance(document, dict) and "init_graph" in document:
        document, field = document["init_graph"], "init_graph."
    try:
        graph = parse_model(document, Graph, source)
    except FileError as error:
        raise FileError(source, field + error.field, error.reason) from None
    mended, warnings = mended_graph(graph, source, field)
    for where, reason in warnings:
        _log.warning("%s: %s: %s", source, where, reason)
    return mended


def mended_graph(
    graph: Graph, source: Path | str, field: str = ""
) -> tuple[Graph, list[tuple[str, str]]]:
    """A graph that can be a world's state, and where and how it contradicted itself.

    A state whose property the class lacks gives the node the property: the graph says that the
    lamp is on. An edge that closes a circle of ON and INSIDE is left out.

    Args:
        graph: as it was read.
        source: names it in errors.
        field: of the graph within its file, with a dot; "" for the file itself.

    Raises:
        FileError: with file, field and reason of the first thing that cannot be mended.
    """
    for where, reason in graph_findings(graph):
        raise FileError(source, field + where, reason)
    nodes, strange = _with_properties(graph.nodes)
    edges, circles = _without_circles(graph.edges, {node.id: node for node in nodes})
    warnings = [(field + where, reason) for where, reason in (*strange, *circles)]
    return graph.model_copy(update={"nodes": nodes, "edges": edges}), warnings


def structure_findings(graph: Graph) -> Iterator[tuple[str, str]]:
    """Field and reason of every repeated id and every edge without a node."""
    numbers: set[int] = set()
    for i, node in enumerate(graph.nodes):
        if node.id in numbers:
            yield f"nodes.{i}.id", f"{node.id} is used twice"
        numbers.add(node.id)
    for i, edge in enumerate(graph.edges):
        for field, number in (("from_id", edge.from_id), ("to_id", edge.to_id)):
            if number not in numbers:
                yield f"edges.{i}.{field}", f"there is no node {str(number)[:20]}"


def graph_findings(graph: Graph) -> Iterator[tuple[str, str]]:
    """Field and reason of everything that prevents a graph from being a world state."""
    broken = list(structure_findings(graph))
    yield from broken
    for i, node in enumerate(graph.nodes):
        for k, state in enumerate(node.states):
            reason = _unfit_state(node, state.upper())
            if reason:
                yield f"nodes.{i}.states.{k}", reason
    for i, edge in enumerate(graph.edges):
        if edge.relation_type not in _KINDS:
            yield f"edges.{i}.relation_type", f"{edge.relation_type!r} is none of {_kinds()}"
    if not broken:
        nodes = {node.id: node for node in graph.nodes}
        yield from _hand_findings(graph.edges, nodes)


def _kinds() -> str:
    return ", ".join(EdgeKind)


def word_of(class_name: str) -> str:
    """A class in the form with which names of nodes start."""
    return "_".join(class_name.lower().replace("-", "_").split())


def label(node: GraphNode) -> str:
    """A node's name: its class and number."""
    return f"{word_of(node.class_name)}_{node.id}"


def _unfit_state(node: GraphNode, state: str) -> str:
    if state not in _STATES:
        return f"there is no state {state[:40]!r}"
    if state in _POSTURES and not node.is_character:
        return f"{label(node)} cannot be {state}: it is not a character"
    return ""


def _hand_findings(
    edges: Sequence[GraphEdge], nodes: Mapping[int, GraphNode]
) -> Iterator[tuple[str, str]]:
    hands: dict[tuple[int, str], int] = {}
    held: dict[int, int] = {}
    for i, edge in enumerate(edges):
        if edge.relation_type not in HOLDS:
            continue
        hand = (edge.from_id, edge.relation_type)
        holder, thing = nodes[edge.from_id], nodes[edge.to_id]
        if not holder.is_character:
            yield f"edges.{i}.from_id", f"{label(holder)} has no hands: it is not a character"
        elif not thing.has("GRABBABLE"):
            reason = f"{label(thing)} cannot be held: its class is not GRABBABLE"
            yield f"edges.{i}.to_id", reason
        elif hands.setdefault(hand, edge.to_id) != edge.to_id:
            other = label(nodes[hands[hand]])
            reason = f"{edge.relation_type} of {label(holder)} holds {other} already"
            yield f"edges.{i}.to_id", f"{reason}, and cannot hold {label(thing)} too"
        elif held.setdefault(edge.to_id, i) != i:
            yield f"edges.{i}.to_id", f"{label(thing)} is in another hand already"


def _with_properties(
    nodes: Sequence[GraphNode],
) -> tuple[tuple[GraphNode, ...], list[tuple[str, str]]]:
    """The nodes with the properties that their states need; and a warning for each class."""
    mended: list[GraphNode] = []
    strange: dict[tuple[str, str], list[int]] = {}
    for i, node in enumerate(nodes):
        states = sorted({state.upper() for state in node.states} & set(_NEEDED))
        lacking = [state for state in states if not node.has(_NEEDED[state])]
        for state in lacking:
            strange.setdefault((node.class_name, state), []).append(i)
        more = dict.fromkeys(_NEEDED[state] for state in lacking)
        mended.append(
            node.model_copy(update={"properties": (*node.properties, *more)}) if more else node
        )
    warnings = []
    for (_, state), places in strange.items():
        who = ", ".join(label(nodes[i]) for i in places)
        reason = f"{state} without the property {_NEEDED[state]}, which is added"
        warnings.append((f"nodes.{places[0]}", f"{who}: {reason}"))
    return tuple(mended), warnings


def _without_circles(
    edges: Sequence[GraphEdge], nodes: Mapping[int, GraphNode]
) -> tuple[tuple[GraphEdge, ...], list[tuple[str, str]]]:
    """The edges without those that close a circle of on and inside; and a warning for each."""
    kept: list[GraphEdge] = []
    circles: list[tuple[str, str]] = []
    below: dict[int, list[int]] = {}
    for i, edge in enumerate(edges):
        if edge.relation_type in _RESTS:
            way = _way(below, edge.to_id, edge.from_id)
            if way:
                chain = " in ".join(label(nodes[number]) for number in (edge.from_id, *way))
                circles.append((f"edges.{i}", f"is left out, as it closes a circle: {chain}"))
                continue
            below.setdefault(edge.from_id, []).append(edge.to_id)
        kept.append(edge)
    return tuple(kept), circles


def _way(below: Mapping[int, Sequence[int]], start: int, end: int) -> tuple[int, ...]:
    """The nodes from `start` down to `end`; empty where there is no way."""
    came: dict[int, int | None] = {start: None}
    waiting = [start]
    while waiting:
        number = waiting.pop()
        if number == end:
            way = [number]
            while (before := came[way[-1]]) is not None:
                way.append(before)
            return tuple(reversed(way))
        for other in below.get(number, ()):
            if other not in came:
                came[other] = number
                waiting.append(other)
    return ()
