"""Episodes run in one process on any simulator in the catalog of backends."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from planner.app.embedded_run import prepare_run, usual_backend
from planner.app.run_options import RunOptions
from planner.bench.runs.settings import RunSettings
from planner.cli import main
from planner.commands.episodes import solve_with_expert
from planner.episodes.episode_file import write_episode
from planner.planning.expert.expert import Expert
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House, write_house
from planner.world.observation import Observation
from sim_bridge.backend import Backend
from sim_bridge.habitat.backend import HabitatBackend
from sim_bridge.habitat.options import HabitatOptions
from sim_bridge.part import BACKENDS, make_backend

STAND_IN = Path(__file__).parents[2] / "sim_bridge" / "habitat" / "stand_in.py"
GOAL = {
    "propositions": [
        {
            "function_name": "is_on_top",
            "args": {"objects": ["cup_0"], "receptacles": ["table_1", "couch_0"]},
        }
    ]
}


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """Of a Habitat backend whose interpreter runs the stand-in, whatever it is told to run."""
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$2" "$3"\n', encoding="utf-8")
    program.chmod(0o755)
    path = tmp_path / "habitat.yaml"
    text = f"version: 1\npython: {program}\ncache: {tmp_path / 'cache'}\nanswer_timeout_s: 60.0\n"
    path.write_text(text, encoding="utf-8")
    return path


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


@pytest.mark.slow
def test_a_suite_runs_on_habitat(episode: Path, settings: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ["bench", str(episode), "--backend", "habitat", "--backend-config", str(settings)]
    assert main([*words, "--memory", "full", "--out", str(out)]) == 0
    (row,) = (out / "rows.jsonl").read_text("utf-8").splitlines()
    assert json.loads(row)["verdict"]["success"]
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert manifest["settings"]["backend"] == "habitat"
    assert (tmp_path / "cache").is_dir()


@pytest.mark.slow
def test_an_abort_inside_the_simulator_costs_one_episode(
    episode: Path, settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders, out = tmp_path / "orders.json", tmp_path / "run"
    orders.write_text(json.dumps({"open_house": "abort"}), encoding="utf-8")
    monkeypatch.setenv("STAND_IN_ORDERS", str(orders))
    words = ["bench", str(episode), "--backend", "habitat", "--backend-config", str(settings)]
    words += ["--memory", "full", "--out", str(out)]
    assert main(words) == 1
    (row,) = (out / "rows.jsonl").read_text("utf-8").splitlines()
    assert json.loads(row)["error"]["fault"] == "refused"
    assert "SIGABRT when asked for open_house" in json.loads(row)["error"]["text"]
    # The dataset was written whole before, and nothing half written stays.
    assert not list((tmp_path / "cache").glob(".draft-*"))
    orders.write_text("{}", encoding="utf-8")
    assert main([*words, "--retry-errors"]) == 0


def test_episodes_are_solved_in_the_simulator_that_is_named(
    episode: Path, settings: Path, tmp_path: Path
) -> None:
    assert solve_with_expert(episode) == ""
    # The stand-in's pictures do not show the cup, so the expert finds nothing there.
    unsolved = solve_with_expert(episode, "habitat", str(settings))
    assert unsolved.startswith("expert stopped at 0 %")
    assert (tmp_path / "cache").is_dir()


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


class Other:
    """Somebody else's simulator: the protocol, and nothing that ours can do besides."""

    def __init__(self, inner: Backend) -> None:
        self._inner = inner
        self.simulated = True

    @property
    def agents(self) -> tuple[str, ...]:
        return self._inner.agents

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name not in Backend.__dict__:
            raise AttributeError(name)
        found: Callable[..., object] = getattr(self._inner, name)
        return found


@pytest.mark.slow
def test_a_simulator_that_has_only_cameras_feeds_the_memory_with_pictures(
    settings: Path, small_house: House, small_episode: Episode
) -> None:
    inner = make_backend("habitat", str(settings))
    seen: list[Observation] = []
    goal = small_episode.model_copy(update={"evaluation": GOAL})
    try:
        backend: Backend = Other(inner)  # type: ignore[assignment]
        run = prepare_run(
            backend,
            small_house,
            goal,
            Expert,
            RunOptions(images=False, watch=lambda observation, _memory: seen.append(observation)),
        )
        run.steps.begin()
        assert [s.agent for s in seen] == list(backend.agents)
        assert all(s.cameras["hand"].rgb.any() for s in seen)
        everything = prepare_run(backend, small_house, goal, Expert, RunOptions(all_known=True))
        assert everything.run().verdict.success
    finally:
        inner.close()


@pytest.mark.slow
def test_without_rays_pictures_are_drawn_for_the_memory(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    options = HabitatOptions(
        python=sys.executable, cache=str(tmp_path / "cache"), answer_timeout_s=60.0
    )
    backend = HabitatBackend(options, worker=STAND_IN)
    goal = small_episode.model_copy(update={"evaluation": GOAL})
    try:
        run = prepare_run(backend, small_house, goal, Expert, RunOptions(images=False))
        run.steps.begin()
        assert not [e for e in run.memory.entities if not e.is_furniture]
    finally:
        backend.close()
