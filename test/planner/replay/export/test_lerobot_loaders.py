"""Exports are loaded by others: by LeRobot itself (`make test-lerobot`) and by Rerun's reader."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from planner.replay.export.lerobot_dataset import DatasetOptions, write_dataset
from planner.replay.export.source import Source

pytest.importorskip("av")
pq = pytest.importorskip("pyarrow.parquet")
LEROBOT = os.environ.get("PLANNER_LEROBOT_PYTHON", "")
LOADED = Path(__file__).with_name("lerobot_loaded.py")


@pytest.fixture
def folder(tapes, tmp_path):
    sources = [Source(tapes.run("one")), Source(tapes.run("two", end_s=3.0))]
    write_dataset(sources, tmp_path / "made", DatasetOptions())
    return tmp_path / "made"


@pytest.mark.skipif(
    not LEROBOT, reason="LeRobot is in an environment of its own: make test-lerobot (5 GB)"
)
def test_lerobot_itself_loads_every_frame(folder, tapes, tmp_path) -> None:
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub")}
    done = subprocess.run(
        [LEROBOT, str(LOADED), str(folder)],
        env={**os.environ, **offline},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    tables = [
        row
        for number in (0, 1)
        for row in pq.read_table(folder / f"data/chunk-000/file-{number:03d}.parquet").to_pylist()
    ]
    assert (told["episodes"], told["frames"], told["fps"]) == (2, len(tables), 10)
    assert told["tasks"] == [tapes.instruction] * len(tables)
    assert told["calls"] == [row["skill_call"] for row in tables]
    assert told["states"] == [row["observation.state"] for row in tables]
    assert told["actions"] == [row["action"] for row in tables]
    assert told["done"] == [row["next.done"] for row in tables]
    assert told["shape"] == [3, 48, 64]
    for row, seen in zip(tables, told["shades"], strict=True):
        assert seen == pytest.approx(tapes.shade(row["frame_index"] // 2 / 5), abs=4)
    assert (
        told["subtasks"][:41]
        == [None] * 5 + ["Navigate[table_1]"] * 17 + ["Pick[cup_0]"] * 10 + ["Navigate[cup_0]"] * 9
    )
    calls = [call["function"] for calls in told["tool_calls"] for call in calls]
    assert calls[1] == {"name": "Pick", "arguments": {"object": "cup_0"}}
    assert {"observation.state", "action", "observation.images.hand"} <= set(told["stats"])
    assert "Navigate" in told["tools"]
    assert told["windows"] == {"action": [2, 6], "observation.images.hand": [2, 3, 48, 64]}


@pytest.mark.slow
def test_reruns_reader_of_lerobot_data_sets_finds_the_episodes(folder) -> None:
    rr = pytest.importorskip("rerun", reason="Rerun is not installed: the extra viewer")
    reader = rr.experimental.LeRobotReader(str(folder))
    assert reader.episodes() == [0, 1]
    rows: dict[str, int] = {}
    for chunk in reader.stream(0):
        if not chunk.is_static:
            rows[chunk.entity_path] = max(rows.get(chunk.entity_path, 0), chunk.num_rows)
    assert rows["/observation.state"] == rows["/action"] == rows["/task"] == 41
    assert rows["/language_persistent/subtask/assistant"] == 3
    assert "/observation.images.hand" in rows
