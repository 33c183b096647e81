"""EPM's entity list: numbered entities, and what each operation does to them (EPM-2.3)."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from planner.memory.camera import point_at_pixel, support_of
from planner.memory.updater import Facts, Operation
from planner.memory.wording import (
    PICKED,
    PLACED,
    Description,
    WordMatch,
    normal_text,
    read_description,
    take_flag_words,
    words_of,
)
from planner.world.belief import (
    FIRST_ID,
    UNNAMED_CLASS,
    Edit,
    Entity,
    MemoryChange,
    OperationKind,
    Source,
    read_number,
)
from planner.world.furnishing import look_of_piece
from planner.world.geometry import Vec3, record
from planner.world.house import House
from planner.world.observation import CameraFrame
from planner.world.receptacle import usual_part
from planner.world.shapes import UNKNOWN_LOOK
from planner.world.states import default_states
from planner.world.vocabulary import Hand, Relation

MAX_DESCRIPTION_CHARACTERS = 500
# What is seen this near its stored place, with the same text, is the same: no edit is told.
POSITION_TOLERANCE_M = 0.1
# No door of the embedded world moves by just so much from one look to another: rounding would
# decide. What is seen all open, or all closed, is always told: views into it hang on that.
OPENNESS_TOLERANCE = 0.19
_log = logging.getLogger(__name__)


@record
class Provenance:
    """When, by whom and from where operations are made.

    Attributes:
        author: updater, action or person, for the record.
        agent: whose camera or action it is; "" for a person's edit.
        camera: the exposure that pixels refer to; None where operations bring positions.
        taken: what an older picture still shows where it was, and cannot add.
    """

    stamp_s: float
    author: str
    source: Source
    agent: str = ""
    camera: CameraFrame | None = None
    taken: tuple[Entity, ...] = ()


@record
class Outcome:
    """What became of a list of operations.

    Attributes:
        change: the numbered change; None where nothing changed.
        ids: of the entities, one an operation; 0 where it was refused.
        refused: one sentence an operation that was skipped.
        confirmed: things seen to be as remembered.
    """

    change: MemoryChange | None
    ids: tuple[int, ...]
    refused: tuple[str, ...]
    confirmed: tuple[Entity, ...] = ()


class _RefusedError(ValueError):
    """An operation that is skipped; its text says why."""


# What takes the place of a thing in one change is not further from it.
_SUCCESSOR_M = 0.2
# A thing of the class of one that was taken is that one, if it is seen no further from its place.
_TAKEN_M = 0.35


class EntityList:
    """Furniture of the layout first, then what was seen; ids grow and are never used again."""

    def __init__(self, layout: House, match: WordMatch = WordMatch.WHOLE) -> None:
        """Numbers the layout's furniture in its order, from 100."""
        self._layout = layout
        self._match = match
        self._entities: dict[int, Entity] = {}
        # Made when it is asked for, so that who asks again sees at once that nothing changed.
        self._all: tuple[Entity, ...] | None = None
        self._by_name: dict[str, int] = {}
        # Names by which things were known until they were taken for others, as a hand that was on
        # its way to one still calls it.
        self._former: dict[str, int] = {}
        self._next_id = FIRST_ID
        self.sequence = 0
        for piece in layout.furniture:
            self._put(
                Entity(
                    entity_id=self._next_id,
                    name=piece.name,
                    class_name=piece.class_name,
                    is_furniture=True,
                    description=words_of(piece.class_name),
                    position_m=piece.box.center_m,
                    size_m=piece.size_m,
                    parent=piece.room,
                    room=piece.room,
                    look=look_of_piece(piece),
                )
            )
            self._next_id += 1

    def copy(self) -> EntityList:
        """Another list with the same content; changing one leaves the other alone."""
        other = EntityList(self._layout, self._match)
        other.restore(self._entities.values(), self._next_id, self.sequence)
        return other

    def restore(self, entities: Iterable[Entity], next_id: int, sequence: int) -> None:
        """Takes the content of a store; ids and sequence numbers go on from there."""
        self._entities.clear()
        self._all = None
        self._by_name.clear()
        self._former.clear()
        for entity in sorted(entities, key=lambda e: e.entity_id):
            self._put(entity)
        self._next_id, self.sequence = next_id, sequence

    # Reading

    @property
    def next_id(self) -> int:
        """The number that the next entity gets."""
        return self._next_id

    @property
    def entities(self) -> Sequence[Entity]:
        """All of them, sorted by id."""
        if self._all is None:
            self._all = tuple(self._entities.values())
        return self._all

    def __len__(self) -> int:
        return len(self._entities)

    def get(self, entity_id: int) -> Entity | None:
        """The entity of a number."""
        return self._entities.get(entity_id)

    def named(self, name: str) -> Entity | None:
        """The entity of a name."""
        return self._entities.get(self._by_name.get(name, 0))

    def find(self, word: str) -> Entity | None:
        """The entity that a call's argument names: as `planner.world.belief.Belief.find`."""
        found = self.named(word) or self.named(word.lower())
        if found is not None:
            return found
        number, separator, class_name = word.partition("_")
        if separator and number.isascii() and number.isdigit():
            return self.named(f"{class_name}_{number}")
        class_name, entity_id = read_number(word)
        found = self.get(entity_id)
        if found is not None and class_name in ("", found.class_name):
            return found
        return self.get(self._former.get(word, 0))

    # Changing

    def apply(self, operations: Sequence[Operation], provenance: Provenance) -> Outcome:
        """Carries operations out in their order; one that cannot be is skipped and logged."""
        edits: list[Edit] = []
        ids: list[int] = []
        refused: list[str] = []
        confirmed: list[Entity] = []
        for operation in operations:
            try:
                edit, told = self._apply(operation, provenance)
            except _RefusedError as refusal:
                refused.append(f"{operation.kind.value}: {refusal}")
                _log.warning("%s: %s", provenance.author, refused[-1])
                ids.append(0)
                continue
            ids.append(edit.entity.entity_id)
            if told:
                edits.append(edit)
            else:
                confirmed.append(edit.entity)
        change = None
        if edits:
            self._note_successors(edits)
            self.sequence += 1
            change = MemoryChange(
                self.sequence, provenance.stamp_s, provenance.author, tuple(edits)
            )
        return Outcome(change, tuple(ids), tuple(refused), tuple(confirmed))

    def _note_successors(self, edits: Sequence[Edit]) -> None:
        """What is added in the change in which a thing at its place is removed is that thing."""
        added = [edit.entity for edit in edits if edit.kind is OperationKind.ADD]
        for edit in edits if added else ():
            if edit.kind is not OperationKind.REMOVE:
                continue
            at_m = edit.entity.position_m
            nearest = min(added, key=lambda entity: math.dist(entity.position_m, at_m))
            if math.dist(nearest.position_m, at_m) <= _SUCCESSOR_M:
                self._former[edit.entity.name] = nearest.entity_id

    def _apply(self, operation: Operation, provenance: Provenance) -> tuple[Edit, bool]:
        """The edit, and whether it changed anything worth telling."""
        if operation.kind is OperationKind.ADD:
            return self._add(operation, provenance), True
        entity = self.get(operation.entity_id or 0)
        if entity is None:
            raise _RefusedError(f"there is no Object.{operation.entity_id}")
        if operation.kind is OperationKind.REMOVE:
            return self._remove(entity), True
        return self._update(entity, operation, provenance)

    def _add(self, operation: Operation, provenance: Provenance) -> Edit:
        text = _checked_text(operation.description)
        position_m, distance_m = _place(operation, provenance)
        facts = operation.facts
        class_name = facts.class_name if facts else read_description(text).class_name
        for thing in provenance.taken:
            near = math.dist(thing.position_m, position_m) <= _TAKEN_M
            if near and thing.class_name == class_name:
                raise _RefusedError(f"{thing.name} was taken from there after the picture")
        name = operation.name or self._free_name(class_name or UNNAMED_CLASS)
        if name in self._by_name:
            raise _RefusedError(f"{name} is Object.{self._by_name[name]} already")
        entity = Entity(
            entity_id=self._next_id,
            name=name,
            class_name=class_name or UNNAMED_CLASS,
            is_furniture=False,
            description=text,
            position_m=position_m,
        )
        # The pick words are of Updates only; who knows that it is held says so in the facts.
        held = facts is not None and facts.relation is Relation.HELD
        entity = self._grasped(entity, text, operation, provenance, position_m, distance_m, held)
        self._next_id += 1
        self._put(entity)
        return Edit(OperationKind.ADD, entity)

    def _remove(self, entity: Entity) -> Edit:
        if entity.is_furniture:
            raise _RefusedError(f"Object.{entity.entity_id} is furniture of the layout")
        if entity.picked:
            raise _RefusedError(f"Object.{entity.entity_id} is held")
        del self._entities[entity.entity_id]
        self._all = None
        del self._by_name[entity.name]
        return Edit(OperationKind.REMOVE, entity)

    def _update(
        self, old: Entity, operation: Operation, provenance: Provenance
    ) -> tuple[Edit, bool]:
        renamed = provenance.source is Source.TOLD and operation.name not in (None, old.name)
        if not renamed and _confirms(old, operation):
            new = _confirmed(old, operation, provenance)
            self._put(new)
            return Edit(OperationKind.UPDATE, new), False
        text, flag, both = take_flag_words(_checked_text(operation.description), self._match)
        if both:
            _log.warning(
                "%s: Update of Object.%d says %s and %s; treated as %s",
                provenance.author, old.entity_id, PICKED, PLACED, PLACED,
            )  # fmt: skip
        if not text:
            raise _RefusedError("it has no description but its flag words")
        picked = old.picked if flag is None else flag
        if picked and old.is_furniture:
            raise _RefusedError(f"Object.{old.entity_id} is furniture and cannot be held")
        position_m, distance_m = _place(operation, provenance)
        new = self._grasped(old, text, operation, provenance, position_m, distance_m, picked)
        if renamed and operation.name is not None:
            new = self._renamed(new, operation.name)
        told = renamed or not _same(old, new)
        if not told:
            # The stored place stays: small steps must not add up to a move that nobody was told.
            openness = new.openness if old.openness is None else old.openness
            new = replace(new, position_m=old.position_m, openness=openness)
        self._put(new)
        return Edit(OperationKind.UPDATE, new), told

    def _renamed(self, entity: Entity, name: str) -> Entity:
        """The entity by another name; only people give one."""
        if entity.is_furniture:
            raise _RefusedError(
                f"Object.{entity.entity_id} is furniture, and its name comes from the layout"
            )
        if name in self._by_name:
            raise _RefusedError(f"{name} is Object.{self._by_name[name]} already")
        del self._by_name[entity.name]
        return replace(entity, name=name)

    def _grasped(
        self,
        old: Entity,
        text: str,
        operation: Operation,
        provenance: Provenance,
        position_m: Vec3,
        distance_m: float | None,
        picked: bool,
    ) -> Entity:
        """The entity with everything that an Add or Update says and implies."""
        seen = provenance.source is Source.SEEN
        facts = operation.facts or self._facts_of_text(
            old, read_description(text), position_m, picked, provenance.agent
        )
        return replace(
            old,
            description=text,
            # Furniture stands where the layout says, whatever part of it was seen.
            position_m=old.position_m if old.is_furniture else position_m,
            seen_distance_m=distance_m if distance_m is not None else old.seen_distance_m,
            picked=picked,
            class_name=facts.class_name or old.class_name,
            size_m=facts.size_m if any(facts.size_m) else old.size_m,
            parent=facts.parent,
            relation=facts.relation,
            room=facts.room,
            states=facts.states if facts.states is not None else old.states,
            openness=facts.openness if facts.openness is not None else old.openness,
            hand=_hand(old, facts),
            look=old.look if facts.look == UNKNOWN_LOOK else facts.look,
            maybe=old.maybe if facts.maybe is None else facts.maybe,
            person=old.person if facts.person is None else facts.person,
            source=provenance.source,
            stamp_s=provenance.stamp_s,
            seen_s=provenance.stamp_s if seen else old.seen_s,
        )

    def _facts_of_text(
        self, old: Entity, said: Description, position_m: Vec3, picked: bool, agent: str
    ) -> Facts:
        """What a model's text and the layout's geometry say together."""
        states = {**old.states, **said.states}
        if old.is_furniture:
            # A model may call it something else; what it is follows from the layout.
            return Facts(
                old.class_name, old.size_m, old.parent, None, old.room, states, said.openness
            )
        if picked:
            holder = old.parent if old.relation is Relation.HELD else agent or None
            return Facts(said.class_name, (0, 0, 0), holder, Relation.HELD, None, states)
        support = self.get(said.support_id or 0)
        openness = {e.name: e.openness for e in self._entities.values() if e.openness is not None}
        if support is not None and support is not old and not support.is_furniture:
            relation = usual_part(support.class_name)
            if relation is not None:
                return Facts(
                    said.class_name, (0, 0, 0), support.name, relation, support.room, states
                )
        named = support.name if support is not None and support.is_furniture else None
        place = support_of(self._layout, position_m, named, openness)
        piece = self.named(place.parent or "")
        room = place.room if piece is None else piece.room
        return Facts(said.class_name, (0, 0, 0), place.parent, place.relation, room, states)

    def _free_name(self, class_name: str) -> str:
        name = f"{class_name}_{self._next_id}"
        while name in self._by_name:
            name += "_1"
        return name

    def _put(self, entity: Entity) -> None:
        self._entities[entity.entity_id] = entity
        self._all = None
        self._by_name[entity.name] = entity.entity_id


