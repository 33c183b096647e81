"""Reads PARTNR's instruction files: lists of instructions with their initial states.

An entry that cannot be understood is a `Fault` that names the file, the entry and the field; the
other entries are still read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from planner.episodes.importing.importer import Fault
from planner.world.errors import FileError
from planner.world.files import parse_model, read_document
from planner.world.states import default_states

MAX_OBJECTS = 50
MAX_WORDS_CHARACTERS = 4000

Count = Annotated[int, Field(ge=1, le=MAX_OBJECTS)]
Word = Annotated[str, Field(min_length=1, max_length=100)]
Words = Annotated[tuple[Word, ...], Field(max_length=100)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,80}$")]


def _state_word(word: str) -> str:
    known = default_states().predicates
    if word not in known:
        raise ValueError(f"unknown state {word!r}; expected one of {', '.join(known)}")
    return word


StateWord = Annotated[str, AfterValidator(_state_word)]


@dataclass(frozen=True, slots=True)
class Things:
    """`number` objects of these classes on any of these pieces of furniture."""

    number: int
    object_classes: tuple[str, ...]
    furniture_names: tuple[str, ...]
    regions: tuple[str, ...]
    states: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clutter:
    """`number` objects that the task does not need, of any class but the excluded ones."""

    number: int
    excluded_classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FurnitureStates:
    """Initial states of furniture, by name or by class.

    Attributes:
        names: of single pieces.
        classes: all pieces of these, unless `number` says how many.
        regions: names or classes of their rooms; empty = any.
        number: the smallest and largest number of pieces; None = all.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    regions: tuple[str, ...]
    number: tuple[int, int] | None
    states: dict[str, bool]


@dataclass(frozen=True, slots=True)
class Entry:
    """One instruction of a file with its initial state.

    `not_taken` lists what has no meaning here.
    """

    file: str
    scene_id: str
    episode_id: str
    instruction: str
    things: tuple[Things, ...]
    clutter: tuple[Clutter, ...]
    furniture: tuple[FurnitureStates, ...] = ()
    not_taken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """The content of a file: the readable entries and the reason for each of the others."""

    entries: tuple[Entry, ...]
    faults: tuple[Fault, ...]


class _Foreign(BaseModel):
    # Unknown fields are reported, but known ones are still used.
    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    def unknown(self, field: str) -> tuple[str, ...]:
        """A sentence for each unknown field of the record at `field`."""
        names = sorted(self.model_extra or {})
        return tuple(f"the field {field + name[:60]!r} is not known" for name in names)


class _Record(_Foreign):
    """A record of `initial_state`; the second half of the fields is for clutter."""

    number: Count
    furniture_names: Words = ()
    object_classes: Words = ()
    allowed_regions: Words = ()
    object_states: dict[StateWord, bool] = Field(default_factory=dict)
    name: str | None = None
    common_sense_object_classes: bool = False
    exclude_existing_objects: bool = False
    excluded_object_classes: Words = ()
    location: Literal["on", "within"] = "on"

    @model_validator(mode="after")
    def _says_what_and_where(self) -> _Record:
        if self.common_sense_object_classes:
            return self
        if not self.object_classes:
            raise ValueError("object_classes is empty and the record is not clutter")
        if not self.furniture_names:
            raise ValueError("furniture_names is empty and the record is not clutter")
        return self


class _FurnitureRecord(_Foreign):
    """A record of `initial_furniture_state`; without `number` it means all matching pieces."""

    furniture_names: Words = ()
    furniture_classes: Words = ()
    allowed_regions: Words = ()
    number: Count | tuple[Count, Count] | None = None
    object_states: Annotated[dict[StateWord, bool], Field(min_length=1)]
    name: str | None = None

    @model_validator(mode="after")
    def _says_which(self) -> _FurnitureRecord:
        if not (self.furniture_names or self.furniture_classes):
            raise ValueError("expected furniture_names or furniture_classes, got neither")
        return self


class _Instruction(_Foreign):
    instruction: Annotated[str, Field(min_length=1, max_length=MAX_WORDS_CHARACTERS)]
    initial_state: Annotated[tuple[_Record, ...], Field(max_length=100)] = ()
    initial_furniture_state: Annotated[tuple[_FurnitureRecord, ...], Field(max_length=100)] = ()
    scene_id: Identifier
    episode_id: Annotated[int, Field(ge=0)] | Identifier

    @model_validator(mode="after")
    def _has_a_start(self) -> _Instruction:
        if not (self.initial_state or self.initial_furniture_state):
            raise ValueError("expected initial_state or initial_furniture_state, got neither")
        return self

    @property
    def all_unknown(self) -> tuple[str, ...]:
        """A sentence for each unknown field of it and its records."""
        found = list(self.unknown(""))
        for key in ("initial_state", "initial_furniture_state"):
            for i, record in enumerate(getattr(self, key)):
                found += record.unknown(f"{key}.{i}.")
        return tuple(found)


def read_instructions(path: Path) -> InstructionFile:
    """Reads one of PARTNR's instruction files.

    Raises:
        FileError: if the file is not a JSON list; a single bad entry is a `Fault`.
    """
    document = read_document(path)
    if not isinstance(document, list):
        raise FileError(path, "", "is not a list of instructions")
    entries: list[Entry] = []
    faults: list[Fault] = []
    seen: set[str] = set()
    for index, item in enumerate(document):
        try:
            entry = _entry(path, index, item)
            if entry.episode_id in seen:
                raise FileError(path, f"{index}.episode_id", f"{entry.episode_id} is used twice")
        except FileError as error:
            faults.append(Fault(path.name, _id_of(item, index), f"{error.field}: {error.reason}"))
            continue
        seen.add(entry.episode_id)
        entries.append(entry)
    return InstructionFile(tuple(entries), tuple(faults))


def _entry(path: Path, index: int, item: object) -> Entry:
    try:
        raw = parse_model(item, _Instruction, path)
    except FileError as error:
        raise FileError(path, f"{index}.{error.field}", error.reason) from None
    return Entry(
        file=path.name,
        scene_id=raw.scene_id,
        episode_id=str(raw.episode_id),
        instruction=" ".join(raw.instruction.split()),
        things=tuple(_things(r) for r in raw.initial_state if not r.common_sense_object_classes),
        clutter=tuple(
            Clutter(r.number, r.excluded_object_classes)
            for r in raw.initial_state
            if r.common_sense_object_classes
        ),
        furniture=tuple(_furniture_states(r) for r in raw.initial_furniture_state),
        not_taken=raw.all_unknown,
    )


def _things(record: _Record) -> Things:
    return Things(
        record.number,
        record.object_classes,
        record.furniture_names,
        record.allowed_regions,
        _states(record.object_states),
    )


def _furniture_states(record: _FurnitureRecord) -> FurnitureStates:
    number = record.number
    return FurnitureStates(
        record.furniture_names,
        record.furniture_classes,
        record.allowed_regions,
        (number, number) if isinstance(number, int) else number,
        _states(record.object_states),
    )


def _states(words: Mapping[StateWord, bool]) -> dict[str, bool]:
    return {
        state: value == affirmed
        for word, value in words.items()
        for state, affirmed in [default_states().predicates[word]]
    }


def _id_of(item: object, index: int) -> str:
    """The id for reporting a bad entry: its own if it has one, otherwise its index."""
    found = item.get("episode_id") if isinstance(item, dict) else None
    return str(found)[:80] if isinstance(found, int | str) else f"entry {index}"
