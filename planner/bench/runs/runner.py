"""A run from its directory to its last row: what is done already is not done again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.bench.runs.engines import Engine
from planner.bench.runs.manifest import Manifest, open_run
from planner.bench.runs.models import trace_path
from planner.bench.runs.rows import ROWS_NAME, Fault, Row, RowFile, newest_rows
from planner.bench.runs.suites import Job
from planner.bench.runs.worker import Outcome
from planner.episodes.episode_file import write_text
from planner.models.dialogue_file import dialogue_path
from planner.world.errors import PlannerError

# Hears each row with how many are done and how many there are to be.
Tell = Callable[[Row, int, int], None]


@dataclass(frozen=True, slots=True)
class Done:
    """What a call of `run_jobs` did: how many it found and how many it added."""

    found: int
    added: int


def run_jobs(
    folder: Path,
    manifest: Manifest,
    jobs: Sequence[Job],
    engine: Engine,
    tell: Tell,
    *,
    retry_errors: bool = False,
) -> Done:
    """Carries out the jobs that have no row yet.

    Args:
        folder: the run's directory; made, or resumed where it has the same manifest.
        manifest: what the run is.
        jobs: all of it.
        engine: carries them out.
        tell: hears each new row once it is on the disk.
        retry_errors: whether episodes without a verdict are run again.

    Raises:
        PlannerError: where the directory is another run's, or the model's server is away.
    """
    with open_run(folder, manifest), RowFile(folder / ROWS_NAME) as rows:
        found = newest_rows(folder / ROWS_NAME)
        done = {key for key, row in found.items() if row.error is None or not retry_errors}
        left = [job for job in jobs if job.key not in done]
        count = len(jobs) - len(left)
        found_before = count

        def take(outcome: Outcome) -> None:
            nonlocal count
            row = outcome.row
            if row.error is not None and row.error.fault is Fault.AWAY:
                raise PlannerError(
                    f"{row.error.text}; {count} of {len(jobs)} episodes are done, the same command "
                    "goes on with the rest"
                )
            _keep(folder, outcome)
            rows.append(row)
            count += 1
            tell(row, count, len(jobs))

        engine.run(left, take)
        return Done(found_before, count - found_before)


def _keep(folder: Path, outcome: Outcome) -> None:
    """Writes an episode's files, before its row says that they are there."""
    if outcome.trace:
        write_text(trace_path(folder, outcome.row.trace), outcome.trace)
    if outcome.dialogue:
        write_text(dialogue_path(folder, outcome.row.trace), outcome.dialogue)
