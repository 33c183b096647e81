"""What is known of the house: its things, what nouns mean among them, where things are."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import MappingProxyType

from planner.language.goal_form import Description, NounPhrase
from planner.language.lexicon import GENERIC_KINDS, Amount
from planner.language.lexicon import Relation as Word
from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import (
    Meaning,
    default_catalogue,
    default_word_meanings,
    slice_names,
    word_key,
)
from planner.world.geometry import Box, Pose, Vec3, record
from planner.world.house import Furniture, House
from planner.world.receptacle import part_by_word
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
        spoken_by: the person of the world who gave the instruction; "" = a person who acts.
    """

    things: Mapping[str, Thing]
    complete: bool = False
    touched: frozenset[str] = frozenset()
    spoken_by: str = ""

    @property
    def speaker(self) -> Thing | None:
        """Who gave the instruction: the person who acts, where there is exactly one."""
        if self.spoken_by:
            return self.things.get(self.spoken_by)
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


def scene_of_belief(
    belief: Belief,
    layout: House,
    guesses: Mapping[str, str] = MappingProxyType({}),
    spoken_by: str = "",
) -> Scene:
    """What a robot believes; `guesses` are names with the class that it acts on instead."""
    things = {name: _believed(node, layout) for name, node in belief.nodes.items()}
    for name in guesses.keys() & things.keys():
        guessed = default_catalogue().objects[guesses[name]]
        things[name] = replace(
            things[name], class_name=guessed.name, affordances=guessed.affordances
        )
    return Scene(things, spoken_by=spoken_by)


def scene_of_state(state: WorldState, house: House) -> Scene:
    """The true world, with the floors of its rooms."""
    things = {name: _true(entity, house) for name, entity in state.entities.items()}
    for room in house.rooms:
        xs, ys = zip(*room.polygon_m, strict=True)
        x0, y0, x1, y1 = min(xs), min(ys), max(xs), max(ys)
        inside, ground = (Box((x0, y0, 0.0), (x1, y1, top)) for top in (room.height_m, 0.0))
        name, floor = room.name, floor_name(room.name)
        things[name] = Thing(name, EntityKind.ROOM, room.class_name, inside, room=name)
        things[floor] = Thing(
            floor, EntityKind.FURNITURE, FLOOR_CLASS, ground, room=name, parent=name, surface=True
        )
    return Scene(things, complete=True)


def without_taken_back(before: Scene, now: Scene) -> Scene:
    """The scene without the objects that are no longer known, though nobody ever held them."""
    kept = {
        name: thing
        for name, thing in before.things.items()
        if thing.kind is not EntityKind.OBJECT or name in now.things or name in before.touched
    }
    return replace(before, things=kept)


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
    # What it is taken for may be found out while it is held.
    kind, ways = thing.class_name, thing.affordances
    where = replace(known, class_name=kind, affordances=ways) if moved else thing
    return replace(where, states=states, openness=openness)


def _believed(node: BeliefNode, layout: House) -> Thing:
    piece = layout.furniture_by_name.get(node.name)
    if piece is None:
        return _thing(node, None, Box.around(node.position_m, node.size_m), 0.0)
    return _thing(node, piece, piece.box, piece.yaw_rad)


def _true(entity: EntityState, house: House) -> Thing:
    piece = house.furniture_by_name.get(entity.name)
    return _thing(entity, piece, _upright(entity.pose, entity.size_m), entity.pose.yaw_rad)


def _thing(
    known: BeliefNode | EntityState, piece: Furniture | None, box: Box, yaw_rad: float
) -> Thing:
    surface, hollow = _shape(known.kind, known.class_name, piece)
    return Thing(
        name=known.name, kind=known.kind, class_name=known.class_name, box=box,
        room=known.name if known.kind is EntityKind.ROOM else known.room,
        parent=known.parent, relation=known.relation, yaw_rad=yaw_rad,
        affordances=known.affordances, states=known.states or {}, openness=known.openness,
        color=known.look.color, material=known.look.material, surface=surface, hollow=hollow,
        hollows_m=() if piece is None else tuple(inner.size for inner in piece.interiors),
    )  # fmt: skip


