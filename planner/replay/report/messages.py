"""Converts messages to the records that a report needs.

A bag defines its own types, so a field may be missing or of another type: a message for which these
functions raise counts as unreadable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from planner.memory.wording import read_description
from planner.replay.live import Judgement, recorded_judgement
from planner.replay.report.document import Level, ModelCall
from planner.world.errors import FileError
from planner.world.files import parse_json
from planner.world.memory_wire import duration_of, stamp_seconds
from planner.world.wire import record_of

T = TypeVar("T")
# Raised for other types than expected: a field is missing or has another type.
MALFORMED = (AttributeError, TypeError, ValueError, LookupError, ArithmeticError)
_INSTRUCT_STATES = ("idle", "running", "waiting", "done", "failed", "canceled")
# rcl_interfaces/msg/Log.
_LOG_WARN, _LOG_ERROR = 30, 40
_REMOVE = 2


@dataclass(frozen=True, slots=True)
class Event(Generic[T]):
    """A message: time of receipt, stamp (None without one), content."""

    received_ns: int
    stamp_s: float | None
    content: T


@dataclass(frozen=True, slots=True)
class SkillEnd:
    """A skill call that ended; `took_s` None = its report does not say."""

    agent: str
    call: str
    code: int
    text: str
    took_s: float | None


@dataclass(frozen=True, slots=True)
class Entry:
    """An object in the memory."""

    name: str
    class_name: str
    x_m: float
    y_m: float
    z_m: float
    picked: bool


@dataclass(frozen=True, slots=True)
class MemoryState:
    """The memory's objects by entity id, without furniture."""

    sequence: int
    entries: Mapping[int, Entry]


@dataclass(frozen=True, slots=True)
class MemoryEdits:
    """Changes of objects: the entry after each, None for a removal."""

    sequence: int
    edits: tuple[tuple[int, Entry | None], ...]


@dataclass(frozen=True, slots=True)
class Status:
    """A diagnostic status; `level` None = OK."""

    level: Level | None
    name: str
    message: str
    hardware_id: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the log; `level` None = below a warning."""

    level: Level | None
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class InstructionState:
    """The state of an instruction; the subtasks are None for a planner that has none."""

    instruction: str
    state: str
    text: str
    question: str
    planner: str
    model: str
    house: str
    episode_id: str
    open_subtasks: tuple[str, ...] | None = None
    completed_subtasks: tuple[str, ...] = ()
    team_memory: str = ""


@dataclass(frozen=True, slots=True)
class WorldFacts:
    """The bridge's world."""

    backend: str
    house: str
    episode_id: str
    agents: tuple[str, ...]
    bodies: tuple[str, ...]
    seed: int
    version: str


def skill_end(content: Any) -> SkillEnd:
    """From planner_msgs/SkillReport."""
    duration_s = duration_of(content)
    took_s = None if duration_s is None else round(duration_s, 4)
    return record_of(SkillEnd, content, took_s=took_s)


def answer(content: Any) -> ModelCall:
    """From planner_msgs/PlannerTrace, also of a decision without a model; its time comes later."""
    return record_of(
        ModelCall,
        content,
        t_s=math.nan,
        first_token_s=_finite(content.first_token_s),
        latency_s=_finite(content.latency_s),
        role=str(getattr(content, "role", "")) or "planner",
        cost=None,
    )


def judgement(content: Any) -> Judgement:
    """From planner_msgs/Evaluation; its share is between 0 and 1, whatever the message says."""
    made = recorded_judgement(content)
    share = made.percent_complete
    share = round(min(max(share, 0.0), 1.0), 4) if math.isfinite(share) else 0.0
    return replace(made, percent_complete=share)


def memory_state(content: Any) -> MemoryState:
    """From planner_msgs/EntityList."""
    things = (entity for entity in content.entities if not entity.is_furniture)
    return MemoryState(int(content.sequence), {int(e.id): _entry(e) for e in things})


def memory_edits(content: Any) -> MemoryEdits:
    """From planner_msgs/MemoryUpdate."""
    edits: list[tuple[int, Entry | None]] = []
    for operation in content.operations:
        entity = operation.entity
        if operation.kind == _REMOVE:
            edits.append((int(entity.id), None))
        elif not entity.is_furniture:
            edits.append((int(entity.id), _entry(entity)))
    return MemoryEdits(int(content.sequence), tuple(edits))


def _entry(entity: Any) -> Entry:
    at = entity.position
    place = (float(at.x), float(at.y), float(at.z))
    if not all(map(math.isfinite, place)):
        raise ValueError(f"the place of {entity.name} is not a number")
    class_name = read_description(str(entity.description)).class_name
    return Entry(str(entity.name), class_name, *place, bool(entity.picked))


def statuses(content: Any) -> tuple[Status, ...]:
    """From diagnostic_msgs/DiagnosticArray."""
    return tuple(status(item) for item in content.status)


def status(content: Any) -> Status:
    """From diagnostic_msgs/DiagnosticStatus; stale counts as an error."""
    level = content.level
    number = level[0] if isinstance(level, bytes) else int(level)
    bad = Level.WARNING if number == 1 else Level.ERROR
    return record_of(Status, content, level=bad if number else None, values=_pairs(content.values))


def log_line(content: Any) -> LogLine:
    """From rcl_interfaces/Log."""
    number = int(content.level)
    bad = Level.ERROR if number >= _LOG_ERROR else Level.WARNING
    return LogLine(bad if number >= _LOG_WARN else None, str(content.name), str(content.msg))


def instruction_state(content: Any) -> InstructionState:
    """From planner_msgs/InstructStatus."""
    number = int(content.state)
    known = number < len(_INSTRUCT_STATES)
    # Older bags have no evidence.
    told = {str(item.key): str(item.value) for item in getattr(content, "evidence", ())}
    return record_of(
        InstructionState,
        content,
        state=_INSTRUCT_STATES[number] if known else f"state {number}",
        open_subtasks=_listed(told["open_subtasks"]) if "open_subtasks" in told else None,
        completed_subtasks=_listed(told.get("completed_subtasks", "[]")),
        team_memory=told.get("team_memory", ""),
    )


def _listed(text: str) -> tuple[str, ...]:
    """The texts of a JSON list.

    Raises:
        ValueError: if it is anything else.
    """
    try:
        found = parse_json(text, "")
    except FileError as error:
        raise ValueError(error.reason) from None
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise ValueError(f"expected a list of texts, got {text[:40]!r}")
    return tuple(found)


def world_facts(content: Any) -> WorldFacts:
    """From planner_msgs/WorldInfo."""
    return record_of(WorldFacts, content)


def read_event(read: Callable[[Any], T], received_ns: int, content: Any) -> Event[T]:
    """A message with its stamp, converted by `read`."""
    stamped = getattr(content, "header", content)
    stamp = getattr(stamped, "stamp", None)
    return Event(received_ns, None if stamp is None else stamp_seconds(stamp), read(content))


def _pairs(values: Sequence[Any]) -> dict[str, str]:
    return {str(item.key): str(item.value) for item in values}


def _finite(value: Any) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return round(number, 4) if math.isfinite(number) else None
