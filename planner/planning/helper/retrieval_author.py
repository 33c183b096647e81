"""The author without a model: the nearest remembered program, as it is asked for (HELPER-D50)."""

from __future__ import annotations

from collections.abc import Mapping
from weakref import finalize

from planner.planning.helper.author import FailedStatement
from planner.planning.helper.program_memory import ProgramMemory
from planner.planning.helper.rebinding import Unbound, nearest_rebound
from planner.planning.planner import Context
from planner.planning.programs.program import Program


class RetrievalAuthor:
    """A `planner.planning.helper.author.ProgramAuthor`; repairs and locates nothing."""

    def __init__(self, memory: ProgramMemory) -> None:
        """Takes a memory, which is closed with this object."""
        self._memory = memory
        self._problem = ""
        self._source = ""
        self._changes: tuple[str, ...] = ()
        finalize(self, memory.close)

    @property
    def problem(self) -> str:
        """Why no program fits; "" = one does."""
        return self._problem

    @property
    def evidence(self) -> Mapping[str, str]:
        """The id of the record, and what was changed in its program."""
        return {"examples": self._source, "changes": "; ".join(self._changes)}

    async def program(self, dialogue: str, context: Context) -> Program | None:  # noqa: ARG002
        """The nearest program that can be made to fit; None if none can.

        Raises:
            FileError: if the file of the memory cannot be read.
        """
        found = nearest_rebound(self._memory, dialogue)
        if isinstance(found, Unbound):
            self._problem = found.reason
            return None
        self._problem, self._source = "", str(found.record.id)
        self._changes = found.changes
        return found.program

    async def repair(
        self,
        failure: FailedStatement,  # noqa: ARG002
        dialogue: str,  # noqa: ARG002
        context: Context,  # noqa: ARG002
    ) -> Program | None:
        """None: without a model nothing is repaired."""
        return None

    async def places(
        self,
        target: str,  # noqa: ARG002
        dialogue: str,  # noqa: ARG002
        context: Context,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """None: without a model things are looked for anywhere."""
        return ()