def _checked_text(text: str) -> str:
    words = normal_text(text)
    if not words:
        raise _RefusedError("it has no description")
    if len(words) > MAX_DESCRIPTION_CHARACTERS:
        raise _RefusedError(
            f"its description has {len(words)} characters, over {MAX_DESCRIPTION_CHARACTERS}"
        )
    return words


def _place(operation: Operation, provenance: Provenance) -> tuple[Vec3, float | None]:
    """The point of an operation and its distance from the camera, where there was one."""
    if operation.position_m is not None:
        if not all(map(math.isfinite, operation.position_m)):
            raise _RefusedError(f"its position {operation.position_m} is not finite")
        return operation.position_m, operation.distance_m
    if operation.pixel is None:
        raise _RefusedError("it has no coordinates")
    if provenance.camera is None:
        raise _RefusedError("its coordinates are pixels, and there is no image")
    found = point_at_pixel(provenance.camera, operation.pixel)
    if isinstance(found, str):
        raise _RefusedError(found)
    return found


def _confirms(old: Entity, operation: Operation) -> bool:
    """Whether an Update says to the letter what is remembered; most of a robot's looks do."""
    facts, text = operation.facts, operation.description
    return (
        facts is not None
        and operation.position_m is not None
        and text == old.description
        and facts.parent == old.parent
        and facts.relation == old.relation
        and facts.room == old.room
        and facts.states == old.states
        and facts.class_name == old.class_name
        and facts.size_m == old.size_m
        and facts.openness == old.openness
        and facts.hand in (None, old.hand)
        and facts.look in (UNKNOWN_LOOK, old.look)
        and facts.maybe in (None, old.maybe)
        and facts.person in (None, old.person)
        and PICKED not in text
        and PLACED not in text
        and (old.picked or math.dist(old.position_m, operation.position_m) <= POSITION_TOLERANCE_M)
    )