def _upright(pose: Pose, size_m: Vec3) -> Box:
    x, y, z = pose.position_m
    return Box.around((x, y, z + size_m[2] / 2), size_m, pose.yaw_rad)


def _shape(kind: EntityKind, class_name: str, piece: Furniture | None) -> tuple[bool, bool]:
    if piece is not None:
        return bool(piece.surfaces), bool(piece.interiors)
    if class_name == FLOOR_CLASS:
        return True, False
    if kind is EntityKind.OBJECT:
        top, hollow = (part_by_word(class_name, r) for r in (Relation.ON, Relation.WITHIN))
        return top is not None, hollow is not None
    return False, False


# Which known things a noun can mean.

# Aliases of one class that say more than the class: in which rooms such furniture stands.
_ROOMS_OF: Mapping[str, frozenset[str]] = {
    "coffee table": frozenset({"living_room"}),
    "living room table": frozenset({"living_room"}),
    "dining table": frozenset({"dining_room"}),
    "dining chair": frozenset({"dining_room"}),
    "desk chair": frozenset({"office"}),
    "office chair": frozenset({"office"}),
    "bathroom sink": frozenset({"bathroom"}),
}
# Where such furniture stands in houses without these rooms.
_ELSE_IN: Mapping[str, frozenset[str]] = {"dining table": frozenset({"kitchen"})}
_GENERIC = {"thing": EntityKind.OBJECT, "furniture": EntityKind.FURNITURE, "room": EntityKind.ROOM}


def of_kind(kind: str, scene: Scene, *, anywhere: bool = False) -> list[Thing]:
    """The known things that a noun can mean, by name; `anywhere`, not only in its usual rooms."""
    if kind == "floor":
        return [t for t in scene.of_kind(EntityKind.FURNITURE) if t.is_floor]
    if kind in _GENERIC:
        return [t for t in scene.of_kind(_GENERIC[kind]) if not t.is_floor]
    found = [
        thing
        for level in (EntityKind.OBJECT, EntityKind.FURNITURE, EntityKind.ROOM)
        for thing in scene.of_kind(level)
        if _means(kind, thing)
    ]
    if not found:
        found = [thing for thing in scene.slices if _means(kind, thing)]
    if anywhere:
        return found
    for rooms in (_ROOMS_OF.get(kind, frozenset()), _ELSE_IN.get(kind, frozenset())):
        usual = [t for t in found if _class_of(scene.things.get(t.room or "")) in rooms]
        if usual:
            return usual
    return found


def usual_rooms(kind: str) -> frozenset[str]:
    """The classes of rooms that a word for furniture implies, as "coffee table" does."""
    return _ROOMS_OF.get(kind, frozenset())


def classes_of(kind: str) -> tuple[str, ...]:
    """The classes of objects and furniture that a noun can mean; empty for any thing."""
    meaning = _meaning(kind)
    return tuple(sorted(meaning.objects | meaning.furniture))


def every_one(phrase: Description) -> Description:
    """All of what a description is about, whichever of them it picks."""
    every = {"count": Amount.ALL, "definite": False, "pick": None, "nth": None}
    return phrase.model_copy(update=every)


def can_open(phrase: NounPhrase) -> bool:
    """Whether something that a phrase means may open: agents open furniture only."""
    if not isinstance(phrase, Description) or phrase.kind in GENERIC_KINDS:
        return True
    classes, furniture = classes_of(phrase.kind), default_catalogue().furniture
    return not classes or any(name in furniture for name in classes)


def is_room_kind(kind: str) -> bool:
    """Whether a noun means rooms."""
    return kind == "room" or bool(_meaning(kind).rooms)


def _means(kind: str, thing: Thing) -> bool:
    meaning, name = _meaning(kind), _known_class(thing.kind, thing.class_name)
    if thing.kind is EntityKind.ROOM:
        return name in meaning.rooms
    classes = meaning.objects if thing.kind is EntityKind.OBJECT else meaning.furniture
    if name in classes:
        return True
    only_can = meaning.affordances and not (meaning.objects or meaning.furniture)
    return bool(only_can) and not meaning.affordances.isdisjoint(thing.affordances)


