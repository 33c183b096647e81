"""Episodes run in one process on any simulator in the catalog of backends."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planner.app.embedded_run import usual_backend
from planner.bench.runs.settings import RunSettings
from planner.cli import main
from planner.episodes.episode_file import write_episode
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House, write_house
from sim_bridge.backend import BACKENDS

GOAL = {
    "propositions": [
        {
            "function_name": "is_on_top",
            "args": {"objects": ["cup_0"], "receptacles": ["table_1", "couch_0"]},
        }
    ]
}


@pytest.fixture
def episode(tmp_path: Path, small_house: House, small_episode: Episode) -> Path:
    folder = tmp_path / "episodes"
    (folder / "houses").mkdir(parents=True)
    write_house(small_house, folder / "houses" / f"{small_house.name}.json")
    return write_episode(small_episode.model_copy(update={"evaluation": GOAL}), folder)


def test_a_house_is_run_in_the_backend_that_says_it_is_its_own(
    small_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert usual_backend(small_house) == "embedded"
    part = replace(BACKENDS.get("graph"), own_houses=lambda: (small_house.name,))
    monkeypatch.setitem(BACKENDS._loaded, "graph", part)
    assert usual_backend(small_house) == "graph"
    assert usual_backend(small_house.model_copy(update={"name": "other"})) == "embedded"


def test_what_is_no_simulator_is_refused(
    episode: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bench", str(episode), "--backend", "external", "--out", str(tmp_path / "run")]
    assert main(words) == 2
    assert "external is not a simulator that runs in one process" in capsys.readouterr().err
    assert main(["train", "memory-data", str(tmp_path / "data"), "--backend", "graph"]) == 2
    assert "expected a simulator with pictures" in capsys.readouterr().err
    with pytest.raises(PlannerError, match="name it with --backend"):
        RunSettings(backend_config="x.yaml").check()
