"""The trace of an episode: the one format that all metrics read.

A trace file is JSON lines, version 1: for each episode a line `episode`, then in any order lines
`call`, `decision`, `progress`, `move`, `hold` and `subtask`, and last a line `end`. It is written
by runs in one process and from bags (`planner.evaluation.trace_builder`); its schema is
docs/schema/trace.schema.json.

Times are simulation steps since the start of the episode, positions metres in `map`.
"""

from __future__ import annotations

import bisect
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from planner.evaluation.predicates import Variant
from planner.evaluation.progress import Mode
from planner.evaluation.task import KnownPredicate
from planner.world.errors import FileError, from_validation
from planner.world.files import parse_json, read_lines, replacing
from planner.world.vocabulary import AgentKind, Hand

TRACE_VERSION = 1
# Far more than any episode has; larger numbers come from broken files.
MAX_STEPS = 10**9
_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)

Step: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=MAX_STEPS)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class TracedProposition:
    """One proposition: its text, predicate and lists, and how many of the first are needed."""

    __pydantic_config__ = _STRICT

    text: str
    predicate: KnownPredicate
    lists: tuple[tuple[str, ...], ...]
    number: Annotated[int, Field(ge=1)] = 1


@dataclass(frozen=True, slots=True)
class TraceAgent:
    """An agent of the episode."""

    __pydantic_config__ = _STRICT

    uid: str
    kind: AgentKind


@dataclass(frozen=True, slots=True)
class Reference:
    """What a benchmark knows about the best solution; everything is optional.

    Attributes:
        actions: the ground truth's actions, as text (ET-Plan-Bench).
        most_actions: number of actions assigned to a failed episode (ET-Plan-Bench's M).
        length: number of actions that a person needed (TEACh's L*), or an estimate of it.
        subtasks: a checklist that replaces the propositions (LLaMAR's G).
        targets: groups of entities, one of each of which has to be handled; empty = those of the
            propositions.
        alike: groups of entities of which the task names the class only, so that any will do
            (ET-Plan-Bench).
    """

    __pydantic_config__ = _STRICT

    actions: tuple[str, ...] = ()
    most_actions: Annotated[int, Field(ge=1)] | None = None
    length: Annotated[int, Field(ge=1)] | None = None
    subtasks: tuple[str, ...] = ()
    targets: tuple[tuple[str, ...], ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class EpisodeLine:
    """The goal, the agents, and the rules of evaluation; `planner` "" = unknown."""

    __pydantic_config__ = _STRICT

    episode_id: str
    house: str
    agents: tuple[TraceAgent, ...]
    propositions: tuple[TracedProposition, ...]
    mode: Mode
    variant: Variant
    instruction: str = ""
    task_types: tuple[str, ...] = ()
    planner: str = ""
    seed: int = 0
    reference: Reference = field(default_factory=Reference)
    version: Literal[1] = 1
    record: Literal["episode"] = "episode"


@dataclass(frozen=True, slots=True)
class CallLine:
    """A skill call that ended; `code` 0 is success, else a `SkillCode`."""

    __pydantic_config__ = _STRICT

    agent: str
    call: str
    started_step: Step
    ended_step: Step
    code: Annotated[int, Field(ge=0)]
    text: str = ""
    record: Literal["call"] = "call"

    @property
    def succeeded(self) -> bool:
        """Whether the skill succeeded."""
        return self.code == 0


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """One model call of a planner; `model` "" = a decision of a planner without a model."""

    __pydantic_config__ = _STRICT

    step: Step
    planner: str
    agents: tuple[str, ...]
    cycle: Annotated[int, Field(ge=0)]
    model: str = ""
    prompt_tokens: Annotated[int, Field(ge=0)] = 0
    reply_tokens: Annotated[int, Field(ge=0)] = 0
    error: str = ""
    record: Literal["decision"] = "decision"


@dataclass(frozen=True, slots=True)
class ProgressLine:
    """The progress from a step on, as if the episode ended there (PARTNR-D28)."""

    __pydantic_config__ = _STRICT

    step: Step
    percent_complete: Share
    satisfied: tuple[bool, ...]
    record: Literal["progress"] = "progress"


@dataclass(frozen=True, slots=True)
class MoveLine:
    """The position of an agent from a step on."""

    __pydantic_config__ = _STRICT

    step: Step
    agent: str
    x_m: float
    y_m: float
    record: Literal["move"] = "move"


@dataclass(frozen=True, slots=True)
class HoldLine:
    """What a hand of an agent holds from a step on; "" = nothing."""

    __pydantic_config__ = _STRICT

    step: Step
    agent: str
    entity: str
    hand: Hand = Hand.RIGHT
    record: Literal["hold"] = "hold"


@dataclass(frozen=True, slots=True)
class SubtaskLine:
    """A completed entry of `Reference.subtasks`; `agent` "" = by no agent's action."""

    __pydantic_config__ = _STRICT

    step: Step
    agent: str
    index: Annotated[int, Field(ge=0)]
    record: Literal["subtask"] = "subtask"


@dataclass(frozen=True, slots=True)
class EndLine:
    """The verdict; `reason`: why the run stopped, such as done or sim_step_limit; "" = unknown.

    `criteria`: whether ET-Plan-Bench's were met, and first at which step; None if there are none.
    """

    __pydantic_config__ = _STRICT

    sim_steps: Step
    percent_complete: Share
    success: bool
    satisfied: tuple[bool, ...]
    first_steps: tuple[Step | None, ...]
    explanation: str = ""
    reason: str = ""
    criteria: bool | None = None
    criteria_step: Step | None = None
    criteria_explanation: str = ""
    record: Literal["end"] = "end"


Line: TypeAlias = (
    EpisodeLine
    | CallLine
    | DecisionLine
    | ProgressLine
    | MoveLine
    | HoldLine
    | SubtaskLine
    | EndLine
)
LINES: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="record")])


