"""The arguments of `planner instruct`, and how an instruction ended. No ROS here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from planner.exit_status import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from planner.world.instruct import InstructionCode


@dataclass(frozen=True, slots=True)
class InstructRequest:
    """One instruction to running nodes.

    Attributes:
        agents: agents to use; empty = all.
        answers: to the planner's questions, in turn.
        max_calls: planner calls allowed; 0 = the planner's default.
        timeout_s: wall seconds after which it is canceled; 0 = never.
        wait_s: wall seconds until a task planner has to answer.
        simulated_person: whether questions are answered from the evaluator's progress once
            `answers` are used up.
        interactive: whether to prompt on the terminal once `answers` are used up.
        namespace: of the stack.
    """

    instruction: str
    agents: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    max_calls: int = 0
    timeout_s: float = 0.0
    wait_s: float = 10.0
    simulated_person: bool = False
    interactive: bool = False
    namespace: str = "/"


class CancelReason(StrEnum):
    """Why this client canceled its instruction."""

    INTERRUPT = "interrupted"
    TIMEOUT = "the time is over"


@dataclass(frozen=True, slots=True)
class InstructionEnd:
    """How an instruction ended; `stopped` if this client canceled it."""

    code: int
    text: str
    question: str = ""
    evidence: Mapping[str, str] = field(default_factory=dict)
    stopped: CancelReason | None = None

    @property
    def exit_status(self) -> int:
        """0 if it was done, 130 if the user interrupted it, else 1."""
        if self.code == InstructionCode.DONE:
            return EXIT_OK
        return EXIT_INTERRUPTED if self.stopped is CancelReason.INTERRUPT else EXIT_FAILED
