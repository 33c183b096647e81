"""Runs or resumes all jobs of a run directory, skipping those with a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.bench.runs.engines import Engine
from planner.bench.runs.job_queue import JobQueue, JobSource
from planner.bench.runs.manifest import TRACES_NAME, Manifest, open_run
from planner.bench.runs.models import trace_path
from planner.bench.runs.rows import ROWS_NAME, Fault, Row, RowFile, newest_rows
from planner.bench.runs.suites import Job
from planner.bench.runs.worker import Outcome
from planner.episodes.episode_file import write_text
from planner.models.dialogue_file import dialogue_path
from planner.training.traces.folder import learnable_path
from planner.world.errors import PlannerError

# Called with each row, the number of rows, and the total number.
OnRow = Callable[[Row, int, int], None]


@dataclass(frozen=True, slots=True)
class Done:
    """The result of `run_jobs`: how many rows there were and how many it added."""

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
    """Runs the jobs that have no row yet.

    Args:
        folder: the run's directory; created, or resumed if it has the same manifest.
        manifest: the definition of the run.
        jobs: all of them, or a source whose next job may depend on outcomes.
        engine: runs them.
        on_row: called with each new row once it is on disk.
        retry_errors: whether to repeat episodes without a verdict.

    Raises:
        PlannerError: if the directory belongs to another run, or the model's server is away.
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
    """Writes an episode's files, before the row that refers to them."""
    if outcome.trace:
        write_text(trace_path(folder, outcome.row.trace), outcome.trace)
    if outcome.dialogue:
        write_text(dialogue_path(folder, outcome.row.trace), outcome.dialogue)
    if outcome.learnable:
        write_text(learnable_path(folder / TRACES_NAME / outcome.row.trace), outcome.learnable)


class _Resumed:
    """Wraps a source: jobs with a row are not returned again, but their rows are reported to it."""

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