def _class_of(thing: Thing | None) -> str:
    return "" if thing is None else _known_class(thing.kind, thing.class_name)


@cache
def _known_class(kind: EntityKind, class_name: str) -> str:
    """The catalogue's class for a class that may be a model's free text."""
    catalogue = default_catalogue()
    find = {
        EntityKind.OBJECT: catalogue.object_name,
        EntityKind.FURNITURE: catalogue.furniture_name,
        EntityKind.ROOM: catalogue.room_name,
    }.get(kind)
    return class_name if find is None else find(class_name) or class_name


@cache
def _meaning(kind: str) -> Meaning:
    """What a noun means; "cup" is that class, not also a measuring cup."""
    if kind in GENERIC_KINDS:
        return Meaning()
    found = default_word_meanings().find(kind) or Meaning()
    exact = {name for name in found.objects if word_key(name) == kind}
    return replace(found, objects=frozenset(exact)) if exact else found


# Where things are relative to others, by what is known of them.

# Descriptions are looser than PARTNR's is_next_to: a lamp next to the bed stands on a nightstand.
NEAR_M = 1.0


def is_at(scene: Scene, thing: Thing, word: Word, anchor: Thing) -> bool:
    """Whether a thing is where a preposition says, relative to an anchor."""
    if thing.name == anchor.name:
        return False
    if anchor.kind is EntityKind.ROOM:
        return word in (Word.IN, Word.AT, Word.ON_TOP) and thing.room == anchor.name
    if anchor.kind is EntityKind.AGENT:
        held = thing.parent == anchor.name
        return held or (thing.room is not None and thing.room == anchor.room)
    if word in (Word.ON_TOP, Word.IN, Word.AT):
        return _rests(scene, thing, word, anchor)
    near = thing.room == anchor.room and thing.box.horizontal_gap_m(anchor.box) <= NEAR_M
    if word is Word.NEXT_TO:
        return near
    if word is Word.UNDER:
        over = thing.box.horizontal_gap_m(anchor.box) <= 0.0
        return over and thing.box.minimum_m[2] < anchor.box.maximum_m[2] / 2
    return near and _side(thing, anchor) is word


def _rests(scene: Scene, thing: Thing, word: Word, anchor: Thing) -> bool:
    """Whether it is on or in the anchor, or in what is; "in the shelf" is on a board."""
    upper = thing
    for holder in scene.holders(thing.name):
        if holder.name == anchor.name:
            if word is Word.AT:
                return True
            if word is Word.IN:
                return upper.relation is Relation.WITHIN or not anchor.hollow
            return upper.relation is Relation.ON or not anchor.surface
        upper = holder
    return False


def _side(thing: Thing, anchor: Thing) -> Word:
    """On which side of furniture something is, for somebody who faces its front."""
    (x, y, _), (ax, ay, _) = thing.position_m, anchor.position_m
    turn = math.atan2(y - ay, x - ax) - anchor.yaw_rad
    ahead, left = math.cos(turn), math.sin(turn)
    if abs(ahead) >= abs(left):
        return Word.IN_FRONT_OF if ahead > 0 else Word.BEHIND
    # Seen from the front, its own left is on the right.
    return Word.RIGHT_OF if left > 0 else Word.LEFT_OF


def leftmost(things: Collection[Thing], eye: Thing | None) -> list[Thing]:
    """Things from left to right, as somebody sees them; from the map's south if nobody is known."""
    if not things:
        return []
    xs = [thing.position_m for thing in things]
    middle = tuple(sum(p[k] for p in xs) / len(xs) for k in (0, 1))
    ex, ey = eye.position_m[:2] if eye is not None else (middle[0], middle[1] - 1.0)
    dx, dy = middle[0] - ex, middle[1] - ey
    # Rightwards is the way of looking, turned by a quarter clockwise.
    return sorted(things, key=lambda t: (t.position_m[0] - ex) * dy - (t.position_m[1] - ey) * dx)
