"""The state of a graph world."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from planner.world.agents import Body, default_bodies, sightings
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.floor_grid import Point
from planner.world.geometry import Box, Pose, Vec3, wrap_angle_rad
from planner.world.state import EntityState, WorldState
from planner.world.states import default_states
from planner.world.vocabulary import (
    EntityKind,
    Hand,
    Hands,
    Relation,
    first_held,
    free_hand,
    hand_holding,
    held_things,
    with_thing,
)
from sim_bridge.graph.scene import Node, Place, Rest, Start, States

# Where an agent of the graph world will be while it goes on with what it does.
#
# Bodies walk straight and turn in place, at constant speed, so that the near future is known.


@dataclass(frozen=True, slots=True)
class Course:
    """What a body is doing: walking to a point, or turning to a heading.

    Attributes:
        to_m: in `map`; None = it turns.
        to_rad: the heading in `map`; 0 where it walks.
    """

    to_m: tuple[float, float] | None = None
    to_rad: float = 0.0


@dataclass(frozen=True, slots=True)
class Stance:
    """Where an agent stands and faces.

    Attributes:
        x_m: in `map`.
        y_m: in `map`.
        yaw_rad: the heading in `map`.
        room: the room's name.
    """

    x_m: float
    y_m: float
    yaw_rad: float
    room: str


def stance_after(world: GraphWorld, who: Agent, seconds: float) -> Stance:
    """Where an agent is after some seconds of its course."""
    course = who.course
    if course is None:
        return Stance(who.x_m, who.y_m, who.yaw_rad, who.room)
    if course.to_m is None:
        left_rad = math.remainder(course.to_rad - who.yaw_rad, math.tau)
        turn_rad = math.copysign(min(who.body.turn_speed_rad_s * seconds, abs(left_rad)), left_rad)
        return Stance(who.x_m, who.y_m, wrap_angle_rad(who.yaw_rad + turn_rad), who.room)
    left_m = math.dist((who.x_m, who.y_m), course.to_m)
    share = min(1.0, who.body.speed_m_s * seconds / left_m) if left_m > 0.0 else 1.0
    x = who.x_m + (course.to_m[0] - who.x_m) * share
    y = who.y_m + (course.to_m[1] - who.y_m) * share
    room = world.start.house.room_at(x, y, guess=who.room)
    return Stance(x, y, who.yaw_rad, room or who.room)


def reach_of(world: GraphWorld, who: Agent, seconds: float) -> Iterator[tuple[str, Box]]:
    """The agent's centre and all that it holds, each with the box that contains its way."""
    after = stance_after(world, who, seconds)
    low = (min(who.x_m, after.x_m), min(who.y_m, after.y_m))
    high = (max(who.x_m, after.x_m), max(who.y_m, after.y_m))
    yield who.name, Box((*low, 0.0), (*high, 0.0))
    turns = who.course is not None and who.course.to_m is None
    for thing in held_things(who.hands):
        hand_m = who.hand_m(thing)
        out_m = math.dist(hand_m[:2], (who.x_m, who.y_m))
        for name in world.with_contents(thing):
            x, y, z = world.position_m(name)
            half_x, half_y, height = _half(world, name)
            if turns:
                # The hand's circle, moved by how far the thing is from the hand.
                x, y = x - hand_m[0] + who.x_m, y - hand_m[1] + who.y_m
                half_x, half_y = half_x + out_m, half_y + out_m
            dx, dy = after.x_m - who.x_m, after.y_m - who.y_m
            yield (
                name,
                Box(
                    (x + min(dx, 0.0) - half_x, y + min(dy, 0.0) - half_y, z),
                    (x + max(dx, 0.0) + half_x, y + max(dy, 0.0) + half_y, z + height),
                ),
            )


def _half(world: GraphWorld, name: str) -> Vec3:
    x, y, z = world.nodes[name].size_m
    return x / 2, y / 2, z


@dataclass(slots=True)
class Agent:
    """An agent.

    Attributes:
        course: what its body is doing; None while it stands still.
        rest: how and on what it sits or lies; None while it stands.
        went_to: what it is close to because it walked or reached there, or found it there.
        took_from: what each thing was on or in when it was grabbed.
    """

    name: str
    body: Body
    instance_id: int
    x_m: float
    y_m: float
    yaw_rad: float
    room: str
    hands: Hands
    course: Course | None = None
    rest: Rest | None = None
    went_to: set[str] = field(default_factory=set)
    took_from: dict[str, Place] = field(default_factory=dict)

    @property
    def holding(self) -> str | None:
        """What its first full hand holds."""
        return first_held(self.hands)

    def hand_m(self, thing: str) -> Vec3:
        """The position in `map` of the hand that holds a thing."""
        x, y, z = self.body.hand_at_m(hand_holding(self.hands, thing) or Hand.RIGHT)
        cos, sin = math.cos(self.yaw_rad), math.sin(self.yaw_rad)
        return (self.x_m + x * cos - y * sin, self.y_m + x * sin + y * cos, z)


