"""The examples of prompts, from the program memory (HELPER-2.2)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import finalize

from planner.planning.helper.program_memory import Nearest, ProgramMemory
from planner.planning.helper.program_record import RecordKind
from planner.planning.helper.prompts import Example

if TYPE_CHECKING:
    from planner.world.embedding import Embedder


class Examples:
    """Finds the examples for one task.

    Attributes:
        memory: closed with this object.
        shown: the ids of the records of the last prompt, for the trace.
    """

    def __init__(self, memory: ProgramMemory, count: int) -> None:
        """`count`: examples of a prompt; 0 = none."""
        self.memory, self._count = memory, count
        self.shown: tuple[int, ...] = ()
        finalize(self, memory.close)

    def of(self, dialogue: str, kind: RecordKind, failure: str = "") -> tuple[Example, ...]:
        """The nearest ones first.

        Args:
            dialogue: what was said.
            kind: plans or corrections, of which only one kind is returned.
            failure: the sentence of a failure, for corrections.

        Raises:
            FileError: if the file of the memory cannot be read.
        """
        found: Nearest = ()
        if self._count:
            found = self.memory.nearest(dialogue, kind, self._count, failure=failure)
        self.shown = tuple(record.id for _, record in found)
        return tuple(Example(r.key, r.program, r.failure) for _, r in found)


def open_memory(path: str, encoder: str, *, fixed: bool = False) -> ProgramMemory:
    """The memory of an option's texts; without a path it has the shipped examples only.

    Raises:
        FileError: for a file that is not a program memory.
        PlannerError: for a folder that is not an encoder.
    """
    embedder = _encoder(Path(encoder)) if encoder else None
    return ProgramMemory.open(Path(path) if path else None, embedder, fixed=fixed)


@lru_cache(maxsize=1)
def _encoder(folder: Path) -> Embedder:
    """Cached: every task needs it, and loading takes longer than encoding."""
    from planner.world.embedding import SentenceEncoder

    return SentenceEncoder(folder)
