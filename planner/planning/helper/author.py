"""Who writes programs, repairs them, and says near what things may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from planner.planning.planner import Context
from planner.planning.programs.program import Method, Program
from planner.world.record import record
from planner.world.skill import SkillCode


@record
class FailedStatement:
    """A statement that failed.

    Attributes:
        agent: the robot's name.
        statement: its text.
        method: of the object; None where the robot itself should have moved.
        code: of the skill that failed.
        text: its words, as the skill's result has them.
    """

    agent: str
    statement: str
    method: Method | None
    code: SkillCode
    text: str


class ProgramAuthor(Protocol):
    """Writes for one task: a language model, or the memory alone."""

    async def program(self, dialogue: str, context: Context) -> Program | None:
        """The program for a dialogue; None if there is none, and `problem` says why.

        Raises:
            ModelError: if a model gives no reply.
        """

    async def repair(
        self, failure: FailedStatement, dialogue: str, context: Context
    ) -> Program | None:
        """What overcomes a failure; None if nothing is known to.

        Raises:
            ModelError: if a model gives no reply.
        """

    async def places(self, target: str, dialogue: str, context: Context) -> tuple[str, ...]:
        """Categories near which a thing may be, the likeliest first; may be empty.

        Raises:
            ModelError: if a model gives no reply.
        """

    @property
    def problem(self) -> str:
        """Why there was no program last; "" = there was."""

    @property
    def evidence(self) -> Mapping[str, str]:
        """What the task's result says of it."""
