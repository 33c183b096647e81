"""What is known of the house when descriptions are bound: by a robot's memory, or in truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import default_catalogue, slice_names
from planner.world.geometry import Box, Pose, Vec3
from planner.world.house import Furniture, House
from planner.world.receptacle import part_by_word
from planner.world.record import record
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import AgentKind, EntityKind, Relation, floor_name

FLOOR_CLASS = "floor"


@record
class Thing:
    """An object, a piece of furniture, a floor, a room or an agent.

    Attributes:
        room: its name; None if unknown. A room is in itself.
        parent: what it is on, within or held by; None if unknown.
        box: in the map frame, metres.
        yaw_rad: the direction of the front of furniture in the map.
        states: only known ones.
        openness: 0 closed to 1 open; None if nothing opens or it is unknown.
        color, material: None if unknown.
        surface, hollow: whether things can be put onto it, or into it.
        hollows_m: depth, width and height of each hollow of furniture.
        whole: what it will be sliced from; "" = it is there already.
    """

    name: str
    kind: EntityKind
    class_name: str
    box: Box
    room: str | None = None
    parent: str | None = None
    relation: Relation | None = None
    yaw_rad: float = 0.0
    affordances: tuple[str, ...] = ()
    states: Mapping[str, bool] = field(default_factory=dict)
    openness: float | None = None
    color: str | None = None
    material: str | None = None
    surface: bool = False
    hollow: bool = False
    hollows_m: tuple[Vec3, ...] = ()
    whole: str = ""

    @property
    def is_floor(self) -> bool:
        """Whether it is the floor of a room."""
        return self.class_name == FLOOR_CLASS

    @property
    def position_m(self) -> Vec3:
        """The middle of its box."""
        return self.box.center_m


@dataclass(frozen=True)
class Scene:
    """What is known at one time.

    Attributes:
        things: by name.
        complete: nothing exists that is not among `things`.
        touched: things that were in a hand, or on or in what was, at some time.
    """

    things: Mapping[str, Thing]
    complete: bool = False
    touched: frozenset[str] = frozenset()

    @property
    def speaker(self) -> Thing | None:
        """The person, where there is exactly one."""
        people = [
            thing
            for thing in self.things.values()
            if thing.kind is EntityKind.AGENT and thing.class_name == AgentKind.HUMAN
        ]
        return people[0] if len(people) == 1 else None

    def of_kind(self, kind: EntityKind) -> list[Thing]:
        """All things of a kind, by name."""
        return self._by_kind.get(kind, [])

    @cached_property
    def _by_kind(self) -> dict[EntityKind, list[Thing]]:
        found: dict[EntityKind, list[Thing]] = {}
        for thing in sorted(self.things.values(), key=lambda thing: natural(thing.name)):
            if not thing.whole:
                found.setdefault(thing.kind, []).append(thing)
        return found

    @property
    def slices(self) -> list[Thing]:
        """What is there only when something has been sliced."""
        return [thing for thing in self.things.values() if thing.whole]

    def with_slices(self) -> Scene:
        """The scene with what its things can become."""
        found = dict(self.things)
        catalogue = default_catalogue()
        for thing in self.things.values():
            cls = catalogue.objects.get(thing.class_name)
            if cls is None or cls.slices is None or thing.kind is not EntityKind.OBJECT:
                continue
            piece = catalogue.objects[cls.slices.class_name]
            for name in slice_names(thing.name, cls.slices):
                # Also after it was sliced, since descriptions hold for the time before.
                found[name] = replace(
                    thing,
                    name=name,
                    class_name=piece.name,
                    affordances=piece.affordances,
                    whole=thing.name,
                )
        return replace(self, things=found)

    def holders(self, name: str) -> Iterator[Thing]:
        """What a thing is on, in or held by, and what that is on, and so on, without its room."""
        seen = {name}
        thing = self.things.get(name)
        while thing is not None and thing.parent is not None and thing.parent not in seen:
            seen.add(thing.parent)
            thing = self.things.get(thing.parent)
            if thing is not None and thing.kind is not EntityKind.ROOM:
                yield thing

    def is_held(self, name: str) -> bool:
        """Whether an agent holds a thing, or what it is on or in."""
        return any(holder.kind is EntityKind.AGENT for holder in self.holders(name))


def natural(name: str) -> tuple[str, int, str]:
    """A sorting key that puts `cup_2` before `cup_10`."""
    head, _, number = name.rpartition("_")
    return (head, int(number), name) if number.isdecimal() else (name, -1, name)


def scene_of_belief(belief: Belief, layout: House) -> Scene:
    """What a robot believes."""
    return Scene({name: _believed(node, layout) for name, node in belief.nodes.items()})


def scene_of_state(state: WorldState, house: House) -> Scene:
    """The true world, with the floors of its rooms."""
    things = {name: _true(entity, house) for name, entity in state.entities.items()}
    for room in house.rooms:
        (x0, y0), (x1, y1) = (
            (min(p[0] for p in room.polygon_m), min(p[1] for p in room.polygon_m)),
            (max(p[0] for p in room.polygon_m), max(p[1] for p in room.polygon_m)),
        )
        things[room.name] = Thing(
            name=room.name,
            kind=EntityKind.ROOM,
            class_name=room.class_name,
            box=Box((x0, y0, 0.0), (x1, y1, room.height_m)),
            room=room.name,
        )
        floor = floor_name(room.name)
        things[floor] = Thing(
            name=floor,
            kind=EntityKind.FURNITURE,
            class_name=FLOOR_CLASS,
            box=Box((x0, y0, 0.0), (x1, y1, 0.0)),
            room=room.name,
            parent=room.name,
            surface=True,
        )
    return Scene(things, complete=True)


def as_first_known(before: Scene, now: Scene) -> Scene:
    """The scene in which descriptions hold: each thing as it was before anybody touched it.

    A description is of the time of the instruction, but a thing may be found, and seen better,
    later: where it is counts until it is picked up, a state from when it is first known.
    """
    held = {name for name in now.things if now.is_held(name)}
    touched = before.touched | held
    first = {name: _first(before, now, name, touched) for name in now.things}
    return Scene({**before.things, **first}, now.complete, touched)


def _first(before: Scene, now: Scene, name: str, touched: frozenset[str]) -> Thing:
    known, thing = before.things.get(name), now.things[name]
    if known is None or thing.kind is EntityKind.ROOM:
        return thing
    if thing.kind is EntityKind.AGENT:
        return known
    states = {**thing.states, **known.states}
    openness = thing.openness if known.openness is None else known.openness
    moved = thing.kind is EntityKind.FURNITURE or name in touched
    return replace(known if moved else thing, states=states, openness=openness)


def _believed(node: BeliefNode, layout: House) -> Thing:
    piece = layout.furniture_by_name.get(node.name)
    shape = _shape(node.kind, node.class_name, piece)
    box = piece.box if piece is not None else Box.around(node.position_m, node.size_m)
    return Thing(
        name=node.name,
        kind=node.kind,
        class_name=node.class_name,
        box=box,
        room=node.name if node.kind is EntityKind.ROOM else node.room,
        parent=node.parent,
        relation=node.relation,
        yaw_rad=piece.yaw_rad if piece is not None else 0.0,
        affordances=node.affordances,
        states=node.states,
        openness=node.openness,
        color=node.look.color,
        material=node.look.material,
        surface=shape[0],
        hollow=shape[1],
        hollows_m=_hollows(piece),
    )


def _true(entity: EntityState, house: House) -> Thing:
    piece = house.furniture_by_name.get(entity.name)
    shape = _shape(entity.kind, entity.class_name, piece)
    return Thing(
        name=entity.name,
        kind=entity.kind,
        class_name=entity.class_name,
        box=_upright(entity.pose, entity.size_m),
        room=entity.name if entity.kind is EntityKind.ROOM else entity.room,
        parent=entity.parent,
        relation=entity.relation,
        yaw_rad=entity.pose.yaw_rad,
        affordances=entity.affordances,
        states=entity.states or {},
        openness=entity.openness,
        color=entity.look.color,
        material=entity.look.material,
        surface=shape[0],
        hollow=shape[1],
        hollows_m=_hollows(piece),
    )


def _upright(pose: Pose, size_m: Vec3) -> Box:
    x, y, z = pose.position_m
    return Box.around((x, y, z + size_m[2] / 2), size_m, pose.yaw_rad)


def _hollows(piece: Furniture | None) -> tuple[Vec3, ...]:
    return () if piece is None else tuple(hollow.size for hollow in piece.interiors)


def _shape(kind: EntityKind, class_name: str, piece: Furniture | None) -> tuple[bool, bool]:
    if piece is not None:
        return bool(piece.surfaces), bool(piece.interiors)
    if class_name == FLOOR_CLASS:
        return True, False
    if kind is EntityKind.OBJECT:
        top, hollow = (part_by_word(class_name, r) for r in (Relation.ON, Relation.WITHIN))
        return top is not None, hollow is not None
    return False, False