@dataclass(frozen=True)
class EpisodeTrace:
    """One episode. All tuples are in order of time."""

    episode: EpisodeLine
    end: EndLine
    calls: tuple[CallLine, ...] = ()
    decisions: tuple[DecisionLine, ...] = ()
    progress: tuple[ProgressLine, ...] = ()
    moves: tuple[MoveLine, ...] = ()
    holds: tuple[HoldLine, ...] = ()
    subtasks: tuple[SubtaskLine, ...] = ()

    @cached_property
    def _progress_steps(self) -> list[int]:
        return [line.step for line in self.progress]

    def percent_at(self, step: int) -> float:
        """Percent complete in the state of a step; 0 before the first judged one."""
        at = bisect.bisect_right(self._progress_steps, step)
        return self.progress[at - 1].percent_complete if at else 0.0

    @property
    def complete_at_start(self) -> bool:
        """Whether the goal was satisfied from the start."""
        return bool(self.progress) and self.progress[0].percent_complete == 1.0

    def lines(self) -> Iterator[Line]:
        """The lines of the file."""
        yield self.episode
        yield from self.calls
        yield from self.decisions
        yield from self.progress
        yield from self.moves
        yield from self.holds
        yield from self.subtasks
        yield self.end


def write_traces(path: Path, traces: Iterable[EpisodeTrace]) -> None:
    """Writes a trace file atomically.

    Raises:
        FileError: if the file cannot be written.
    """
    with replacing(path) as aside, aside.open("wb") as stream:
        for trace in traces:
            for line in trace.lines():
                stream.write(LINES.dump_json(line) + b"\n")


