"""The world at an episode's start: from its files, or in the middle of another episode."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from planner.world.catalogue import Catalogue
from planner.world.episode import AgentPlacement, Episode, FurnitureChange
from planner.world.errors import PlannerError
from planner.world.furnishing import look_of_piece, look_of_thing
from planner.world.geometry import Pose, Vec3
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.person import PERSON_CLASS, SIZES_M, Person, PersonPlacement, person_name
from planner.world.receptacle import base_placement, part_of
from planner.world.state import EntityState, WorldState, room_state
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, Relation, floor_name


def house_entities(house: House) -> dict[str, EntityState]:
    """Rooms and furniture by name, as in the house file."""
    entities = {room.name: room_state(room) for room in house.rooms}
    entities.update((piece.name, piece_state(piece, None)) for piece in house.furniture)
    return entities


def with_graph_things(episode: Episode, house: House) -> Episode:
    """The episode with all things that are there; a graph's are, whatever it places."""
    if house.graph is None:
        return episode
    named = {item.name for item in episode.objects}
    others = (item for item in house.objects if item.name not in named)
    return episode.model_copy(update={"objects": (*episode.objects, *others)})


def start_entities(
    episode: Episode,
    house: House,
    catalogue: Catalogue,
    unchanged: Mapping[str, EntityState] | None = None,
) -> dict[str, EntityState]:
    """Rooms, furniture and objects by name at the start.

    Objects of unknown classes have no affordances. Furniture opened by `furniture` is fully open,
    and its drawers' contents move with them. `unchanged` may pass `house_entities` if there are
    many episodes of a house; records that the episode does not change are then reused.
    """
    entities = dict(house_entities(house) if unchanged is None else unchanged)
    for name, change in episode.furniture.items():
        piece = house.furniture_by_name.get(name)
        if piece is not None:
            entities[name] = piece_state(piece, change)
    for item in episode.objects:
        entities[item.name] = _object_state(item, episode, house, catalogue)
    for number, person in enumerate(episode.people):
        state = _person_state(person_name(number), person, house)
        if state is not None:
            entities[state.name] = state
            if (held := entities.get(person.holds or "")) is not None:
                entities[held.name] = replace(
                    held, pose=state.pose, parent=state.name, relation=Relation.HELD
                )
    return entities


def piece_state(piece: Furniture, change: FurnitureChange | None = None) -> EntityState:
    """Furniture as a world starts with it: closed, and with its usual states, but for `change`."""
    openness = None
    if piece.joints:
        openness = 1.0 if change is not None and change.open else 0.0
    return EntityState(
        name=piece.name,
        kind=EntityKind.FURNITURE,
        class_name=piece.class_name,
        instance_id=0,
        pose=piece.pose,
        size_m=piece.size_m,
        parent=piece.room,
        relation=None,
        room=piece.room,
        affordances=piece.affordances,
        states=default_states().initial(
            piece.affordances, piece.states, change.states if change is not None else {}
        ),
        openness=openness,
        look=look_of_piece(piece),
    )


def _person_state(name: str, person: PersonPlacement, house: House) -> EntityState | None:
    """A person somewhere in the room, where exactly is up to the world; None for unknown rooms."""
    room, piece = house.rooms_by_name.get(person.room), house.furniture_by_name.get(person.at or "")
    if room is None:
        return None
    middle = room.shape.representative_point()
    at = (middle.x, middle.y) if piece is None else (piece.x_m, piece.y_m)
    return EntityState(
        name=name,
        kind=EntityKind.OBJECT,
        class_name=PERSON_CLASS,
        instance_id=0,
        pose=Pose.planar(*at),
        size_m=SIZES_M[person.posture],
        parent=floor_name(room.name),
        relation=Relation.ON,
        room=room.name,
        person=Person(person.name, person.clothes, person.posture, person.gesture),
    )


