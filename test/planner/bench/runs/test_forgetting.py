"""A run that leaves a house keeps nothing of it, however many houses there are."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.bench.runs import models, worker
from planner.bench.runs.engines import OneProcess
from planner.bench.runs.manifest import find_suite, jobs_of, new_manifest
from planner.bench.runs.models import Models
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.world.episode import Episode
from planner.world.house import House


@pytest.fixture(autouse=True)
def garbage_is_collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As outside tests (test/conftest.py)."""
    monkeypatch.setattr(models, "gc", gc)
    yield
    gc.freeze()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planner", "episodes", "expected"),
    [
        ("expert", 2, [True]),
        ("heuristic_expert", 2, [True]),
        # The first house is there in its second episode, and in neither of the other's.
        pytest.param("heuristic_expert", 4, [False, True, True, False], marks=pytest.mark.slow),
    ],
)
def test_a_house_is_let_go_when_the_next_one_begins(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    planner: str,
    episodes: int,
    expected: list[bool],
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
    jobs = jobs_of(suite, episodes, 0)
    manifest = new_manifest("two", suite, episodes, settings)
    run_jobs(tmp_path, manifest, jobs, OneProcess(settings), lambda row, count, of: None)
    assert left == expected


@pytest.mark.slow
def test_several_episodes_of_a_house_keep_it_out_of_garbage_collections() -> None:
    """Else it is looked through again and again, which is a fifth of the time of short ones."""
    frozen: list[int] = []
    settings = RunSettings(planner="heuristic_expert", memory=MemoryKind.FULL, agents=1)
    played = worker.EpisodeWorker(settings, Models(settings))
    gc.unfreeze()
    for job in jobs_of((*find_suite("desk_tidy_0"), *find_suite("bedside_0")), 4, 0):
        asyncio.run(played.play(job))
        frozen.append(gc.get_freeze_count())
    assert [count > 0 for count in frozen] == [False, True, False, True]
    played.close()
    assert gc.get_freeze_count() == 0
