"""Runs or resumes the jobs of a run directory, also the roll-outs of a policy that learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.bench.runs.engines import Engine, JobQueue, JobSource
from planner.bench.runs.manifest import (
    TRACES_NAME,
    Job,
    Manifest,
    SuiteEpisode,
    new_manifest,
    open_run,
    suite_digest,
)
from planner.bench.runs.models import trace_path
from planner.bench.runs.rows import ROWS_NAME, Fault, Row, RowFile, newest_rows
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.worker import Outcome
from planner.episodes.episode_file import write_text
from planner.models.recorded import dialogue_path
from planner.training.improvement.sampler import Draw, Ended, Source
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


# Roll-outs of a policy that learns, through the engines of the benchmark (EPM-2.8).

# Makes the settings of a run from a policy's folder; None = the policy before all fitting.
SettingsOf = Callable[[Path | None], RunSettings]


class SourceOfJobs:
    """Gives a source's roll-outs to an engine: roll-out n of a task has n more than its seed."""

    def __init__(self, source: Source, suite: Sequence[SuiteEpisode], folder: Path) -> None:
        """`folder` is the run's, where the episodes' files will be."""
        self._source, self._folder = source, folder
        self._entries = {entry.episode_id: entry for entry in suite}
        self._ready: list[Job] = []

    @property
    def total(self) -> int:
        """As the source says."""
        return self._source.total

    def next(self, house: str = "") -> Job | None:
        """One of the roll-outs that can begin, if possible in this house, else the oldest."""
        while (draw := self._source.next()) is not None:
            self._ready.append(self._job(draw))
        if not self._ready:
            return None
        fits = (i for i, job in enumerate(self._ready) if job.house == house)
        return self._ready.pop(next(fits, 0))

    def note(self, row: Row) -> None:
        """Reports an episode; one without a verdict neither succeeded nor failed."""
        number = row.seed - self._entries[row.episode_id].seed
        trace = self._folder / TRACES_NAME / row.trace if row.trace else None
        success = None if row.verdict is None else row.verdict.success
        self._source.note(Ended(Draw(row.episode_id, number), success, trace))

    def take_back(self, rows: Mapping[tuple[str, int], Row]) -> None:
        """Reports the rows of an earlier process, as far as they are given out."""
        left: list[Job] = []
        while (job := self.next()) is not None:
            if job.key in rows:
                self.note(rows[job.key])
            else:
                left.append(job)
        self._ready = left

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to run."""
        return not self._ready and len(self._source.ended()) == self._source.total

    def _job(self, draw: Draw) -> Job:
        entry = self._entries[draw.task]
        return Job(entry.path, entry.episode_id, entry.house, entry.seed + draw.number)


class BenchRollouts:
    """`planner.training.improvement.loop.Rollouts` over episodes; each call is a run's folder."""

    def __init__(
        self,
        name: str,
        suite: Sequence[SuiteEpisode],
        settings_of: SettingsOf,
        engine_of: Callable[[RunSettings], Engine],
        on_row: Callable[[Row, int, int], None],
    ) -> None:
        """Fixes everything but the policy.

        Args:
            name: of the suite.
            suite: the episodes, whose ids are the tasks.
            settings_of: of a run with a policy.
            engine_of: runs episodes with these settings.
            on_row: called with each new row, the number of rows, and their total.
        """
        self._name, self._suite, self._settings_of = name, suite, settings_of
        self._engine_of, self._on_row = engine_of, on_row

    @property
    def identity(self) -> Mapping[str, object]:
        """The episodes, and the settings without a policy."""
        settings = self._settings_of(None).model_dump(mode="json")
        return {"suite": self._name, "digest": suite_digest(self._suite), "settings": settings}

    @property
    def tasks(self) -> tuple[str, ...]:
        """The episodes' ids."""
        return tuple(entry.episode_id for entry in self._suite)

    def run(self, policy: Path | None, source: Source, folder: Path) -> None:
        """Runs the roll-outs that have no row in the folder yet.

        Raises:
            PlannerError: if settings, policy or folder cannot be used, or an episode is refused.
        """
        jobs = SourceOfJobs(source, self._suite, folder)
        rows = newest_rows(folder / ROWS_NAME) if (folder / ROWS_NAME).exists() else {}
        if len(rows) >= source.total:
            # Nothing to run, so no model is loaded.
            jobs.take_back(rows)
            if jobs.is_over:
                return
        settings = self._settings_of(policy)
        settings.check()
        folder.parent.mkdir(parents=True, exist_ok=True)
        manifest = new_manifest(self._name, self._suite, source.total, settings)
        run_jobs(folder, manifest, jobs, self._engine_of(settings), self._on_row)
        if not jobs.is_over:
            ended = len(source.ended())
            raise PlannerError(f"{folder}: {ended} of {source.total} roll-outs ended")