def _object_state(
    item: ObjectPlacement, episode: Episode, house: House, catalogue: Catalogue
) -> EntityState:
    cls = catalogue.objects.get(item.class_name)
    affordances = cls.affordances if cls is not None else ()
    x, y, z, yaw = item.pose
    base = base_placement(episode.objects, item)
    piece = house.furniture_by_name.get(base.parent)
    if piece is not None:
        dx, dy, dz = _drawn_out(piece, base, episode)
        x, y, z = x + dx, y + dy, z + dz
    return EntityState(
        name=item.name,
        kind=EntityKind.OBJECT,
        class_name=item.class_name,
        instance_id=0,
        pose=Pose.planar(x, y, yaw, z),
        size_m=item.size_m,
        parent=item.parent,
        relation=item.relation,
        room=piece.room if piece is not None else house.room_at(x, y),
        affordances=affordances,
        states=default_states().initial(
            affordances, cls.states if cls is not None else {}, item.states
        ),
        look=look_of_thing(item.class_name, catalogue, item.color, item.material),
    )


def _drawn_out(
    piece: Furniture, item: ObjectPlacement, episode: Episode
) -> tuple[float, float, float]:
    """How far an open drawer moves an object in it, in the map."""
    change = episode.furniture.get(piece.name)
    hollow = next((h for h in piece.interiors if h.name == item.part), None)
    if change is None or not change.open or hollow is None or hollow.joint is None:
        return (0.0, 0.0, 0.0)
    joint = piece.joint(hollow.joint)
    if not hollow.moves or joint.kind != "slide":
        return (0.0, 0.0, 0.0)
    dx, dy, dz = (axis * joint.travel for axis in joint.axis)
    cos, sin = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
    return (dx * cos - dy * sin, dx * sin + dy * cos, dz)


# An episode that starts in the middle of another one, from a state of its world (HELPER-D82).

# Poses are written to a tenth of a millimetre; a start may differ from the state by that.
_DECIMALS = 4
_TOLERANCE_M = 1e-3


@dataclass(frozen=True, slots=True)
class Moment:
    """A state in which no hand holds anything, and the successful calls before it."""

    state: WorldState
    calls: tuple[str, ...]


# Runs an episode and returns its middle.
FindMiddle: TypeAlias = Callable[[Episode, House], Moment]


def starting_from(
    episode: Episode, house: House, state: WorldState, catalogue: Catalogue
) -> Episode:
    """The episode with a state of its own run as its start.

    Args:
        episode: the one that was run.
        house: the episode's.
        state: in which no hand holds anything.
        catalogue: of the classes.

    Raises:
        PlannerError: if something is held, or the start would not equal the state.
    """
    found = _Middle(episode, house, state, catalogue).episode()
    there = start_entities(found, house, catalogue)
    for name, entity in state.entities.items():
        if entity.kind is EntityKind.OBJECT and (
            _gap_m(there[name], entity) > _TOLERANCE_M or there[name].states != entity.states
        ):
            raise PlannerError(f"{episode.episode_id}: {name} cannot start as it was in the middle")
    return found


