"""Ray on a cluster of this machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from planner.bench.runs.engines import NEEDS_EXTRA, RayEngine
from planner.bench.runs.manifest import find_suite, jobs_of, new_manifest
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.world.errors import PlannerError

SETTINGS = RunSettings(planner="heuristic_expert", memory=MemoryKind.FULL, agents=1)
HAS_RAY = importlib.util.find_spec("ray") is not None


@pytest.mark.slow
@pytest.mark.skipif(not HAS_RAY, reason="ray is not installed: pip install -e '.[ray]'")
def test_a_local_cluster_runs_a_suite(tmp_path: Path) -> None:
    suite = find_suite("desk_tidy_0")
    jobs = jobs_of(suite, 3, 0)
    manifest = new_manifest("desk_tidy_0", suite, 3, SETTINGS)
    run_jobs(tmp_path, manifest, jobs, RayEngine(SETTINGS, 2), lambda row, count, of: None)
    rows = newest_rows(tmp_path / ROWS_NAME)
    assert {job.key for job in jobs} == set(rows)
    assert all(row.verdict is not None and row.verdict.success for row in rows.values())


@pytest.mark.skipif(HAS_RAY, reason="ray is installed")
def test_without_ray_the_extra_is_named() -> None:
    with pytest.raises(PlannerError, match="needs the extra `ray`") as caught:
        RayEngine(SETTINGS, 2)
    assert str(caught.value) == NEEDS_EXTRA
