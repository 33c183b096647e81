"""Episodes of a benchmark with a model in this process: random weights, held to the grammar."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_models import HAS_TORCH, make_tiny

from planner.bench.runs.engines import OneProcess
from planner.bench.runs.manifest import find_suite, jobs_of, new_manifest
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.models.in_process import InProcessModel
from planner.models.recorded import dialogue_path, read_dialogue

pytestmark = [
    pytest.mark.skipif(not HAS_TORCH, reason="the extra `local` (torch) is not installed"),
    pytest.mark.slow,
    pytest.mark.timeout(1200),
]


@pytest.mark.parametrize(
    "planner", ["react", pytest.param("partnr_finetuned", marks=pytest.mark.needs("papers"))]
)
def test_episodes_share_batches_and_make_no_call_that_the_grammar_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planner: str
) -> None:
    made: list[InProcessModel] = []
    plain = InProcessModel.__init__

    def kept(self: InProcessModel, *args: Any, **more: Any) -> None:
        plain(self, *args, **more)
        made.append(self)

    monkeypatch.setattr(InProcessModel, "__init__", kept)
    settings = RunSettings(
        planner=planner,
        model=f"local:{make_tiny(tmp_path / 'tiny', context=16_384)}",
        model_options={"temperature": 1.0},
        memory=MemoryKind.RAYS,
        agents=1,
        most_cycles=1,
        model_deadline_s=900.0,
    )
    suite = find_suite("desk_tidy_0")
    jobs, run = jobs_of(suite, 3, 0), tmp_path / "run"
    manifest = new_manifest("desk_tidy_0", suite, 3, settings)
    run_jobs(run, manifest, jobs, OneProcess(settings, at_once=3), lambda row, count, of: None)
    rows = newest_rows(run / ROWS_NAME)
    assert len(rows) == 3
    # The first asks alone; the others wait for it together, and are answered together.
    assert max(made[0].batches) > 1
    for row in rows.values():
        assert row.verdict is not None, row.error
        assert row.verdict.end in ("planner_limit", "done")
        turns = read_dialogue(dialogue_path(run, row.trace)).turns
        assert len(turns) == row.cost.calls
        for turn in turns:
            assert turn.line.parameters["exact"] == "true", turn.line.reply
            assert turn.line.grammar
            assert all(turn.line.calls)