class GraphWorld:
    """One episode; `acting.act` changes it, `snapshot` returns its state.

    Attributes:
        start: its initial state.
        agents: by name.
        walked_m: distance walked by each agent.
        revision: grows with every change.
        time_s: the clock, advanced by its owner, as is `steps`.
    """

    def __init__(
        self, start: Start, episode: Episode, seed: int = 0, hands: int | None = None
    ) -> None:
        """Builds the initial state.

        Args:
            start: of the episode's house.
            episode: the agents.
            seed: determines start positions that neither episode nor graph has.
            hands: per agent; None = those of its body.

        Raises:
            PlannerError: if the graph's characters hold more than they have hands.
        """
        self.start, self.episode = start, episode
        self.nodes = start.nodes
        self.time_s, self.steps, self.revision = 0.0, 0, 1
        self._walks = 0
        self._places = dict(start.places)
        self._at_m = dict(start.at_m)
        self._states = dict(start.states)
        self._open = set(start.open)
        self._plugged = dict(start.plugged)
        self._contents = dict(start.contents)
        self._put = 0
        self.agents: dict[str, Agent] = {}
        self.walked_m: dict[str, float] = {}
        rng = np.random.default_rng([seed, 1])
        self._dirty: set[str] = set()
        for index, placement in enumerate(episode.agents):
            body = default_bodies()[placement.kind]
            x, y, yaw, room = self._stand(index, placement.start, rng)
            number = len(self.nodes) + index + 1
            agent = Agent(
                placement.uid, body, number, x, y, yaw, room, (None,) * (hands or body.hands)
            )
            if index < len(start.rests):
                agent.rest = start.rests[index]
            self.agents[agent.name], self.walked_m[agent.name] = agent, 0.0
        if not start.entities:
            start.entities.update({name: self._entity(name) for name in start.nodes})
        self._entities = dict(start.entities)
        self._take_up_held()
        for name in (*self._dirty, *self.agents):
            self._entities[name] = self._entity(name)
        self._dirty.clear()
        self._published: dict[str, EntityState] = dict(self._entities)

    def _stand(
        self, index: int, told: tuple[float, float, float] | None, rng: np.random.Generator
    ) -> tuple[float, float, float, str]:
        rooms = self.start.house.rooms
        if told is not None:
            room = self.start.house.room_at(told[0], told[1])
            if room is None:
                where = f"({told[0]}, {told[1]}) is in no room"
                raise PlannerError(f"{self.episode.title}: agents.{index}.start: {where}")
            return (*told, room)
        yaw = float(rng.uniform(-math.pi, math.pi))
        if index < len(self.start.stands):
            x, y, name = self.start.stands[index]
            return x, y, yaw, name
        name = rooms[int(rng.integers(len(rooms)))].name
        x, y, _ = self.nodes[name].at_m
        return x, y, yaw, name

    def _take_up_held(self) -> None:
        pairs = zip(self.agents.values(), self.start.held, strict=False)
        for index, (agent, hands) in enumerate(pairs):
            things, count = held_things(hands), len(agent.hands)
            if len(things) > count:
                what = f"{agent.name} holds {' and '.join(things)}"
                reason = f"{what}, and has {count} hand"
                raise FileError(self.episode.title, f"agents.{index}.kind", reason)
            for name in things:
                hand = hand_holding(hands, name)
                own = hand is not None and hand.slot < count
                self.take(agent, name, hand if own else None)

    # Queries

    @property
    def handled_revision(self) -> int:
        """Grows with every change but of where agents, and things with their holders, are."""
        return self.revision - self._walks

    def agent(self, name: str) -> Agent:
        """An agent by name.

        Raises:
            PlannerError: if there is none.
        """
        agent = self.agents.get(name)
        if agent is None:
            known = ", ".join(self.agents)
            raise PlannerError(f"there is no agent {name!r}; there are {known}")
        return agent

    def place_of(self, name: str) -> Place | None:
        """What a thing is on, within or held by; None for other entities."""
        return self._places.get(name)

    def position_m(self, name: str) -> Vec3:
        """The centre of an entity's underside in `map`."""
        node = self.nodes.get(name)
        if node is None:
            agent = self.agents[name]
            return (agent.x_m, agent.y_m, 0.0)
        if node.kind is not EntityKind.OBJECT:
            return node.at_m
        relation, parent = self._places[name]
        x, y, z = self._at_m[name]
        if relation is Relation.HELD:
            hx, hy, hz = self.agents[parent].hand_m(name)
            return (hx, hy, hz - node.size_m[2] / 2)
        if parent in self._places:
            px, py, pz = self.position_m(parent)
            return (px + x, py + y, pz + z)
        return (x, y, z)

    def middle_m(self, name: str) -> Vec3:
        """The centre of an entity's box in `map`."""
        x, y, z = self.position_m(name)
        return (x, y, z + self._size_m(name)[2] / 2)

    def room_of(self, name: str) -> str | None:
        """The room that an entity is in."""
        while name in self._places:
            name = self._places[name][1]
        node = self.nodes.get(name)
        if node is not None:
            return node.room
        agent = self.agents.get(name)
        return agent.room if agent is not None else name.removeprefix("floor_")

    def is_open(self, name: str) -> bool:
        """Whether something that opens is open."""
        return name in self._open

    def is_plugged_in(self, name: str) -> bool | None:
        """Whether something is plugged in; None if it has no plug."""
        return self._plugged.get(name)

    def is_told_close(self, who: Agent, name: str) -> bool:
        """Whether a graph without positions says that an agent is close to an entity.

        It is close to what it went to, to what the graph says is close to that, and to what is on
        or in it. What was moved is close to nothing but its place.
        """
        if name in who.went_to:
            return True
        place = self._places.get(name)
        if place is not None and place[1] in who.went_to:
            return True
        told = self.start.close.get(name, frozenset()) if self._is_unmoved(name) else frozenset()
        return any(other in told and self._is_unmoved(other) for other in who.went_to)

    def _is_unmoved(self, name: str) -> bool:
        return self._places.get(name) == self.start.places.get(name)

    def contents_of(self, name: str) -> tuple[str, ...]:
        """What is directly on or within an entity."""
        return self._contents.get(name, ())

    def with_contents(self, name: str) -> Iterator[str]:
        """A thing, and all that is on or in it at any depth."""
        yield name
        for inside in self._contents.get(name, ()):
            yield from self.with_contents(inside)

    def enclosing(self, name: str) -> str | None:
        """The closed thing or furniture that an entity is in, at any depth; None for none."""
        while name in self._places:
            relation, parent = self._places[name]
            node = self.nodes.get(parent)
            closed = node is not None and node.opens and parent not in self._open
            if closed and relation is Relation.WITHIN:
                return parent
            name = parent
        return None

    def states_of(self, name: str) -> States:
        """The states that an entity has."""
        return self._states.get(name, {})

    def relation_of(self, name: str) -> Relation | None:
        """A thing's relation to its place; None for other entities."""
        place = self._places.get(name)
        return None if place is None else place[0]

    def offset_m(self, name: str) -> Vec3:
        """A thing's position, as `Start.at_m`."""
        return self._at_m[name]

    def gap_m(self, agent: str, name: str) -> float:
        """Distance of an agent's centre from an entity's box, seen from above."""
        who = self.agents[agent]
        return self.gap_to_m((who.x_m, who.y_m), name)

    def gap_to_m(self, point: Point, name: str) -> float:
        """Distance of a point from an entity's box, seen from above."""
        x, y, _ = self.position_m(name)
        node = self.nodes.get(name)
        half_x, half_y = self._half_m(node) if node is not None else (0.0, 0.0)
        dx, dy = abs(point[0] - x) - half_x, abs(point[1] - y) - half_y
        return math.hypot(max(dx, 0.0), max(dy, 0.0))

    @staticmethod
    def _half_m(node: Node) -> Point:
        """Half sizes of a node's box along the map's axes."""
        x, y = node.size_m[0] / 2, node.size_m[1] / 2
        if node.piece is None or not node.piece.yaw_rad:
            return x, y
        cos, sin = abs(math.cos(node.piece.yaw_rad)), abs(math.sin(node.piece.yaw_rad))
        return x * cos + y * sin, x * sin + y * cos

    def _size_m(self, name: str) -> Vec3:
        node = self.nodes.get(name)
        if node is not None:
            return node.size_m
        body = self.agents[name].body
        return (2 * body.radius_m, 2 * body.radius_m, body.height_m)

    def carries(self, name: str, place: str) -> bool:
        """Whether a place is the thing itself, or on or in it."""
        while place != name:
            if place not in self._places:
                return False
            place = self._places[place][1]
        return True

    def way(self, who: Agent, name: str) -> tuple[Point, ...] | None:
        """The points through which an agent gets close to an entity; None if there is no path."""
        room = self.room_of(name)
        x, y, _ = self.position_m(name)
        if room is None:
            return None
        return self.start.ways.way(who.room, room, (x, y))

    def seen(self, agent: str) -> list[str]:
        """What an agent sees of this world, by the field of view."""
        return [sighting.name for sighting in sightings(self.snapshot(), agent)]

    def next_spot(self) -> int:
        """A new number for the position of a thing that is put down, from 1."""
        self._put += 1
        return self._put

    # Changes, without precondition checks (`acting` has them)

    def move(self, who: Agent, x_m: float, y_m: float, yaw_rad: float, room: str) -> None:
        """Moves an agent with what it holds; elsewhere it stands, and is close to nothing told."""
        before = self.revision
        if (x_m, y_m) != (who.x_m, who.y_m):
            who.went_to.clear()
            who.rest = None
        who.x_m, who.y_m, who.yaw_rad, who.room = x_m, y_m, yaw_rad, room
        self._touch(who.name)
        for name in held_things(who.hands):
            self._touch_with_contents(name)
        self._walks += self.revision - before

    def take(self, who: Agent, name: str, hand: Hand | None = None) -> None:
        """Puts a thing into a hand that is free; None takes the first such."""
        hand = hand or free_hand(who.hands)
        if hand is None or who.hands[hand.slot] is not None:
            raise ValueError(f"{who.name} has no hand free for {name}")
        who.hands = with_thing(who.hands, hand, name)
        self._settle(name, (Relation.HELD, who.name), (0.0, 0.0, 0.0))
        self._touch(who.name)

    def put(self, who: Agent, name: str, place: Place, at_m: Vec3) -> None:
        """Places a held thing; `at_m` as `Start.at_m`."""
        hand = hand_holding(who.hands, name)
        if hand is None:
            raise ValueError(f"{who.name} does not hold {name}")
        who.hands = with_thing(who.hands, hand, None)
        self._settle(name, place, at_m)
        self._touch(who.name)

    def set_open(self, name: str, *, opened: bool) -> None:
        """Opens or closes something."""
        (self._open.add if opened else self._open.discard)(name)
        self._touch(name)

    def set_plugged(self, name: str, *, plugged: bool) -> None:
        """Plugs something in or out."""
        self._plugged[name] = plugged

    def set_state(self, name: str, state: str, *, value: bool) -> None:
        """Sets a state of an entity that has it."""
        before = self._states.get(name, {})
        self._states[name] = default_states().changed(before, state, value=value)
        self._touch(name)

    def _settle(self, name: str, place: Place, at_m: Vec3) -> None:
        _, old = self._places[name]
        if old in self._contents:
            self._contents[old] = tuple(other for other in self._contents[old] if other != name)
        self._places[name], self._at_m[name] = place, at_m
        self._contents[place[1]] = (*self._contents.get(place[1], ()), name)
        self._touch_with_contents(name)

    def _touch_with_contents(self, name: str) -> None:
        for each in self.with_contents(name):
            self._touch(each)

    def _touch(self, name: str) -> None:
        self._dirty.add(name)
        self.revision += 1

    # Output

    def snapshot(self) -> WorldState:
        """The current state of the world; unchanged entities are the same objects as before."""
        if self._dirty:
            for name in self._dirty:
                self._entities[name] = self._entity(name)
            self._dirty.clear()
            self._published = dict(self._entities)
        return WorldState(
            stamp_s=self.time_s,
            step=self.steps,
            revision=self.revision,
            house=self.start.house.name,
            episode_id=self.episode.episode_id,
            entities=self._published,
        )

    def _entity(self, name: str) -> EntityState:
        agent = self.agents.get(name)
        if agent is not None:
            return EntityState(
                name=name,
                kind=EntityKind.AGENT,
                class_name=agent.body.kind.value,
                instance_id=agent.instance_id,
                pose=Pose.planar(agent.x_m, agent.y_m, agent.yaw_rad),
                size_m=self._size_m(name),
                parent=None,
                relation=None,
                room=agent.room,
                hands=agent.hands,
            )
        node = self.nodes[name]
        relation, parent = self._places.get(name, (None, None))
        yaw_rad = node.piece.yaw_rad if node.piece is not None else 0.0
        x, y, z = self.position_m(name)
        return EntityState(
            name=name,
            kind=node.kind,
            class_name=node.class_name,
            instance_id=node.instance_id,
            pose=Pose.planar(x, y, yaw_rad, z),
            size_m=node.size_m,
            parent=parent if parent is not None or node.kind is EntityKind.ROOM else node.room,
            relation=relation,
            room=self.room_of(name),
            affordances=node.affordances,
            states=self._states.get(name),
            openness=(1.0 if name in self._open else 0.0) if node.opens else None,
            look=node.look,
        )