def _confirmed(old: Entity, operation: Operation, provenance: Provenance) -> Entity:
    """The entity as it was, seen again. A constructor is several times as fast as `replace`."""
    distance_m = operation.distance_m
    return Entity(
        old.entity_id,
        old.name,
        old.class_name,
        old.is_furniture,
        old.description,
        old.position_m,
        old.seen_distance_m if distance_m is None else distance_m,
        old.picked,
        old.size_m,
        old.parent,
        old.relation,
        old.room,
        old.states,
        old.openness,
        provenance.source,
        provenance.stamp_s,
        provenance.stamp_s if provenance.source is Source.SEEN else old.seen_s,
        old.hand,
        old.look,
        old.maybe,
        old.person,
    )


def _hand(old: Entity, facts: Facts) -> Hand | None:
    """The hand that holds an entity, where that is known or nothing says that it changed."""
    if facts.relation is not Relation.HELD:
        return None
    return facts.hand or (old.hand if old.parent == facts.parent else None)


def _same(old: Entity, new: Entity) -> bool:
    """Whether nothing changed but when and from where it was seen."""
    return (
        old.description == new.description
        and old.picked == new.picked
        and old.parent == new.parent
        and old.relation == new.relation
        and old.hand == new.hand
        and old.room == new.room
        and _same_states(old.states, new.states)
        and old.class_name == new.class_name
        and (old.picked or math.dist(old.position_m, new.position_m) <= POSITION_TOLERANCE_M)
        and _near(old.openness, new.openness)
    )


def _same_states(old: Mapping[str, bool], new: Mapping[str, bool]) -> bool:
    # What was not known is thought to be as usual, so that hearing so is no news.
    table = default_states()
    return all(
        old.get(state, table.usual(state)) == new.get(state, table.usual(state))
        for state in {*new, *(old.keys() - table.defaults.keys())}
    )


def _near(old: float | None, new: float | None) -> bool:
    # Furniture of which nothing is known is thought closed (PARTNR-D6).
    was, now = old or 0.0, new or 0.0
    return was == now or (abs(was - now) <= OPENNESS_TOLERANCE and now not in (0.0, 1.0))