def read_traces(path: Path) -> Iterator[EpisodeTrace]:
    """Reads the episodes of a trace file.

    Raises:
        FileError: with file, line, field and reason.
    """
    started: list[Line] = []
    number = 0
    for number, line in _lines_of(path):
        if isinstance(line, EpisodeLine) != (not started):
            what = "an episode begins before the last one ended" if started else "no episode yet"
            raise FileError(path, f"line {number}", what)
        started.append(line)
        if isinstance(line, EndLine):
            yield _assembled(path, started, number)
            started = []
    if started:
        raise FileError(path, f"line {number}", "ends in the middle of an episode")


def _lines_of(path: Path) -> Iterator[tuple[int, Line]]:
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            yield number, _read_line(path, number, line)


def _read_line(path: Path, number: int, line: bytes) -> Line:
    try:
        return LINES.validate_python(parse_json(line.decode("utf-8"), path, f"line {number}"))
    except ValidationError as error:
        plain = from_validation(path, error)
        where = plain.field.partition(".")[2]
        raise FileError(path, f"line {number}{'.' if where else ''}{where}", plain.reason) from None
    except UnicodeDecodeError as error:
        raise FileError(path, "", f"cannot be read: {error}") from None


def _assembled(path: Path, lines: list[Line], number: int) -> EpisodeTrace:
    (episode,) = (line for line in lines if isinstance(line, EpisodeLine))
    (end,) = (line for line in lines if isinstance(line, EndLine))
    trace = EpisodeTrace(
        episode,
        end,
        calls=_sorted([line for line in lines if isinstance(line, CallLine)]),
        decisions=tuple(line for line in lines if isinstance(line, DecisionLine)),
        progress=tuple(line for line in lines if isinstance(line, ProgressLine)),
        moves=tuple(line for line in lines if isinstance(line, MoveLine)),
        holds=tuple(line for line in lines if isinstance(line, HoldLine)),
        subtasks=tuple(line for line in lines if isinstance(line, SubtaskLine)),
    )
    reason = _contradiction(trace)
    if reason:
        raise FileError(path, f"episode {episode.episode_id} up to line {number}", reason)
    return trace


def _sorted(calls: list[CallLine]) -> tuple[CallLine, ...]:
    return tuple(sorted(calls, key=lambda call: call.ended_step))


def _contradiction(trace: EpisodeTrace) -> str:
    """What is impossible in any run; "" if nothing is."""
    count, end = len(trace.episode.propositions), trace.end
    lengths = {
        len(end.satisfied),
        len(end.first_steps),
        *(len(p.satisfied) for p in trace.progress),
    }
    if lengths != {count}:
        return f"expected results of {count} propositions, got another number"
    if not count and end.criteria is None:
        return "there is neither a proposition nor a criterion"
    if end.success is not (all(end.satisfied) if count else end.criteria):
        return "success is not that all propositions count"
    uids = {agent.uid for agent in trace.episode.agents}
    doers = {call.agent for call in trace.calls} | {move.agent for move in trace.moves}
    doers |= {hold.agent for hold in trace.holds}
    doers |= {line.agent for line in trace.subtasks if line.agent}
    if not doers <= uids:
        return f"there is no agent {min(doers - uids)!r}"
    for name, lines in (("progress", trace.progress), ("move", trace.moves)):
        steps = [line.step for line in lines]
        if steps != sorted(steps):
            return f"the lines {name} are not in the order of their steps"
    for call in trace.calls:
        if call.started_step > call.ended_step:
            return f"the call {call.call} ends before it starts"
    if any(line.index >= len(trace.episode.reference.subtasks) for line in trace.subtasks):
        return "a subtask was done that is not on the list"
    return ""


# The JSON Schema of trace files' lines, published in docs/schema/.
#
# `python -m planner.evaluation.trace docs/schema` regenerates it.

FILE_NAME = "trace.schema.json"


def schema_text() -> str:
    """The text of the schema file."""
    schema = {"title": "One line of a trace", **LINES.json_schema()}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    (Path(sys.argv[1]) / FILE_NAME).write_text(schema_text(), encoding="utf-8")
