"""What lint passes runs: no episode without an error of lint is a row `crash` of a bench."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.bench.runs.manifest import find_suite, jobs_of
from planner.bench.runs.models import Models
from planner.bench.runs.rows import Fault, Row
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.worker import EpisodeWorker
from planner.episodes.lint.linting import Linter
from planner.episodes.recipes.build import shipped_episodes

PATHS = {path.stem: path for path in shipped_episodes()}
SOUND = [json.loads(PATHS[name].read_text("utf-8")) for name in ("coffee_time_0", "desk_tidy_0")]
LINTER = Linter()
SETTINGS = RunSettings(planner="expert")

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.floats(-3, 3),
    st.sampled_from([2**63 - 1, 2**63, -(10**400), 1e308, 5e-324]),
    st.sampled_from(
        ["cup_0", "table_0", "kitchen_0", "agent_1", "x" * 300, "../x", "\0", "\ud800"]
    ),
    st.text(max_size=8),
    st.lists(st.sampled_from(["cup_0", "bed_0", "kitchen_0"]), max_size=3),
)


def _paths(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in a document."""
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, item in items:
        yield from _paths(item, (*at, key))


@st.composite
def _spoiled(draw: st.DrawFn) -> Any:
    """A sound episode of which one part is gone, another, somewhat larger, or there twice."""
    document = copy.deepcopy(draw(st.sampled_from(SOUND)))
    *way, last = draw(st.sampled_from(sorted(_paths(document), key=str)))
    holder: Any = document
    for key in way:
        holder = holder[key]
    kind = draw(st.sampled_from(["scale", "scale", "other", "gone", "twice"]))
    if kind == "scale" and isinstance(holder[last], int | float):
        holder[last] *= draw(st.sampled_from([1.001, 0.9, 2, -1]))
    elif kind == "gone":
        del holder[last]
    elif kind == "twice" and isinstance(holder, list):
        holder.insert(last, copy.deepcopy(draw(st.sampled_from(holder))))
    else:
        holder[last] = draw(VALUES)
    return document


def _row(path: Path) -> Row:
    """What a bench without options writes about the only episode of a file."""
    (job,) = jobs_of(find_suite(str(path)), 0, 0)
    worker = EpisodeWorker(SETTINGS, Models(SETTINGS))
    outcome = asyncio.run(worker.play(job))
    worker.close()
    outcome.trace.encode("utf-8")
    outcome.row.model_dump_json().encode("utf-8")
    return outcome.row


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(document=_spoiled())
def test_what_lint_passes_has_a_verdict(document: object, tmp_path: Path) -> None:
    path = tmp_path / "episode.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    if LINTER.lint(path).errors:
        return
    error = _row(path).error
    assert error is None or error.fault is not Fault.CRASH, error


@pytest.mark.parametrize("seed", [0, 2**63 - 1])
def test_the_smallest_and_the_largest_seed_run(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "episode.json"
    path.write_text(json.dumps({**SOUND[1], "seed": seed}), encoding="utf-8")
    assert LINTER.lint(path).errors == 0
    row = _row(path)
    assert row.error is None
    assert row.seed == seed


def test_after_the_largest_seed_comes_the_smallest(tmp_path: Path) -> None:
    path = tmp_path / "episode.json"
    path.write_text(json.dumps({**SOUND[1], "seed": 2**63 - 1}), encoding="utf-8")
    seeds = [job.seed for job in jobs_of(find_suite(str(path)), 3, 0)]
    assert sorted(seeds) == [0, 1, 2**63 - 1]


@pytest.mark.parametrize(("extent", "is_sound"), [(5e-324, False), (1e-4, True)])
def test_the_thinnest_thing_runs_or_is_an_error(
    extent: float, is_sound: bool, tmp_path: Path
) -> None:
    document = copy.deepcopy(next(each for each in SOUND if each["objects"]))
    document["objects"][0]["size_m"][0] = extent
    path = tmp_path / "episode.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert (LINTER.lint(path).errors == 0) == is_sound
    if is_sound:
        assert _row(path).error is None
