"""Roll-outs of a policy that learns, through the engines of the benchmark (EPM-2.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from planner.bench.runs.engines import Engine
from planner.bench.runs.manifest import TRACES_NAME, new_manifest
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.suites import Job, SuiteEpisode, suite_digest
from planner.training.improvement.draws import Source
from planner.training.improvement.outcomes import Draw, Ended
from planner.world.errors import PlannerError

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
