"""Ray on a cluster of this machine, and what is said of clusters that cannot start."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planner.bench.runs.engines import NEEDS_EXTRA, JobQueue, RayEngine
from planner.bench.runs.manifest import Job, find_suite, jobs_of, new_manifest
from planner.bench.runs.rows import ROWS_NAME, Fault, Row, newest_rows
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.bench.runs.worker import Outcome, failed_row
from planner.world.errors import PlannerError

SETTINGS = RunSettings(planner="heuristic_expert", memory=MemoryKind.FULL, agents=1)
HAS_RAY = importlib.util.find_spec("ray") is not None


@pytest.mark.slow
@pytest.mark.skipif(not HAS_RAY, reason="ray is not installed: pip install -e '.[ray]'")
def test_a_local_cluster_runs_a_suite(tmp_path: Path) -> None:
    suite = find_suite("desk_tidy_0")
    jobs = jobs_of(suite, 3, 0)
    manifest = new_manifest("desk_tidy_0", suite, 3, SETTINGS)
    niceness: set[int] = set()

    def on_row(row: Row, count: int, of: int) -> None:
        niceness.update(os.getpriority(os.PRIO_PROCESS, pid) for pid in _workers(os.getpid()))

    run_jobs(tmp_path, manifest, jobs, RayEngine(SETTINGS, 2), on_row)
    rows = newest_rows(tmp_path / ROWS_NAME)
    assert {job.key for job in jobs} == set(rows)
    assert all(row.verdict is not None and row.verdict.success for row in rows.values())
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert niceness == {own}, "workers get as much of a busy machine as those of a pool"


def _workers(pid: int) -> list[int]:
    """Descendants that are actors."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            name = Path(f"/proc/{child}/comm").read_text()
            found += [child] * name.startswith("ray::RayWorker") + _workers(child)
    return found


@pytest.mark.skipif(HAS_RAY, reason="ray is installed")
def test_without_ray_the_extra_is_named() -> None:
    with pytest.raises(PlannerError, match="needs the extra `ray`") as caught:
        RayEngine(SETTINGS, 2)
    assert str(caught.value) == NEEDS_EXTRA


class ActorDiedError(Exception):
    """Ray's own, where Ray is not installed."""


class PretendRay:
    """Ray, of which only the first actors start; an answer that is an exception is raised."""

    exceptions = SimpleNamespace(RayError=ActorDiedError, RayActorError=ActorDiedError)

    def __init__(self, *, starting: int, free: float, loaded: object = None) -> None:
        self._starting, self._free, self._loaded = starting, free, loaded
        self._answers: dict[object, object] = {}
        self.actors = 0

    def init(self, **_options: object) -> None:
        pass

    def shutdown(self) -> None:
        pass

    def available_resources(self) -> dict[str, float]:
        return {"CPU": self._free}

    def remote(self, **_needs: object) -> Callable[[type], SimpleNamespace]:
        return lambda kind: SimpleNamespace(remote=self._actor)

    def _actor(self, settings: RunSettings) -> SimpleNamespace:
        self.actors += 1
        starts = self.actors <= self._starting

        def play(job: Job) -> Outcome:
            return Outcome(failed_row(settings, job, Fault.REFUSED, "not played"))

        def promised(answer: object) -> object:
            token = object()
            if starts:
                self._answers[token] = answer
            return token

        return SimpleNamespace(
            load=SimpleNamespace(remote=lambda: promised(self._loaded)),
            play=SimpleNamespace(remote=lambda job: promised(play(job))),
        )

    def wait(self, tokens: Sequence[object], timeout: float | None) -> tuple[list[Any], list[Any]]:
        done = [token for token in tokens if token in self._answers][:1]
        assert done or timeout is not None, "waits for ever"
        return done, []

    def get(self, token: object) -> object:
        answer = self._answers[token]
        if isinstance(answer, Exception) and not isinstance(answer, PlannerError):
            raise answer
        return answer


def _ran(monkeypatch: pytest.MonkeyPatch, ray: PretendRay) -> list[tuple[str, int]]:
    monkeypatch.setitem(sys.modules, "ray", ray)
    taken: list[Outcome] = []
    jobs = jobs_of(find_suite("desk_tidy_0"), 4, 0)
    RayEngine(SETTINGS, 2).run(JobQueue(jobs), taken.append)
    assert [outcome.row.key for outcome in taken] == [job.key for job in jobs]
    return [outcome.row.key for outcome in taken]


def test_a_worker_that_never_starts_keeps_no_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster may have fewer processors than workers were asked for."""
    ray = PretendRay(starting=1, free=1)
    assert len(_ran(monkeypatch, ray)) == 4
    assert ray.actors == 2


@pytest.mark.parametrize(
    ("free", "why"), [(0.0, "others have all processors"), (2.0, "still load the planner")]
)
def test_a_run_without_any_worker_says_what_waits(
    monkeypatch: pytest.MonkeyPatch, free: float, why: str
) -> None:
    with pytest.raises(PlannerError, match=rf"no worker is ready after \d+ s: .*{why}"):
        _ran(monkeypatch, PretendRay(starting=0, free=free))


def test_a_worker_that_cannot_load_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    died = ActorDiedError("ModuleNotFoundError:\nno module 'planner'")
    with pytest.raises(PlannerError, match=r"before its first episode: .*no module 'planner'"):
        _ran(monkeypatch, PretendRay(starting=2, free=2, loaded=died))
    refused = PlannerError("nonsense is no address")
    with pytest.raises(PlannerError, match=r"^nonsense is no address$"):
        _ran(monkeypatch, PretendRay(starting=2, free=2, loaded=refused))
