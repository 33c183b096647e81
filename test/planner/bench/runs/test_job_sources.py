"""A source whose next job depends on how the last one ended, in every engine."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from planner.bench.runs.engines import Engine, OneProcess, ProcessPool
from planner.bench.runs.manifest import Job, find_suite, jobs_of, new_manifest
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.settings import MemoryKind, RunSettings

SETTINGS = RunSettings(planner="heuristic_expert", memory=MemoryKind.FULL, agents=1)
SUITE = find_suite("desk_tidy_0")
(FIRST,) = jobs_of(SUITE, 1, 0)
HAS_RAY = importlib.util.find_spec("ray") is not None


@dataclass
class Halving:
    """Finds the smallest seed that is `big`, by halving the interval after each verdict."""

    big: int
    low: int = 0
    high: int = 16
    asked: list[int] = field(default_factory=list)
    waits: bool = False

    @property
    def total(self) -> int:
        return len(self.asked) + (self.high - self.low > 1)

    def next(self, house: str = "") -> Job | None:
        if self.waits or self.high - self.low <= 1:
            return None
        self.waits = True
        self.asked.append((self.low + self.high) // 2)
        return replace(FIRST, seed=self.asked[-1])

    def note(self, row: Row) -> None:
        assert row.verdict is not None, row.error
        assert row.seed == self.asked[-1]
        self.waits = False
        if row.verdict.success and row.seed >= self.big:
            self.high = row.seed
        else:
            self.low = row.seed


def _ray(settings: RunSettings) -> Engine:
    from planner.bench.runs.engines import RayEngine

    return RayEngine(settings, 2)


ENGINES = [
    pytest.param(OneProcess, id="one_process"),
    pytest.param(lambda settings: OneProcess(settings, at_once=3), id="in_turns"),
    # Each of its processes loads everything anew.
    pytest.param(lambda settings: ProcessPool(settings, 2), id="pool", marks=pytest.mark.slow),
    pytest.param(
        _ray,
        id="ray",
        marks=pytest.mark.skipif(not HAS_RAY, reason="ray is not installed: extra ray"),
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_an_interval_is_halved(tmp_path: Path, engine: Callable[[RunSettings], Engine]) -> None:
    manifest = new_manifest("desk_tidy_0", SUITE, 1, SETTINGS)
    source = Halving(big=6)
    told: list[tuple[int, int]] = []

    def on_progress(row: Row, count: int, of: int) -> None:
        told.append((count, of))

    done = run_jobs(tmp_path, manifest, source, engine(SETTINGS), on_progress)
    assert source.asked == [8, 4, 6, 5]
    assert (source.low, source.high) == (5, 6)
    assert (done.found, done.added) == (0, 4)
    assert [count for count, _ in told] == [1, 2, 3, 4]
    assert {seed for _, seed in newest_rows(tmp_path / ROWS_NAME)} == {4, 5, 6, 8}


def test_a_source_hears_again_what_was_done_before(tmp_path: Path) -> None:
    manifest = new_manifest("desk_tidy_0", SUITE, 1, SETTINGS)
    run_jobs(tmp_path, manifest, Halving(big=6), OneProcess(SETTINGS), lambda row, count, of: None)
    again = Halving(big=5)
    done = run_jobs(tmp_path, manifest, again, OneProcess(SETTINGS), lambda row, count, of: None)
    assert again.asked == [8, 4, 6, 5]
    assert (again.low, again.high) == (4, 5)
    assert (done.found, done.added) == (4, 0)
