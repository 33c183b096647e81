"""The belief about the house and the memory's entities, as planners and skills read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType

from planner.world.geometry import Vec3, record
from planner.world.person import Person
from planner.world.shapes import UNKNOWN_LOOK, Look
from planner.world.vocabulary import EntityKind, Hand, Hands, Relation, first_held, held_things

# What else a thing may be, where what was seen of it leaves that open.

# Classes with how strongly the looks speak for each, relative to the class that the thing is taken
# for: 0 to 1, likeliest first.
Guesses = tuple[tuple[str, float], ...]

_STATE = re.compile(r"maybe_(\d{1,3})_(\w+)")


def guess_states(guesses: Guesses) -> dict[str, bool]:
    """Guesses as states of messages, as a look is: `maybe_57_pen` with its score in percent."""
    return {f"maybe_{round(100 * score)}_{name}": True for name, score in guesses}


def take_guesses(states: Mapping[str, bool]) -> tuple[dict[str, bool], Guesses]:
    """The states of a message without guesses, and the guesses."""
    rest: dict[str, bool] = {}
    guesses = []
    for state, value in states.items():
        match = _STATE.fullmatch(state) if value else None
        if match is None:
            rest[state] = value
        else:
            guesses.append((match[2], int(match[1]) / 100))
    guesses.sort(key=lambda guess: -guess[1])
    return rest, tuple(guesses)


def score_of(guesses: Guesses, class_name: str) -> float:
    """How strongly the looks speak for a class; 0 where it is no guess."""
    return next((score for name, score in guesses if name == class_name), 0.0)


# Class of a thing in the memory that has no class yet.
UNNAMED_CLASS = "thing"
_NUMBERED = re.compile(r"(?:Object[. ]|(.+)_)(\d{1,9})")


def named_by_class(class_name: str, number: int | str) -> str:
    """A numbered entity by what it is: `cup_149` for `Object.149`."""
    return f"{class_name}_{number}"


def read_number(word: str) -> tuple[str, int]:
    """Class and number of `cup_149`, no class of `Object.149` and `Object 149`; 0 = no number."""
    match = _NUMBERED.fullmatch(word)
    return (match[1] or "", int(match[2])) if match is not None else ("", 0)


class Source(StrEnum):
    """The source of a belief."""

    SEEN = "seen"
    TOLD = "told"
    INFERRED = "inferred"


@record
class BeliefNode:
    """One believed entity.

    Attributes:
        name: unique; furniture, rooms and agents as in the layout, things as named by the updater
            or `<class>_<id>`.
        kind: level of the scene graph; floors are furniture of class `floor`.
        class_name: semantic class of the catalogue, or a model's free text.
        entity_id: number in EPM's entity list (`Object.149`); None for rooms, floors, agents.
        position_m: centre of its box in the map frame, metres.
        size_m: extent along its own axes; zeros if unknown.
        room: room's name, or None if unknown.
        parent: what it is on, within or held by; a furniture's room; None if unknown.
        relation: of a thing to its parent.
        states: only known ones.
        openness: of furniture, 0 closed to 1 open; None if nothing opens.
        heading_rad: of an agent, from +x towards +y of the map; None if unknown.
        hands: of an agent, what each of its hands is believed to hold.
        source: of the belief.
        stamp_s: when its source last confirmed it, seconds of the world's clock.
        description: EPM's text of the entity.
        look: of furniture and things, as far as it is known.
        maybe: of a thing, what else it may be; see `planner.world.belief`.
        person: of a thing of the class `person`, as far as it is known.
    """

    name: str
    kind: EntityKind
    class_name: str
    entity_id: int | None
    position_m: Vec3
    size_m: Vec3 = (0.0, 0.0, 0.0)
    room: str | None = None
    parent: str | None = None
    relation: Relation | None = None
    affordances: tuple[str, ...] = ()
    states: Mapping[str, bool] = field(default_factory=dict)
    openness: float | None = None
    hands: Hands = ()
    source: Source = Source.TOLD
    stamp_s: float = 0.0
    description: str = ""
    look: Look = UNKNOWN_LOOK
    heading_rad: float | None = None
    maybe: Guesses = ()
    person: Person | None = None

    @property
    def holding(self) -> str | None:
        """What the first full hand of an agent is believed to hold."""
        return first_held(self.hands)


@dataclass(frozen=True)
class Belief:
    """A snapshot: nodes by name, as of the memory's update `sequence` at `stamp_s`."""

    stamp_s: float
    sequence: int
    nodes: Mapping[str, BeliefNode]

    @cached_property
    def _by_id(self) -> dict[int, BeliefNode]:
        return {n.entity_id: n for n in self.nodes.values() if n.entity_id is not None}

    @cached_property
    def _folded(self) -> dict[str, BeliefNode]:
        return {name.lower(): node for name, node in self.nodes.items()}

    def find(self, word: str) -> BeliefNode | None:
        """The node named by a call's argument.

        Accepts a name, `Object.149`, `Object 149`, `149_cup` (PARTNR-D40), and `cup_149` where no
        name is that.
        """
        node = self.nodes.get(word) or self._folded.get(word.lower())
        if node is not None:
            return node
        number, separator, class_name = word.partition("_")
        if separator and number.isascii() and number.isdigit():
            return self.nodes.get(f"{class_name}_{number}")
        class_name, entity_id = read_number(word)
        node = self._by_id.get(entity_id)
        return node if node is not None and class_name in ("", node.class_name) else None

    def of_kind(self, kind: EntityKind) -> list[BeliefNode]:
        """All nodes of a kind, in the order in which they became known."""
        return [node for node in self.nodes.values() if node.kind is kind]

    def base_of(self, node: BeliefNode) -> BeliefNode:
        """The lowest of the things that a thing is on or in; itself if it is on or in none."""
        seen: set[str] = set()
        holder = self.nodes.get(node.parent or "")
        while holder is not None and holder.kind is EntityKind.OBJECT and holder.name not in seen:
            seen.add(holder.name)
            node, holder = holder, self.nodes.get(holder.parent or "")
        return node

    def inside(self, parent: str) -> list[BeliefNode]:
        """The things believed on, within or held by a node."""
        return [
            node
            for node in self.nodes.values()
            if node.parent == parent and node.kind is EntityKind.OBJECT
        ]


