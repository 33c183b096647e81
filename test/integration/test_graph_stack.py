"""A whole bring-up in the graph world: the memory fills without pictures, and its bag agrees."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import graph_kitchen as kitchen
import pytest
from bringup_runs import successful_run

from planner.replay.bag import Bag
from planner.replay.judging import judge
from planner.replay.replay_cli import run_through
from planner.replay.runs import Request
from planner.world.belief import OperationKind
from planner.world.errors import FileError
from planner.world.house_checks import load_house
from planner.world.memory_wire import change_record

APPLE_IN_FRIDGE = {
    "function_name": "is_inside",
    "args": {"objects": ["apple_13"], "receptacles": ["fridge_10"]},
}


def episode_file(folder: Path) -> Path:
    """A task in the kitchen, for a robot that starts in the next room."""
    graph = kitchen.written(folder)
    task = kitchen.task(load_house(graph)).model_dump(mode="json")
    task |= {
        "house": str(graph),
        "instruction": "Put the apple into the fridge.",
        "evaluation": {"propositions": [APPLE_IN_FRIDGE]},
    }
    path = folder / "task.episode.json"
    path.write_text(json.dumps(task), encoding="utf-8")
    return path


def _check_replay(bag: Path, out: Path) -> None:
    """The recorded sightings through the same memory: it learns the same."""
    given = {"bag": bag, "start": 0.0, "duration": None}
    assert run_through(Namespace(through=["memory:=privileged"], output=out, **given)) == 0
    (world,) = json.loads((out / "summary.json").read_text())["worlds"]
    seen = world["pictures"]["agent_0"]
    assert 0 < seen["looked_at"] <= seen["recorded"]
    assert world["losses"] == {}
    assert world["at_the_end"]["replayed"] == world["at_the_end"]["live"]
    assert world["at_the_end"]["replayed"]["recall"] == 1.0
    with pytest.raises(FileError, match=r"pictures of depth and colour.*/agent_0/sightings"):
        run_through(Namespace(through=["memory:=learned"], output=None, **given))


@pytest.mark.slow
def test_a_run_without_pictures_is_remembered_recorded_and_judged(tmp_path: Path) -> None:
    successful_run(
        backend="graph",
        episode=episode_file(tmp_path),
        planner="expert",
        paced="false",
        record=tmp_path / "run",
    )
    assert (tmp_path / "run" / "run.png").stat().st_size > 0
    bag = Bag(tmp_path / "run" / "bag")
    (judged,) = judge(bag.folder, Request())
    assert (judged.agrees, judged.verdict.success) == (True, True)
    assert not [topic for topic in bag.topics if "/image" in topic]
    _check_replay(bag.folder, tmp_path / "through")
    # Nothing is known of the kitchen's things before the robot is there, nor of the fridge's
    # before it is open.
    changes = [change_record(m.content) for m in bag.messages(("/memory/updates",))]
    added = [
        edit.entity.name
        for change in changes
        for edit in change.edits
        if edit.kind is OperationKind.ADD
    ]
    assert set(added[:2]) == {"bowl_12", "apple_13"}
    assert added[2:] == ["pear_14"]
