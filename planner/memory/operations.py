"""Memory operations as text (EPM-2.3), those of a person's corrections and of found persons."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from planner.memory.updater import Facts, Operation
from planner.memory.wording import class_words, describe, normal_text, read_description
from planner.world.belief import Entity, OperationKind
from planner.world.catalogue import default_catalogue
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.person import PERSON_CLASS, Person, take_person
from planner.world.states import default_states
from planner.world.vocabulary import Relation, floor_name

NO_UPDATES = "No updates"
MODEL_IMAGE_PX = 384
GRID_CELLS = 8
MAX_CHARACTERS = 100_000
MAX_OPERATIONS = 1000
_NUMBER = r"\s*([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))\s*"
_POINT = rf"\({_NUMBER},{_NUMBER}\)"
_STRICT_ID, _LENIENT_ID = r"(\d{1,9})", r"(?:Object[. ]\s*)?(\d{1,9})"


class CoordinateFrame(StrEnum):
    """What the two numbers of an operation are; the paper does not say."""

    PIXEL_384 = "pixel384"
    NORMALIZED = "normalized"
    GRID_8 = "grid8"


class Reading(StrEnum):
    """How much a parser forgives.

    Strict takes the grammar to the letter; lenient also `Object.149`, other case and blanks,
    and list marks before a line.
    """

    STRICT = "strict"
    LENIENT = "lenient"


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text says: its operations in order, and one sentence a line that is none."""

    operations: tuple[Operation, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Patterns:
    add: re.Pattern[str]
    update: re.Pattern[str]
    remove: re.Pattern[str]
    nothing: re.Pattern[str]


def _patterns(number: str, blank: str, flags: int) -> _Patterns:
    return _Patterns(
        add=re.compile(rf"Add{blank}{_POINT}\s*:\s*(.*)", flags),
        update=re.compile(rf"Update {blank}{number}{blank}{_POINT}\s*:\s*(.*)", flags),
        remove=re.compile(rf"Remove {blank}{number}", flags),
        nothing=re.compile(r"No updates\.?", flags),
    )


_BY_READING = {
    Reading.STRICT: _patterns(_STRICT_ID, " ?", re.ASCII),
    Reading.LENIENT: _patterns(_LENIENT_ID, r"\s*", re.ASCII | re.IGNORECASE),
}


def parse(text: str, reading: Reading = Reading.LENIENT) -> Parsed:
    """Reads a model's output; never raises. Coordinates stay in the model's frame.

    A line that is not an operation costs only itself (EPM-2.3).
    """
    if len(text) > MAX_CHARACTERS:
        return Parsed(errors=(f"the text has {len(text)} characters, over {MAX_CHARACTERS}",))
    operations: list[Operation] = []
    errors: list[str] = []
    nothing = False
    for line in text.splitlines():
        if not line.strip():
            continue
        found = _line(line, reading)
        if isinstance(found, Operation):
            operations.append(found)
        elif found is None:
            nothing = True
        else:
            errors.append(found)
        if len(operations) > MAX_OPERATIONS:
            return Parsed(errors=(f"the text has over {MAX_OPERATIONS} operations",))
    if not operations and not errors and not nothing:
        errors.append("the text is empty")
    if operations and nothing:
        errors.append(f"{NO_UPDATES!r} beside operations")
    return Parsed(tuple(operations), tuple(errors))


def _line(line: str, reading: Reading) -> Operation | str | None:
    """The operation of a line, None for `No updates`, or what is wrong."""
    patterns = _BY_READING[reading]
    words = line.strip()
    if reading is Reading.LENIENT:
        words = re.sub(r"^(?:[-*]\s+|\d+[.)]\s+)", "", words)
    if patterns.nothing.fullmatch(words):
        return None
    if match := patterns.remove.fullmatch(words):
        return Operation(OperationKind.REMOVE, entity_id=int(match[1]))
    if match := patterns.add.fullmatch(words):
        return _placed(line, OperationKind.ADD, None, match.groups())
    if match := patterns.update.fullmatch(words):
        number, *rest = match.groups()
        return _placed(line, OperationKind.UPDATE, int(number), rest)
    return f"{line[:80]!r} is not an operation"


def _placed(
    line: str, kind: OperationKind, number: int | None, words: Sequence[str]
) -> Operation | str:
    u, v, description = words
    text = normal_text(description)
    if not text:
        return f"{line[:80]!r} has no description"
    return Operation(kind, entity_id=number, pixel=(float(u), float(v)), description=text)


def write(operations: Sequence[Operation]) -> str:
    """The text of operations with pixels, ids always bare; the inverse of `parse`.

    Raises:
        ValueError: for an Add or Update without pixel or description, or an id that is missing.
    """
    return "\n".join(_written(operation) for operation in operations) or NO_UPDATES


def _written(operation: Operation) -> str:
    if operation.kind is not OperationKind.ADD and operation.entity_id is None:
        raise ValueError(f"an {operation.kind} without an id")
    if operation.kind is OperationKind.REMOVE:
        return f"Remove {operation.entity_id}"
    text = normal_text(operation.description)
    if operation.pixel is None or not all(map(math.isfinite, operation.pixel)) or not text:
        raise ValueError(f"an {operation.kind} without coordinates or description")
    number = "" if operation.kind is OperationKind.ADD else f"{operation.entity_id} "
    u, v = (f"{value:.9f}".rstrip("0").rstrip(".") for value in operation.pixel)
    return f"{operation.kind.value} {number}({u}, {v}):{text}"


def to_pixel(
    coordinates: tuple[float, float], frame: CoordinateFrame, width_px: int, height_px: int
) -> tuple[float, float]:
    """Coordinates of a model as (u, v) of an image; not checked against its borders.

    `grid8` counts (column, row) and stands for the middle of the cell (EPM-2.2).
    """
    a, b = coordinates
    if frame is CoordinateFrame.GRID_8:
        return ((a + 0.5) * width_px / GRID_CELLS, (b + 0.5) * height_px / GRID_CELLS)
    if frame is CoordinateFrame.NORMALIZED:
        return (a * width_px, b * height_px)
    return (a * width_px / MODEL_IMAGE_PX, b * height_px / MODEL_IMAGE_PX)


# What a person corrects in the memory, as operations on the entity list.
#
# The list marks what comes of them as told. All of it stands in EPM's text, so that a correction
# is the same whether it comes over `/memory/edit` or is made in process.

# How far above the middle of a box its top lies is all that is known of furniture here.
_TOP = 0.5
OPENNESS_WORDS = ("open", "closed")
_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class CorrectionError(PlannerError):
    """A correction that makes no sense; its text names the field and the reason."""


def add(words: str, position_m: Vec3, name: str | None = None) -> Operation:
    """A new thing, such as `add("cup dirty", (1.0, 2.0, 0.8))`."""
    if not read_description(words).class_name:
        raise CorrectionError(f"what: {words!r} names no known object")
    if name is not None:
        _check_name(name)
    return Operation(
        OperationKind.ADD, description=words, position_m=_finite(position_m), name=name
    )


def move(entity: Entity, position_m: Vec3) -> Operation:
    """It is there; what it is on follows from the layout."""
    _movable(entity)
    text = describe(entity.class_name, _states(entity))
    return _update(entity, _put_down(entity, text), _finite(position_m))


def move_onto(entity: Entity, piece: Entity) -> Operation:
    """It is on that furniture, or within where that has no top."""
    _movable(entity)
    if not piece.is_furniture:
        raise CorrectionError(f"onto: {piece.name} is not furniture")
    x, y, z = piece.position_m
    text = describe(entity.class_name, _states(entity), "", piece.entity_id)
    top_m = z + _TOP * piece.size_m[2]
    return _update(entity, _put_down(entity, text), (x, y, top_m))


def remove(entity: Entity) -> Operation:
    """There is no such thing."""
    _movable(entity)
    return Operation(OperationKind.REMOVE, entity_id=entity.entity_id)


def rename(entity: Entity, words: str) -> Operation:
    """It is something else: `rename(cup, "mug")` calls it mug_149 and describes it so."""
    _movable(entity)
    said = read_description(words)
    if not said.class_name:
        raise CorrectionError(f"to: {words!r} names no known object")
    support = read_description(entity.description).support_id
    text = describe(said.class_name, {**_states(entity), **said.states}, "", support)
    name = f"{said.class_name}_{entity.entity_id}"
    return _update(entity, text, entity.position_m, None if name == entity.name else name)


def set_state(entity: Entity, word: str) -> Operation:
    """It is as a word of a state says, such as `dirty`; furniture also open or closed."""
    word = word.strip().lower()
    support = read_description(entity.description).support_id
    if word in OPENNESS_WORDS:
        if not entity.is_furniture:
            raise CorrectionError(
                f"state: {entity.name} is not furniture, and only furniture opens and closes"
            )
        text = describe(entity.class_name, _states(entity), word, support)
        return _update(entity, text, entity.position_m)
    table = default_states()
    words = table.by_word()
    if word not in words:
        known = ", ".join((*words, *OPENNESS_WORDS))
        raise CorrectionError(f"state: {word!r} is none of {known}")
    state = words[word][0]
    catalogue = default_catalogue()
    known_class = catalogue.object_name(entity.class_name)
    if known_class is not None and not entity.is_furniture:
        able = catalogue.objects[known_class].affordances
        if table.affordance_of[state] not in able:
            raise CorrectionError(f"state: a {entity.class_name} is never {word}")
    others = {s: v for s, v in _states(entity).items() if s != state}
    # The usual state is not written by itself, so that the word is.
    text = f"{describe(entity.class_name, others)} {word}"
    if support is not None:
        text += f" with the Object.{support}"
    return _update(entity, text, entity.position_m)


def _update(entity: Entity, text: str, position_m: Vec3, name: str | None = None) -> Operation:
    return Operation(
        OperationKind.UPDATE, entity.entity_id, description=text, position_m=position_m, name=name
    )


def _states(entity: Entity) -> Mapping[str, bool]:
    """Those that are known; of an entity that came over ROS they stand in its text."""
    return {**read_description(entity.description).states, **entity.states}


def _put_down(entity: Entity, text: str) -> str:
    return f"{text} placed" if entity.picked else text


def _movable(entity: Entity) -> None:
    if entity.is_furniture:
        raise CorrectionError(f"{entity.name} is furniture, and its position comes from the layout")


def _finite(position_m: Vec3) -> Vec3:
    for axis, value in zip("xyz", position_m, strict=True):
        if not math.isfinite(value):
            raise CorrectionError(f"at: {axis} is {value}, expected a finite number")
    return position_m


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise CorrectionError(f"name: {name!r}: expected lower-case letters, digits, _ and -")


# What a detector of persons finds, as operations on the entity list.

# A person found this near to where one is remembered is that one; the size where none is told.
SAME_PERSON_M = 1.0
_PERSON_SIZE_M = (0.5, 0.5, 1.7)


@dataclass(frozen=True, slots=True)
class FoundPerson:
    """A person as a detector tells of one.

    Attributes:
        position_m: the middle of the body, in `map`.
        size_m: of the box around it; zeros where the detector knows none.
        labels: what is seen of the person, as in messages: `posture_sitting`, `wears_red shirt`.
        track: the detector's own name for it; "" where it follows nobody.
    """

    position_m: Vec3
    size_m: Vec3 = (0.0, 0.0, 0.0)
    labels: frozenset[str] = frozenset()
    track: str = ""


class PersonTracks:
    """Tells which remembered person each found one is: by the track, or by the nearest place."""

    def __init__(self, layout: House) -> None:
        self._layout = layout
        self._ids: dict[str, int] = {}

    def operations(self, found: Iterable[FoundPerson], known: Iterable[Entity]) -> list[Operation]:
        """The edits for the persons of one message; who is not among them stays remembered."""
        left = {e.entity_id: e for e in known if e.class_name == PERSON_CLASS}
        made: list[tuple[FoundPerson, Entity | None]] = []
        for one in sorted(found, key=lambda one: one.track not in self._ids):
            entity = left.pop(self._ids.get(one.track, 0), None)
            if entity is None and left:
                near = min(left.values(), key=lambda e: math.dist(e.position_m, one.position_m))
                if math.dist(near.position_m, one.position_m) <= SAME_PERSON_M:
                    entity = left.pop(near.entity_id)
            if entity is not None and one.track:
                self._ids[one.track] = entity.entity_id
            made.append((one, entity))
        return [self._operation(*each) for each in made]

    def _operation(self, one: FoundPerson, entity: Entity | None) -> Operation:
        _, seen = take_person(PERSON_CLASS, dict.fromkeys(one.labels, True))
        before = Person() if entity is None or entity.person is None else entity.person
        # The name is what was asked for.
        person = before if seen is None else replace(seen, name=before.name)
        room = self._layout.room_at(one.position_m[0], one.position_m[1])
        size_m = one.size_m if min(one.size_m) > 0.0 else _PERSON_SIZE_M
        facts = Facts(
            PERSON_CLASS, size_m, floor_name(room) if room else None, Relation.ON, room,
            person=person,
        )  # fmt: skip
        return Operation(
            OperationKind.ADD if entity is None else OperationKind.UPDATE,
            entity_id=None if entity is None else entity.entity_id,
            description=describe(class_words(PERSON_CLASS, person)),
            position_m=one.position_m,
            facts=facts,
        )
