"""Finding entities by words in less than a millisecond, whatever their number.

For each word there is a set of places in the list of entities, common words as the bits of one
integer: joining two of them takes a microsecond at 100,000 entities. Edits change the index in
place, so that a question does not read the whole memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from planner.world.agents import body_of
from planner.world.belief import (
    Belief,
    BeliefNode,
    Entity,
    MemoryChange,
    OperationKind,
    Source,
    carriers,
)
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Vec3, record
from planner.world.house import Furniture, House, Room
from planner.world.vocabulary import (
    EntityKind,
    Hand,
    Hands,
    Relation,
    floor_name,
    free_hand,
    with_thing,
)

_WORD = re.compile(r"[^\W_]+")
# Words of more entities than this are kept as bits, rarer ones as sets.
_COMMON = 64
# Places of removed entities are given back when there are this many times as many as entities.
_SLACK, _MIN_PLACES = 2, 1024
# A word that is only part of one of the entity's counts half of a whole one.
_WHOLE, _PART = 2, 1
# Only so many words of a question are looked for.
MAX_WORDS = 12


def words_in(text: str) -> list[str]:
    """The words of a text in lower case; `_` and punctuation divide."""
    return [word.lower() for word in _WORD.findall(text)]


class _Postings:
    """The places at which one word occurs."""

    __slots__ = ("_bits", "_few")

    def __init__(self, places: Sequence[int] = (), size: int = 0) -> None:
        self._few: set[int] | None = set(places)
        self._bits = 0
        if len(places) > _COMMON:
            flags = np.zeros(size, np.uint8)
            flags[list(places)] = 1
            packed = np.packbits(flags, bitorder="little").tobytes()
            self._few, self._bits = None, int.from_bytes(packed, "little")

    def add(self, place: int) -> None:
        if self._few is None:
            self._bits |= 1 << place
            return
        self._few.add(place)
        if len(self._few) > _COMMON:
            self._bits, self._few = self.bits, None

    def discard(self, place: int) -> None:
        if self._few is None:
            self._bits &= ~(1 << place)
        else:
            self._few.discard(place)

    @property
    def is_empty(self) -> bool:
        return not self._bits and not self._few

    @property
    def bits(self) -> int:
        if self._few is None:
            return self._bits
        found = 0
        for place in self._few:
            found |= 1 << place
        return found


class EntityIndex:
    """Entities by the words of their names, classes, descriptions and rooms."""

    def __init__(self, entities: Iterable[Entity] = ()) -> None:
        """Reads them all once; they come sorted by id."""
        self._entities: list[Entity | None] = []
        self._places: dict[int, int] = {}
        # Numbers, of which there are as many as entities, stand apart: no word is part of them.
        self._words: dict[str, _Postings] = {}
        self._numbers: dict[str, _Postings] = {}
        self._rooms: dict[str, _Postings] = {}
        self._parents: dict[str, _Postings] = {}
        self._every = 0
        self._fill(list(entities))

    def __len__(self) -> int:
        return len(self._places)

    @property
    def places(self) -> int:
        """Places that are kept, those of removed entities included."""
        return len(self._entities)

    def _fill(self, entities: list[Entity]) -> None:
        size = len(entities)
        self._entities = list(entities)
        self._places = {entity.entity_id: place for place, entity in enumerate(entities)}
        words: dict[str, list[int]] = {}
        rooms: dict[str, list[int]] = {}
        parents: dict[str, list[int]] = {}
        for place, entity in enumerate(entities):
            for word in _words_of(entity):
                words.setdefault(word, []).append(place)
            rooms.setdefault(entity.room or "", []).append(place)
            parents.setdefault(entity.parent or "", []).append(place)
        self._words, self._numbers = {}, {}
        for word, at in words.items():
            self._kept(word)[word] = _Postings(at, size)
        self._rooms = {w: _Postings(p, size) for w, p in rooms.items()}
        self._parents = {w: _Postings(p, size) for w, p in parents.items()}
        self._every = (1 << size) - 1

    # Changing

    def apply(self, change: MemoryChange) -> None:
        """Follows a change of the list."""
        for edit in change.edits:
            if edit.kind is OperationKind.REMOVE:
                self.remove(edit.entity.entity_id)
            else:
                self.put(edit.entity)

    def put(self, entity: Entity) -> None:
        """Takes a new entity, or the new record of a known one."""
        place = self._places.get(entity.entity_id)
        if place is None:
            place = len(self._entities)
            self._entities.append(None)
            self._places[entity.entity_id] = place
            self._every |= 1 << place
        old = self._entities[place]
        if old is not None:
            if _keys(old) == _keys(entity):
                self._entities[place] = entity
                return
            self._forget(old, place)
        self._entities[place] = entity
        for word in _words_of(entity):
            self._kept(word).setdefault(word, _Postings()).add(place)
        self._rooms.setdefault(entity.room or "", _Postings()).add(place)
        self._parents.setdefault(entity.parent or "", _Postings()).add(place)

    def remove(self, entity_id: int) -> None:
        """Forgets an entity; an unknown number is not an error."""
        place = self._places.pop(entity_id, None)
        old = self._entities[place] if place is not None else None
        if place is None or old is None:
            return
        self._forget(old, place)
        self._entities[place] = None
        self._every &= ~(1 << place)
        if len(self._entities) > max(_MIN_PLACES, (1 + _SLACK) * len(self._places)):
            self._fill([entity for entity in self._entities if entity is not None])

    def _forget(self, old: Entity, place: int) -> None:
        for word in _words_of(old):
            kept = self._kept(word)
            kept[word].discard(place)
            if kept[word].is_empty:
                del kept[word]
        self._rooms[old.room or ""].discard(place)
        self._parents[old.parent or ""].discard(place)

    # Asking

    def knows(self, word: str) -> bool:
        """Whether an entity has this word, whole or as a part of a longer one."""
        return bool(self._whole(word) | self._partly(word))

    def _kept(self, word: str) -> dict[str, _Postings]:
        return self._numbers if word.isdigit() else self._words

    def count(self, words: Sequence[str], room: str = "", parent: str = "") -> int:
        """How many entities have every one of the words."""
        mask = self._mask(room, parent)
        for word in words:
            mask &= self._whole(word) | self._partly(word)
        return mask.bit_count()

    def find(
        self, words: Sequence[str], room: str = "", parent: str = "", limit: int = 0
    ) -> list[tuple[Entity, float]]:
        """The entities that match, with the share of the words that each has, 0 to 1.

        Args:
            words: in lower case, in any order; none = every entity, with 1.
            room: only those of this room; "" = every room.
            parent: only those on, within or held by this; "" = everywhere.
            limit: most results; 0 = no limit.

        Returns:
            Best first, equals by id.
        """
        words = words[:MAX_WORDS]
        levels = {0: self._mask(room, parent)}
        for word in words:
            whole, part = self._whole(word), self._partly(word)
            split: dict[int, int] = {}
            for level, mask in levels.items():
                for more, chosen in (
                    (_WHOLE, mask & whole),
                    (_PART, mask & part & ~whole),
                    (0, mask & ~(whole | part)),
                ):
                    if chosen:
                        split[level + more] = split.get(level + more, 0) | chosen
            levels = split
        best = _WHOLE * len(words)
        found: list[tuple[Entity, float]] = []
        for level in sorted(levels, reverse=True):
            if level == 0 and words:
                break
            score = level / best if words else 1.0
            for place in _places(levels[level]):
                entity = self._entities[place]
                if entity is not None:
                    found.append((entity, score))
                if limit and len(found) == limit:
                    return found
        return found

    def _mask(self, room: str, parent: str) -> int:
        mask = self._every
        for name, kept in ((room, self._rooms), (parent, self._parents)):
            if name:
                postings = kept.get(name)
                mask &= postings.bits if postings is not None else 0
        return mask

    def _whole(self, word: str) -> int:
        postings = self._kept(word).get(word)
        return postings.bits if postings is not None else 0

    def _partly(self, word: str) -> int:
        """Where the word is part of another; of numbers only the whole counts."""
        found = 0
        if not word.isdigit():
            for other, postings in self._words.items():
                if word in other:
                    found |= postings.bits
        return found


def _places(mask: int) -> list[int]:
    """The places of the bits that are set, lowest first."""
    size = (mask.bit_length() + 7) // 8
    flags = np.frombuffer(mask.to_bytes(size, "little"), np.uint8)
    places: list[int] = np.flatnonzero(np.unpackbits(flags, bitorder="little")).tolist()
    return places


def _keys(entity: Entity) -> tuple[str, str, str, str | None, str | None]:
    return (entity.name, entity.class_name, entity.description, entity.room, entity.parent)


def _words_of(entity: Entity) -> set[str]:
    return set(
        words_in(f"{entity.name} {entity.class_name} {entity.description} {entity.room or ''}")
    )


# The belief that planners and skills read: rooms, furniture, floors, agents and things.
#
# Built from the layout and the entity list. A node that did not change is the same record as
# before, so that a snapshot of a large house costs little more than a dictionary.


@record
class AgentBelief:
    """Where an agent is and faces; `class_name` is its kind, "agent" where nobody told."""

    name: str
    class_name: str
    position_m: Vec3
    source: Source
    stamp_s: float
    heading_rad: float | None = None


class BeliefBuilder:
    """Makes beliefs of one house."""

    def __init__(self, layout: House) -> None:
        self._layout = layout
        self._fixed: dict[str, BeliefNode] = {}
        for room in layout.rooms:
            self._fixed[room.name] = _room_node(room)
        for room in layout.rooms:
            floor = _floor_node(room)
            self._fixed[floor.name] = floor
        self._made: dict[str, tuple[Entity, BeliefNode]] = {}
        self._agents: dict[str, tuple[AgentBelief, BeliefNode]] = {}
        # Of the entities that were asked about last: all but agents and things, then things.
        self._entities: Iterable[Entity] = ()
        self._standing: dict[str, BeliefNode] = self._fixed
        self._things: list[tuple[Entity, BeliefNode]] = []
        self._held: dict[str, list[Entity]] = {}
        self._carriers: dict[str, str] = {}

    def belief(
        self,
        entities: Iterable[Entity],
        agents: Iterable[AgentBelief],
        sequence: int,
        stamp_s: float,
    ) -> Belief:
        """The belief at `stamp_s`: rooms, floors, furniture, agents, then things by number."""
        if entities is not self._entities or not isinstance(entities, tuple):
            self._take_up(entities)
        nodes = dict(self._standing)
        for agent in agents:
            node = self._agent(agent)
            held = self._held.get(agent.name)
            if held:
                node = replace(node, hands=_loaded(node.hands, held))
            nodes[agent.name] = node
        for entity, node in self._things:
            carrier = self._carriers.get(entity.name)
            holder = nodes.get(carrier or "")
            if holder is not None:
                # What is held is where its holder is, and so is what is in or on it.
                node = replace(node, position_m=holder.position_m, room=holder.room)
            nodes[entity.name] = node
        return Belief(stamp_s, sequence, nodes)

    def _take_up(self, entities: Iterable[Entity]) -> None:
        """Makes the nodes of entities that changed; nothing else tells one list from the next."""
        self._entities = entities
        self._standing = dict(self._fixed)
        self._held.clear()
        self._things.clear()
        made: dict[str, tuple[Entity, BeliefNode]] = {}
        for entity in entities:
            old = self._made.get(entity.name)
            node = old[1] if old is not None and old[0] is entity else self._entity_node(entity)
            made[entity.name] = (entity, node)
            if entity.is_furniture:
                self._standing[entity.name] = node
                continue
            self._things.append((entity, node))
            if entity.picked and entity.parent is not None:
                self._held.setdefault(entity.parent, []).append(entity)
        self._made = made
        self._carriers = carriers(self._entities)

    def _agent(self, agent: AgentBelief) -> BeliefNode:
        old = self._agents.get(agent.name)
        if old is None or old[0] is not agent:
            old = self._agents[agent.name] = (agent, self._agent_node(agent))
        return old[1]

    def _agent_node(self, agent: AgentBelief) -> BeliefNode:
        room = self._layout.room_at(agent.position_m[0], agent.position_m[1])
        body = body_of(agent.class_name)
        return BeliefNode(
            name=agent.name,
            kind=EntityKind.AGENT,
            class_name=agent.class_name,
            entity_id=None,
            position_m=agent.position_m,
            room=room,
            parent=room,
            hands=() if body is None else (None,) * body.hands,
            source=agent.source,
            stamp_s=agent.stamp_s,
            heading_rad=agent.heading_rad,
        )

    def _entity_node(self, entity: Entity) -> BeliefNode:
        piece = self._layout.furniture_by_name.get(entity.name) if entity.is_furniture else None
        return BeliefNode(
            name=entity.name,
            kind=EntityKind.OBJECT if piece is None else EntityKind.FURNITURE,
            class_name=entity.class_name,
            entity_id=entity.entity_id,
            position_m=entity.position_m,
            size_m=entity.size_m,
            room=entity.room,
            parent=entity.parent,
            relation=Relation.HELD if entity.picked else entity.relation,
            affordances=_affordances(entity, piece),
            states=entity.states,
            openness=entity.openness,
            source=entity.source,
            stamp_s=entity.stamp_s,
            description=entity.description,
            look=entity.look,
            maybe=entity.maybe,
            person=entity.person,
        )


def _loaded(hands: Hands, held: Iterable[Entity]) -> Hands:
    """What hands hold: each thing in its own where that is known, the others in those left."""
    for entity in sorted(held, key=lambda e: e.hand is None):
        hand = entity.hand or free_hand(hands)
        # What is believed to be in a full hand, the newest number is right about.
        hands = with_thing(hands, hand or Hand.RIGHT, entity.name)
    return hands


def _affordances(entity: Entity, piece: Furniture | None) -> tuple[str, ...]:
    """Of furniture as the layout says; of a thing as its class has them in the catalogue."""
    if piece is not None:
        return piece.affordances
    catalogue = default_catalogue()
    name = catalogue.object_name(entity.class_name)
    return catalogue.objects[name].affordances if name is not None else ()


def _room_node(room: Room) -> BeliefNode:
    middle = room.shape.representative_point()
    x0, y0, x1, y1 = room.shape.bounds
    return BeliefNode(
        name=room.name,
        kind=EntityKind.ROOM,
        class_name=room.class_name,
        entity_id=None,
        position_m=(float(middle.x), float(middle.y), 0.0),
        size_m=(x1 - x0, y1 - y0, room.height_m),
        room=room.name,
    )


def _floor_node(room: Room) -> BeliefNode:
    node = _room_node(room)
    return replace(
        node,
        name=floor_name(room.name),
        kind=EntityKind.FURNITURE,
        class_name="floor",
        size_m=(node.size_m[0], node.size_m[1], 0.0),
        parent=room.name,
    )
