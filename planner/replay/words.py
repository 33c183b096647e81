"""Goals that planners understood from words, as recorded on /instruct/status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.evaluation.as_understood import UnderstoodGoal, WordsJudge
from planner.replay.bag import Bag
from planner.replay.fields import fields_of
from planner.replay.instructions import INSTRUCT_STATUS
from planner.world.instruct import InstructState
from planner.world.memory_wire import stamp_seconds


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
    """What was understood of a bag's instructions, whenever that changed.

    Raises:
        FileError: if the instructions cannot be read.
    """
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
