"""A run that leaves a house keeps nothing of it, however many houses there are."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from planner.bench.runs import worker
from planner.bench.runs.engines import OneProcess
from planner.bench.runs.manifest import new_manifest
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.bench.runs.suites import find_suite, jobs_of
from planner.world.episode import Episode
from planner.world.house import House


@pytest.mark.parametrize("planner", ["expert", "heuristic_expert"])
def test_a_house_is_let_go_when_the_next_one_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: str
) -> None:
    houses: dict[str, weakref.ref[House]] = {}
    left: list[bool] = []
    load = worker.load_episode

    def loaded(path: Path) -> tuple[Episode, House]:
        gc.collect()
        left.extend(kept() is None for kept in houses.values())
        episode, house = load(path)
        houses[house.name] = weakref.ref(house)
        return episode, house

    monkeypatch.setattr(worker, "load_episode", loaded)
    suite = (*find_suite("desk_tidy_0"), *find_suite("bedside_0"))
    assert len({entry.house for entry in suite}) == 2
    settings = RunSettings(planner=planner, memory=MemoryKind.FULL, agents=1)
    jobs = jobs_of(suite, 0, 0)
    manifest = new_manifest("two", suite, 2, settings)
    run_jobs(tmp_path, manifest, jobs, OneProcess(settings), lambda row, count, of: None)
    assert left == [True]
