"""What nodes reported in a run, as recorded: verdicts, instructions, goals, calls.

Whatever reads a bag raises FileError if it cannot be read, or a message is of another type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from planner.evaluation.as_understood import UnderstoodGoal, WordsJudge
from planner.evaluation.perceived import TaskStart, verdict_steps
from planner.evaluation.trace_builder import DecisionRecord, TraceBuilder
from planner.replay.bag import Bag
from planner.replay.storage import fields_of
from planner.world.errors import FileError
from planner.world.memory_wire import stamp_seconds
from planner.world.skill import SkillCode, SkillResult
from planner.world.topics import InstructState
from planner.world.wire import record_of

RESULT = "/evaluation/result"
_RUNNING, _SUCCEEDED = 0, 1


@dataclass(frozen=True, slots=True)
class JudgedPart:
    """The state of one proposition; `first_step` -1 = never, `reason` "" = satisfied."""

    text: str
    holds: bool
    satisfied: bool
    first_step: int
    reason: str
    detail: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The state of a task as an evaluator has it.

    Attributes:
        stamp_s: of the world's clock.
        step: simulation step of the state.
        is_final: whether it is the verdict.
        success: of the verdict; False before.
        mode: scoring rules.
        percent_complete: 0 to 1.
        criteria: "met" or "not met"; "" if the episode has none.
        sim_steps: since the instruction.
        start_s: time of the instruction, or start of a perceived task; None = unknown.
        received_ns: by the recorder; 0 = it was not recorded.
    """

    episode_id: str
    stamp_s: float
    step: int
    is_final: bool
    success: bool
    mode: str
    percent_complete: float
    propositions: tuple[JudgedPart, ...]
    criteria: str
    sim_steps: int
    explanation: str = ""
    start_s: float | None = None
    received_ns: int = 0


def recorded_judgement(content: Any, received_ns: int = 0) -> Judgement:
    """From a planner_msgs/Evaluation."""
    status = int(content.status)
    return record_of(
        Judgement,
        content,
        stamp_s=stamp_seconds(content.header.stamp),
        step=int(content.sim_step),
        is_final=status != _RUNNING,
        success=status == _SUCCEEDED,
        mode=str(content.scoring),
        propositions=tuple(record_of(JudgedPart, part) for part in content.propositions),
        criteria=_criteria_of(content),
        sim_steps=verdict_steps(content),
        start_s=_start_of(content),
        received_ns=received_ns,
    )


def live_verdicts(bag: Bag) -> list[Judgement]:
    """All verdicts of a bag, in the order of receipt."""
    found = []
    for message in bag.messages((RESULT,)):
        with fields_of(bag.folder, RESULT):
            found.append(recorded_judgement(message.content, message.received_ns))
    return found


def _start_of(content: Any) -> float | None:
    """Start of the task, from a planner_msgs/Evaluation; None = unknown."""
    start_s = float(content.start_s if hasattr(content, "start_s") else _metric(content, "start_s"))
    return start_s if math.isfinite(start_s) else None


def _criteria_of(content: Any) -> str:
    """State of an episode's criteria, from a planner_msgs/Evaluation; "" = it has none."""
    return str(content.criteria if hasattr(content, "criteria") else _metric(content, "criteria"))


def _metric(content: Any, key: str) -> str:
    """A value in an old bag, where it is text in a list."""
    missing = "nan" if key == "start_s" else ""
    return next((str(item.value) for item in content.metrics if item.key == key), missing)


# Outcomes of a run's instructions, from /instruct/status.

INSTRUCT_STATUS = "/instruct/status"


class InstructionState(StrEnum):
    """`state` of planner_msgs/InstructStatus, in that order."""

    IDLE = "idle"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class InstructionOutcome:
    """The last known state of an instruction.

    Attributes:
        id: of the action goal.
        code: result code of FollowInstruction; 0 while it runs.
        text: the result's text; "" while it runs.
    """

    id: str
    instruction: str
    agents: tuple[str, ...]
    state: InstructionState
    code: int
    text: str


