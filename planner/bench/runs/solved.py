"""What can be learned from solved episodes, and from which not: those of an evaluation."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.bench.runs.manifest import SuiteEpisode, find_suite
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.settings import RunSettings
from planner.models.recorded import dialogue_path, read_dialogue
from planner.planning.solved_tasks import TraceStore
from planner.training.chat_tuning import Chat, chats_of
from planner.world.errors import PlannerError
from planner.world.topics import one_line

# The shipped suite for evaluation.
HELDOUT = "heldout"
# The planner whose dialogues have EPM's format.
EPM = "react"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The instructions of the suites used for evaluation."""

    instructions: tuple[str, ...]
    _keys: frozenset[str]

    @classmethod
    def of(cls, suites: Iterable[str]) -> Evaluated:
        """The instructions of some suites and of the shipped `heldout`.

        Raises:
            PlannerError: for an unknown suite.
        """
        names = dict.fromkeys([HELDOUT, *suites])
        instructions = tuple(entry.instruction for name in names for entry in find_suite(name))
        return cls(instructions, frozenset(map(one_line, instructions)))

    def __contains__(self, instruction: str) -> bool:
        return one_line(instruction) in self._keys


@dataclass(slots=True)
class Collected:
    """What was collected from runs, and the number of skipped episodes by cause."""

    count: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def skip(self, cause: str) -> None:
        """Counts a skipped episode."""
        self.left_out[cause] = self.left_out.get(cause, 0) + 1

    def __str__(self) -> str:
        causes = "".join(f"; {count} {cause}" for cause, count in self.left_out.items())
        return f"{self.count}{causes}"


def chats_in(run: Path, evaluated: Evaluated, collected: Collected) -> Iterator[Chat]:
    """The dialogues of a run's solved episodes in EPM's format, one for each agent (EPM-2.7).

    Raises:
        PlannerError: if the run's planner has no dialogues of that format.
        FileError: for a file of the run that cannot be read.
    """
    for row in judged_rows(run, evaluated, collected):
        if row.planner != EPM:
            raise PlannerError(
                f"{run}: the dialogues of its planner {row.planner} are not EPM's; those of "
                f"{EPM} are"
            )
        if row.verdict is None or not row.verdict.success:
            collected.skip("not solved")
            continue
        made = chats_of(read_dialogue(dialogue_path(run, row.trace)), f"{run} {row.trace}")
        collected.count += len(made)
        yield from made


def judged_rows(run: Path, evaluated: Evaluated, collected: Collected) -> Iterator[Row]:
    """The judged rows of a run whose instructions are not used for evaluation.

    Raises:
        PlannerError: if the run used no model.
        FileError: for a row that cannot be read.
    """
    for row in newest_rows(run / ROWS_NAME).values():
        if row.verdict is None:
            collected.skip("without a verdict")
        elif row.instruction in evaluated:
            collected.skip("with an instruction of an evaluation")
        elif not row.cost.calls:
            raise PlannerError(f"{run}: its planner {row.planner} used no model")
        else:
            yield row


def check_store(settings: RunSettings, suite: Sequence[SuiteEpisode]) -> None:
    """Refuses to evaluate on instructions whose solutions are in the store.

    Raises:
        PlannerError: naming the first such instruction.
        FileError: for a store that cannot be read.
    """
    traces = str(settings.options.get("traces", ""))
    if not traces:
        return
    with TraceStore.existing(Path(traces)) as store:
        known = store.holding(entry.instruction for entry in suite)
    if known:
        raise PlannerError(
            f"{traces}: holds the solutions of {len(known)} instructions of this suite, "
            f"such as {known[0][:80]!r}; name the suite with --keep-out when filling the store"
        )


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments common to commands that learn from runs."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="runs' directories")
    parser.add_argument(
        "--keep-out",
        action="append",
        default=[],
        metavar="SUITE",
        help=f"whose instructions are for evaluation only, beside {HELDOUT}; repeatable",
    )