# Entities in the memory's list, and its numbered changes (EPM-2.1, EPM-9).

FIRST_ID = 100


class OperationKind(StrEnum):
    """The edits of EPM's grammar."""

    ADD = "Add"
    UPDATE = "Update"
    REMOVE = "Remove"


@record
class Entity:
    """One entry of the entity list; it may be wrong.

    Attributes:
        entity_id: 100 + number of entities added before; never reused.
        name: unique; the layout's, the updater's, or `<class>_<id>`.
        class_name: semantic class of the catalogue, or a model's free text.
        is_furniture: whether it comes from the house's layout.
        description: EPM's text: class, then states, then `with the Object.N`.
        position_m: in `map`; the middle of furniture, the seen point of a thing.
        seen_distance_m: camera distance when last seen; None if never seen by a camera.
        picked: held by an agent.
        size_m: extent along its own axes; zeros if unknown.
        parent: furniture, floor or agent that it is on, within or held by; a furniture's room.
        relation: to the parent; None for furniture and if unknown.
        hand: of the agent that holds it; None if unknown.
        look: as far as it is known.
        maybe: what else it may be; see `planner.world.belief`.
        person: of one of the class `person`, as far as it is known.
        room: None if unknown; for a held thing, the room of its holder.
        states: only known ones.
        openness: of furniture, 0 closed to 1 open; None if unknown or nothing opens.
        source: of the newest information.
        stamp_s: when the source last confirmed it, seconds of the world's clock.
        seen_s: when a camera last saw it; None = never.
    """

    entity_id: int
    name: str
    class_name: str
    is_furniture: bool
    description: str
    position_m: Vec3
    seen_distance_m: float | None = None
    picked: bool = False
    size_m: Vec3 = (0.0, 0.0, 0.0)
    parent: str | None = None
    relation: Relation | None = None
    room: str | None = None
    states: Mapping[str, bool] = field(default_factory=dict)
    openness: float | None = None
    source: Source = Source.TOLD
    stamp_s: float = 0.0
    seen_s: float | None = None
    hand: Hand | None = None
    look: Look = UNKNOWN_LOOK
    maybe: Guesses = ()
    person: Person | None = None

    @property
    def is_named_by_memory(self) -> bool:
        """Whether its name is the memory's own, as no updater gave one."""
        return self.name == f"{self.class_name}_{self.entity_id}"