def task_start_s(bag: Bag, from_ns: int) -> float | None:
    """Time of the first instruction with a goal, seconds of the world's clock; None without one.

    Args:
        bag: of the run.
        from_ns: instructions received before do not count.
    """
    start = TaskStart()
    for message in bag.messages((INSTRUCT_STATUS,)):
        with fields_of(bag.folder, INSTRUCT_STATUS):
            if message.received_ns >= from_ns:
                start.observe(message.content)
    return start.start_s


def instruction_outcomes(bag: Bag) -> tuple[InstructionOutcome, ...]:
    """All instructions of a bag, in order."""
    found: dict[str, InstructionOutcome] = {}
    for message in bag.messages((INSTRUCT_STATUS,)):
        content = message.content
        with fields_of(bag.folder, INSTRUCT_STATUS):
            state = list(InstructionState)[int(content.state)]
            outcome = record_of(InstructionOutcome, content, state=state)
        if outcome.state is not InstructionState.IDLE:
            found[outcome.id] = outcome
    return tuple(found.values())


# Goals that planners understood from words, as recorded on /instruct/status.


@dataclass(frozen=True, slots=True)
class RecordedGoal:
    """What an instruction was known to ask for, from a time of receipt on.

    Attributes:
        start_s: time of the instruction, seconds of the world's clock.
        goal: None if nothing was understood from its words, or nothing yet.
    """

    received_ns: int
    start_s: float
    goal: UnderstoodGoal | None


def recorded_goals(bag: Bag) -> list[RecordedGoal]:
    """What was understood of a bag's instructions, whenever that changed."""
    words, found = WordsJudge(), []
    for message in bag.messages((INSTRUCT_STATUS,)):
        status, before = message.content, (words.start_s, words.goal)
        with fields_of(bag.folder, INSTRUCT_STATUS):
            state = InstructState(int(status.state))
            words.instruct(
                str(status.id), stamp_seconds(status.header.stamp), state, str(status.goal)
            )
        if words.start_s is not None and (words.start_s, words.goal) != before:
            found.append(RecordedGoal(message.received_ns, words.start_s, words.goal))
    return found


def goal_at(goals: Sequence[RecordedGoal], until_ns: int | None) -> RecordedGoal | None:
    """What was understood by a time of receipt, None for the end; None if nothing was."""
    known = [goal for goal in goals if until_ns is None or goal.received_ns <= until_ns]
    return known[-1] if known and known[-1].goal is not None else None


# Calls and decisions of a bag, for a trace.

RESULTS = "/skills/results"
DECISIONS = "/planner/trace"


def add_calls(builder: TraceBuilder, bag: Bag, first_s: float, last_s: float) -> None:
    """Adds the calls and decisions between two stamps to a trace.

    A call starts when the planner's reply with it arrived; a call without a reply, such as a
    person's, when the agent became idle.
    """
    answers: dict[tuple[str, str], list[float]] = {}
    for message in bag.messages((RESULTS, DECISIONS)):
        content = message.content
        with fields_of(bag.folder, message.topic):
            stamp_s = stamp_seconds(content.header.stamp)
            if not first_s <= stamp_s <= last_s + 1e-6:
                continue
            if message.topic == RESULTS:
                agent, call = str(content.agent), str(content.call)
                code, text = int(content.code), str(content.text)
            else:
                builder.add_decision(record_of(DecisionRecord, content, stamp_s=stamp_s))
                for agent, call in zip(content.agents, content.calls, strict=False):
                    answers.setdefault((agent, call), []).append(stamp_s)
                continue
        try:
            result = SkillResult(SkillCode(code), text)
        except ValueError as error:
            raise FileError(bag.folder, RESULTS, str(error)) from None
        began = [s for s in answers.get((agent, call), ()) if s <= stamp_s]
        builder.add_call(agent, call, result, stamp_s, began[-1] if began else None)
