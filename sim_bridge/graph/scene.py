"""The initial state of a graph world: its nodes and their places, from a house and an episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from planner.world.catalogue import Catalogue
from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.floor_grid import Ways
from planner.world.furnishing import look_of_piece, look_of_thing
from planner.world.geometry import Pose, Vec3
from planner.world.graph_file import HOLDS, EdgeKind, GraphNode, label
from planner.world.graph_house import affordances_of
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.receptacle import known_shape
from planner.world.shapes import UNKNOWN_LOOK, Look
from planner.world.state import EntityState
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, Hands, Relation, floor_name

States = Mapping[str, bool]
Place = tuple[Relation, str]


class Posture(StrEnum):
    """How an agent is that does not stand, in VirtualHome's words."""

    SITTING = "SITTING"
    LYING = "LYING"


Rest = tuple[Posture, str]
"""A posture, and the node on which an agent sits or lies; "" where a graph does not say."""


@dataclass(frozen=True, slots=True)
class Node:
    """The constant data of an entity.

    Attributes:
        room: of rooms and furniture.
        at_m: of rooms and furniture, centre of the underside in `map`.
        opens: whether it can be opened and closed.
        hollow, flat: whether things can be put into and onto it; of things.
        piece: the furniture of the house file.
        properties: VirtualHome's, of a graph's node.
    """

    name: str
    kind: EntityKind
    class_name: str
    instance_id: int
    size_m: Vec3
    affordances: tuple[str, ...] = ()
    room: str | None = None
    at_m: Vec3 = (0.0, 0.0, 0.0)
    opens: bool = False
    hollow: bool = False
    flat: bool = False
    piece: Furniture | None = None
    look: Look = UNKNOWN_LOOK
    properties: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Start:
    """The initial state of a world, which is copied and never changed.

    Attributes:
        places: what each thing is on or within.
        at_m: centre of each thing's underside: in `map`, or relative to the underside of the thing
            that it is on or in.
        open: the open entities.
        contents: what is directly on or within each entity.
        held: what each hand of the graph's characters holds, in their order; theirs are the
            agents' hands.
        stands: the pose in `map` and room of each of the graph's characters.
        rests: how each of them sits or lies; None while standing.
        plugged: of what has a plug, whether it is plugged in.
        close: the nodes that a graph without positions says are close to each.
        entities: the nodes' records; filled by the first world and shared by all.
    """

    house: House
    nodes: Mapping[str, Node]
    ways: Ways
    places: Mapping[str, Place]
    at_m: Mapping[str, Vec3]
    states: Mapping[str, States]
    open: frozenset[str]
    contents: Mapping[str, tuple[str, ...]]
    held: tuple[Hands, ...] = ()
    stands: tuple[tuple[float, float, str], ...] = ()
    rests: tuple[Rest | None, ...] = ()
    plugged: Mapping[str, bool] = field(default_factory=dict)
    close: Mapping[str, frozenset[str]] = field(default_factory=dict)
    entities: dict[str, EntityState] = field(default_factory=dict)


# Of graphs whose episodes place nothing, such as a benchmark's environments.
_STARTS: dict[int, Start] = {}
_MAX_STARTS = 64


def start_of(house: House, episode: Episode, catalogue: Catalogue) -> Start:
    """The initial state of an episode in a house; its placements replace the house's.

    Raises:
        FileError: naming the episode's field and the reason, if it does not match the house.
    """
    if house.graph is None or episode.objects or episode.furniture:
        return _Reader(house, episode, catalogue).start()
    # By identity, as comparing houses is slow; the start keeps its house alive.
    start = _STARTS.get(id(house))
    if start is None:
        while len(_STARTS) >= _MAX_STARTS:
            _STARTS.pop(next(iter(_STARTS)))
        start = _STARTS[id(house)] = _Reader(house, episode, catalogue).start()
    return start