def carriers(entities: Iterable[Entity]) -> dict[str, str]:
    """Who holds what: agents by the names of held things and of all that is in or on those."""
    known = {entity.name: entity for entity in entities if not entity.is_furniture}
    found: dict[str, str] = {}
    for name in known:
        seen: list[str] = []
        at: Entity | None = known[name]
        while at is not None and at.name not in seen:
            seen.append(at.name)
            if at.picked and at.parent is not None:
                found[name] = at.parent
                break
            at = known.get(at.parent or "")
    return found


@record
class Edit:
    """One applied operation: the entity after it; for a removal, the removed entity."""

    kind: OperationKind
    entity: Entity


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """The edits of one step, in the order in which they were applied.

    Attributes:
        sequence: increases by one with every change; the initial list has 0.
        stamp_s: of the observation or action behind the edits.
        author: updater, action or person that made them.
    """

    sequence: int
    stamp_s: float
    author: str
    edits: tuple[Edit, ...]


# Maps a task's names to believed things, for memories that invent names of their own.


class StandIns:
    """Assigns to every name of a task one believed thing of its class, permanently.

    A privileged memory knows the true names. A learned one names a thing by its class and its
    number in the entity list: `cup_149` with id 149.
    """

    def __init__(self, names: Iterable[str], *, follow_hands: bool = False) -> None:
        """Starts without any assignment.

        Args:
            names: of the task, true ones.
            follow_hands: whether a thing picked up by an agent takes the name from one of its
                class that was never picked up: if agents' intentions are unknown, the thing that
                was picked is assumed to be the one that was meant.
        """
        self._names = sorted(names)
        self._given: dict[str, str] = {}
        self._follow_hands = follow_hands
        self._handled: set[str] = set()

    @property
    def given(self) -> Mapping[str, str]:
        """The assigned thing of each name that has one."""
        return MappingProxyType(self._given)

    @property
    def names(self) -> Sequence[str]:
        """The names of the task."""
        return self._names

    def give(self, name: str, node: str) -> None:
        """Assigns a believed thing of another class to a name, as long as it is believed."""
        self._given[name] = node

    def update(self, belief: Belief) -> bool:
        """Processes a newer belief; True if an assignment has changed."""
        before = dict(self._given)
        self._given = {name: node for name, node in self._given.items() if node in belief.nodes}
        self._handled |= {
            thing for node in belief.nodes.values() for thing in held_things(node.hands)
        }
        free = [
            node
            for node in belief.of_kind(EntityKind.OBJECT)
            if node.name == f"{node.class_name}_{node.entity_id}"
            and node.name not in self._given.values()
        ]
        if self._follow_hands:
            free.sort(key=lambda node: node.name not in self._handled)
        for name in self._names:
            if name in belief.nodes or not self._may_change(name):
                continue
            class_name = name.rpartition("_")[0]
            match = next((node for node in free if node.class_name == class_name), None)
            if match is None or (name in self._given and match.name not in self._handled):
                continue
            free.remove(match)
            self._given[name] = match.name
        return self._given != before

    def _may_change(self, name: str) -> bool:
        given = self._given.get(name)
        return given is None or (self._follow_hands and given not in self._handled)