class _Middle:
    """The conversion of one state."""

    def __init__(
        self, episode: Episode, house: House, state: WorldState, catalogue: Catalogue
    ) -> None:
        self._episode, self._house, self._state = episode, house, state
        self._catalogue = catalogue
        self._given = {item.name: item for item in episode.objects}

    def episode(self) -> Episode:
        entities = self._state.entities.values()
        things = [e for e in entities if e.kind is EntityKind.OBJECT]
        pieces = [e for e in entities if e.kind is EntityKind.FURNITURE]
        changes = {piece.name: change for piece in pieces if (change := self._change(piece))}
        agents = tuple(self._agent(agent) for agent in self._episode.agents)
        start = self._episode.model_copy(
            update={
                "agents": agents,
                "objects": tuple(self._placement(thing) for thing in things),
                "furniture": changes,
                "initial_state": (),
            }
        )
        return self._closed(start)

    def _agent(self, agent: AgentPlacement) -> AgentPlacement:
        entity = self._state.entities[agent.uid]
        x, y, _ = entity.pose.position_m
        start = (round(x, _DECIMALS), round(y, _DECIMALS), round(entity.pose.yaw_rad, _DECIMALS))
        return agent.model_copy(update={"start": start})

    def _change(self, piece: EntityState) -> FurnitureChange | None:
        usual = piece_state(self._house.furniture_by_name[piece.name])
        states = {
            name: value
            for name, value in (piece.states or {}).items()
            if (usual.states or {}).get(name) != value
        }
        is_open = bool(piece.openness)
        if not states and not is_open:
            return None
        return FurnitureChange(open=True if is_open else None, states=states)

    def _placement(self, thing: EntityState) -> ObjectPlacement:
        if thing.parent is None or thing.relation not in (Relation.ON, Relation.WITHIN):
            raise PlannerError(f"{self._episode.episode_id}: {thing.name} is held")
        cls = self._catalogue.objects[thing.class_name]
        usual = default_states().initial(cls.affordances, cls.states, {})
        given = self._given.get(thing.name)
        place = (*thing.pose.position_m, thing.pose.yaw_rad)
        return ObjectPlacement(
            name=thing.name,
            class_name=thing.class_name,
            size_m=thing.size_m,
            pose=_rounded(place),
            parent=thing.parent,
            relation=thing.relation,
            part=self._part(thing),
            states={k: v for k, v in (thing.states or {}).items() if usual.get(k) != v},
            color=given.color if given is not None else None,
            material=given.material if given is not None else None,
        )

    def _part(self, thing: EntityState) -> str:
        """The surface or interior that it is on or in; states do not name it."""
        holder = self._state.entities.get(thing.parent or "")
        if holder is not None and holder.kind is EntityKind.OBJECT and thing.relation is not None:
            return part_of(self._catalogue.objects[holder.class_name], thing.relation) or ""
        piece = self._house.furniture_by_name.get(thing.parent or "")
        if piece is None:
            return "floor"
        at = _in_frame_of(piece, thing.pose.position_m)
        if thing.relation is Relation.ON:
            return min(
                piece.surfaces, key=lambda s: _misfit(at, s.center, s.center[2], s.size)
            ).name
        return min(
            piece.interiors,
            key=lambda h: _misfit(at, h.center, h.center[2] - h.size[2] / 2, h.size),
        ).name

    def _closed(self, start: Episode) -> Episode:
        """With contents of open drawers where they are when these are closed, as files have it."""
        there = start_entities(start, self._house, self._catalogue)

        def closed(item: ObjectPlacement) -> ObjectPlacement:
            at, wanted = there[item.name].pose.position_m, self._state.entities[item.name].pose
            moved = [w - a for w, a in zip(wanted.position_m, at, strict=True)]
            pose = tuple(p + m for p, m in zip(item.pose, (*moved, 0.0), strict=True))
            return item.model_copy(update={"pose": _rounded(pose)})

        return start.model_copy(update={"objects": tuple(map(closed, start.objects))})


def _rounded(pose: tuple[float, ...]) -> tuple[float, float, float, float]:
    x, y, z, yaw = (round(value, _DECIMALS) for value in pose)
    return (x, y, z, yaw)


def _gap_m(one: EntityState, other: EntityState) -> float:
    return math.dist(one.pose.position_m, other.pose.position_m)


def _in_frame_of(piece: Furniture, point_m: Vec3) -> Vec3:
    cos, sin = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
    dx, dy = point_m[0] - piece.x_m, point_m[1] - piece.y_m
    return (dx * cos + dy * sin, dy * cos - dx * sin, point_m[2])


def _misfit(at: Vec3, center: Vec3, height_m: float, size: tuple[float, ...]) -> float:
    """How far a point is from standing on a rectangle, in metres; the height first."""
    beside = sum(max(abs(at[i] - center[i]) - size[i] / 2, 0.0) for i in (0, 1))
    return 10 * abs(at[2] - height_m) + beside
