"""Outcomes of a run's instructions, from /instruct/status."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.evaluation.task_start import TaskStart
from planner.replay.bag import Bag
from planner.replay.fields import fields_of

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

    Raises:
        FileError: if the instructions cannot be read.
    """
    start = TaskStart()
    for message in bag.messages((INSTRUCT_STATUS,)):
        with fields_of(bag.folder, INSTRUCT_STATUS):
            if message.received_ns >= from_ns:
                start.observe(message.content)
    return start.start_s


def instruction_outcomes(bag: Bag) -> tuple[InstructionOutcome, ...]:
    """All instructions of a bag, in order.

    Raises:
        FileError: if they cannot be read.
    """
    found: dict[str, InstructionOutcome] = {}
    for message in bag.messages((INSTRUCT_STATUS,)):
        content = message.content
        with fields_of(bag.folder, INSTRUCT_STATUS):
            outcome = InstructionOutcome(
                str(content.id),
                str(content.instruction),
                tuple(str(agent) for agent in content.agents),
                list(InstructionState)[int(content.state)],
                int(content.code),
                str(content.text),
            )
        if outcome.state is not InstructionState.IDLE:
            found[outcome.id] = outcome
    return tuple(found.values())
