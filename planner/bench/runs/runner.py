"""A run from its directory to its last row: what is done already is not done again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.bench.runs.engines import Engine
from planner.bench.runs.job_queue import JobQueue, JobSource
from planner.bench.runs.manifest import Manifest, open_run
from planner.bench.runs.models import trace_path
from planner.bench.runs.rows import ROWS_NAME, Fault, Row, RowFile, newest_rows
from planner.bench.runs.suites import Job
from planner.bench.runs.worker import Outcome
from planner.episodes.episode_file import write_text
from planner.models.dialogue_file import dialogue_path
from planner.world.errors import PlannerError

# Hears each row with how many are done and how many there are to be.
OnRow = Callable[[Row, int, int], None]


@dataclass(frozen=True, slots=True)
class Done:
    """What a call of `run_jobs` did: how many it found and how many it added."""

    found: int
    added: int


def run_jobs(
    folder: Path,
    manifest: Manifest,
    jobs: Sequence[Job] | JobSource,
    engine: Engine,
    on_row: OnRow,
    *,
    retry_errors: bool = False,
) -> Done:
    """Carries out the jobs that have no row yet.

    Args:
        folder: the run's directory; made, or resumed where it has the same manifest.
        manifest: what the run is.
        jobs: all of it, or a source whose next job may depend on how others ended.
        engine: carries them out.
        on_row: gets each new row once it is on disk.
        retry_errors: whether episodes without a verdict are run again.

    Raises:
        PlannerError: if the directory is another run's, or the model's server is away.
    """
    with open_run(folder, manifest), RowFile(folder / ROWS_NAME) as rows:
        found = newest_rows(folder / ROWS_NAME)
        done = {key: row for key, row in found.items() if row.error is None or not retry_errors}
        if isinstance(jobs, Sequence):
            left: JobSource = JobQueue([job for job in jobs if job.key not in done])
            found_before = len(jobs) - left.total
        else:
            left, found_before = _Resumed(jobs, done), 0
        added = 0

        def take(outcome: Outcome) -> None:
            nonlocal added
            row = outcome.row
            before = found_before + (left.found if isinstance(left, _Resumed) else 0)
            total = max(found_before + left.total, before + added)
            if row.error is not None and row.error.fault is Fault.AWAY:
                raise PlannerError(
                    f"{row.error.text}; {before + added} of {total} episodes are done, the same "
                    "command goes on with the rest"
                )
            _keep(folder, outcome)
            rows.append(row)
            added += 1
            on_row(row, before + added, total)

        engine.run(left, take)
        if isinstance(left, _Resumed):
            found_before = left.found
        return Done(found_before, added)


def _keep(folder: Path, outcome: Outcome) -> None:
    """Writes an episode's files, before its row says that they are there."""
    if outcome.trace:
        write_text(trace_path(folder, outcome.row.trace), outcome.trace)
    if outcome.dialogue:
        write_text(dialogue_path(folder, outcome.row.trace), outcome.dialogue)


class _Resumed:
    """A source whose jobs that are done already are not given out again: it hears their rows."""

    def __init__(self, source: JobSource, done: Mapping[tuple[str, int], Row]) -> None:
        self._source, self._done = source, done
        self.found = 0

    @property
    def total(self) -> int:
        return self._source.total

    def next(self, house: str = "") -> Job | None:
        while (job := self._source.next(house)) is not None and job.key in self._done:
            self.found += 1
            self._source.note(self._done[job.key])
        return job

    def note(self, row: Row) -> None:
        self._source.note(row)