class _Reader:
    def __init__(self, house: House, episode: Episode, catalogue: Catalogue) -> None:
        self._house, self._episode, self._catalogue = house, episode, catalogue
        graph = house.graph
        self._graph_nodes: dict[str, GraphNode] = (
            {} if graph is None else {label(node): node for node in graph.nodes}
        )
        self._nodes: dict[str, Node] = {}
        self._open: set[str] = set()
        self._states: dict[str, States] = {}

    def start(self) -> Start:
        for room in self._house.rooms:
            self._add_room(room.name)
        for piece in self._house.furniture:
            self._add_piece(piece)
        things = self._things()
        for item in things.values():
            self._add_thing(item)
        places = {name: self._place(name, item) for name, item in things.items()}
        self._change_furniture()
        contents: dict[str, list[str]] = {}
        at_m: dict[str, Vec3] = {}
        for name, (_, parent) in places.items():
            contents.setdefault(parent, []).append(name)
            x, y, z, _ = things[name].pose
            if parent in things:
                # Things keep no yaw here, so that it is their holder's frame that counts.
                px, py, pz, yaw_rad = things[parent].pose
                x, y, z = Pose.planar(px, py, yaw_rad, pz).inverse().apply((x, y, z))
            at_m[name] = (x, y, z)
        return Start(
            house=self._house,
            nodes=self._nodes,
            ways=Ways(self._house),
            places=places,
            at_m=at_m,
            states=self._states,
            open=frozenset(self._open),
            contents={name: tuple(inside) for name, inside in contents.items()},
            held=self._held(),
            stands=self._stands(),
            rests=self._rests(),
            plugged={
                name: "PLUGGED_IN" in node.states
                for name, node in self._graph_nodes.items()
                if "PLUGGED_IN" in node.states or "PLUGGED_OUT" in node.states
            },
            close=self._close(),
        )

    def _things(self) -> dict[str, ObjectPlacement]:
        """The episode's things; for a graph all others too, where the graph has them."""
        named = {item.name: item for item in self._episode.objects}
        if self._house.graph is None:
            return named
        things = {item.name: item for item in self._house.objects}
        for name in named:
            if name not in things:
                where = f"objects.{name}"
                raise FileError(self._episode.title, where, f"{self._house.name} has no such node")
        return things | named

    def _add_room(self, name: str) -> None:
        room = self._house.rooms_by_name[name]
        xs, ys = [x for x, _ in room.polygon_m], [y for _, y in room.polygon_m]
        self._nodes[name] = Node(
            name=name,
            kind=EntityKind.ROOM,
            class_name=room.class_name,
            instance_id=0,
            size_m=(max(xs) - min(xs), max(ys) - min(ys), room.height_m),
            room=name,
            at_m=((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2, 0.0),
        )

    def _add_piece(self, piece: Furniture) -> None:
        self._nodes[piece.name] = Node(
            name=piece.name,
            kind=EntityKind.FURNITURE,
            class_name=piece.class_name,
            instance_id=len(self._nodes) + 1,
            size_m=piece.size_m,
            affordances=piece.affordances,
            room=piece.room,
            at_m=(piece.x_m, piece.y_m, 0.0),
            opens=bool(piece.joints),
            piece=piece,
            look=look_of_piece(piece),
            properties=self._properties(piece.name),
        )
        self._take_states(piece.name, piece.affordances, piece.states)

    def _add_thing(self, item: ObjectPlacement) -> None:
        node = self._graph_nodes.get(item.name)
        defaults: States = {}
        if node is not None:
            affordances, opens = affordances_of(node), node.has("CAN_OPEN")
        else:
            cls = self._catalogue.objects.get(item.class_name)
            if cls is None:
                where = f"objects.{item.name}"
                raise FileError(self._episode.title, where, f"unknown class {item.class_name}")
            affordances, opens, defaults = cls.affordances, False, cls.states
        shape = known_shape(item.class_name, item.size_m)
        self._nodes[item.name] = Node(
            name=item.name,
            kind=EntityKind.OBJECT,
            class_name=item.class_name,
            instance_id=len(self._nodes) + 1,
            size_m=item.size_m,
            affordances=affordances,
            opens=opens,
            hollow=shape.hollow is not None if node is None else node.is_hollow,
            flat=shape.top is not None if node is None else node.has("SURFACES"),
            look=look_of_thing(item.class_name, self._catalogue, item.color, item.material),
            properties=self._properties(item.name),
        )
        self._take_states(item.name, affordances, {**defaults, **item.states})

    def _take_states(self, name: str, affordances: tuple[str, ...], told: States) -> None:
        states = default_states().initial(affordances, told)
        if states:
            self._states[name] = states
        node = self._graph_nodes.get(name)
        if node is not None and self._nodes[name].opens and "OPEN" in node.states:
            self._open.add(name)

    def _place(self, name: str, item: ObjectPlacement) -> Place:
        floors = {floor_name(room.name) for room in self._house.rooms}
        node = self._nodes.get(item.parent)
        handled = node is not None and node.kind in (EntityKind.FURNITURE, EntityKind.OBJECT)
        if item.parent not in floors and (not handled or item.parent == name):
            reason = f"{self._house.name} has no {item.parent!r} for it to be {item.relation}"
            raise FileError(self._episode.title, f"objects.{name}.parent", reason)
        return (item.relation, item.parent)

    def _change_furniture(self) -> None:
        for name, change in self._episode.furniture.items():
            node = self._nodes.get(name)
            if node is None or node.kind is not EntityKind.FURNITURE:
                reason = f"{self._house.name} has no such piece"
                raise FileError(self._episode.title, f"furniture.{name}", reason)
            if change.open is not None:
                (self._open.add if change.open else self._open.discard)(name)
            self._states[name] = {**self._states.get(name, {}), **change.states}

    def _properties(self, name: str) -> frozenset[str]:
        node = self._graph_nodes.get(name)
        return frozenset() if node is None else frozenset(node.properties)

    def _characters(self) -> list[GraphNode]:
        return [node for node in self._graph_nodes.values() if node.is_character]

    def _held(self) -> tuple[Hands, ...]:
        graph = self._house.graph
        if graph is None:
            return ()
        names = {node.id: label(node) for node in graph.nodes}
        held = {
            (edge.from_id, edge.relation_type): names[edge.to_id]
            for edge in graph.edges
            if edge.relation_type in HOLDS
        }
        return tuple(
            tuple(held.get((character.id, kind)) for kind in HOLDS)
            for character in self._characters()
        )

    def _rests(self) -> tuple[Rest | None, ...]:
        edges = () if self._house.graph is None else self._house.graph.edges
        names = {node.id: name for name, node in self._graph_nodes.items()}
        rests: list[Rest | None] = []
        for character in self._characters():
            posture = next((p for p in Posture if p in character.states), None)
            # The last one: VirtualHome leaves the seats that an agent has got up from.
            seats = [
                names[edge.to_id]
                for edge in edges
                if edge.from_id == character.id and edge.relation_type == EdgeKind.ON
            ]
            rests.append(None if posture is None else (posture, seats[-1] if seats else ""))
        return tuple(rests)

    def _close(self) -> dict[str, frozenset[str]]:
        if self._house.graph is None:
            return {}
        names = {node.id: name for name, node in self._graph_nodes.items()}
        close: dict[str, set[str]] = {}
        for edge in self._house.graph.edges:
            if edge.relation_type == EdgeKind.CLOSE:
                one, other = names[edge.from_id], names[edge.to_id]
                close.setdefault(one, set()).add(other)
                close.setdefault(other, set()).add(one)
        return {name: frozenset(others) for name, others in close.items()}

    def _stands(self) -> tuple[tuple[float, float, str], ...]:
        graph = self._house.graph
        stands = []
        for character in self._characters():
            inside = {
                edge.to_id
                for edge in (graph.edges if graph is not None else ())
                if edge.from_id == character.id and edge.relation_type == EdgeKind.INSIDE
            }
            rooms = [n for n, node in self._graph_nodes.items() if node.id in inside]
            room = next((n for n in rooms if n in self._house.rooms_by_name), None)
            x, y = self._position(character, room or self._house.rooms[0].name)
            stands.append((x, y, room or self._house.room_at(x, y) or self._house.rooms[0].name))
        return tuple(stands)

    def _position(self, character: GraphNode, room: str) -> tuple[float, float]:
        """A character's position: from the graph, else the centre of its room."""
        if character.obj_transform is not None:
            x, _, y = character.obj_transform.position
            return x, y
        if character.bounding_box is not None:
            x, _, y = character.bounding_box.center
            return x, y
        return self._nodes[room].at_m[:2]
