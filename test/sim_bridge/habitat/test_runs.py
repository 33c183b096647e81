"""Episodes, and our judge beside the geometry, in Habitat; a stand-in answers for its worker."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from planner.app.embedded_run import prepare_run
from planner.app.run_options import RunOptions
from planner.bench.parity_cli import (
    ON_TOP,
    ON_TOP_ALL,
    compare_judges,
    judges_lines,
)
from planner.cli import main
from planner.commands.episodes import solve_with_expert
from planner.episodes.episode_file import write_episode
from planner.planning.expert.expert import Expert
from planner.world.episode import Episode
from planner.world.house import House, write_house
from planner.world.observation import Observation
from sim_bridge.backend import Backend, make_backend
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.geometry import Ray
from sim_bridge.habitat.backend import HabitatBackend
from sim_bridge.habitat.options import HabitatOptions
from sim_bridge.opening import bare_episode

STAND_IN = Path(__file__).with_name("stand_in.py")
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


@pytest.fixture
def embedded() -> Iterator[EmbeddedBackend]:
    backend = EmbeddedBackend()
    yield backend
    backend.close()


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


@pytest.mark.slow
@pytest.mark.nightly
def test_the_meshes_of_the_dataset_agree_with_the_embedded_world(
    small_house: House,
    embedded: EmbeddedBackend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Where something hides a target from one of them it has to hide it from the other as well.
    orders = tmp_path / "orders.json"
    orders.write_text('{"rays": "meshes"}')
    monkeypatch.setenv("STAND_IN_ORDERS", str(orders))
    options = HabitatOptions(python=sys.executable, cache=str(tmp_path), answer_timeout_s=60.0)
    habitat = HabitatBackend(options, worker=STAND_IN)
    try:
        by_meshes = compare_judges(habitat, small_house, 2)
    finally:
        habitat.close()
    by_shapes = compare_judges(embedded, small_house, 2)
    assert by_meshes.states == by_shapes.states
    assert by_meshes.rows == by_shapes.rows
    assert by_meshes.rows[ON_TOP].both > 0
    assert by_meshes.rows[ON_TOP_ALL].differing


@pytest.mark.slow
def test_rays_through_meshes_enter_what_those_through_shapes_enter(
    small_house: House, embedded: EmbeddedBackend, tmp_path: Path
) -> None:
    options = HabitatOptions(python=sys.executable, cache=str(tmp_path), answer_timeout_s=60.0)
    habitat = HabitatBackend(options, worker=STAND_IN)
    episode = bare_episode(small_house, 1)
    try:
        habitat.reset(small_house, episode, 3)
        embedded.reset(small_house, episode, 3)
        state = embedded.world_state()
        assert state is not None
        rays = []
        for name in ("cup_0", "book_0", "apple_0", "chest_of_drawers_0"):
            x, y, z = state.entities[name].box.center_m
            rays += [Ray((x, y, z + 1.0), (0.0, 0.0, -1.0)), Ray((x - 1.0, y, z), (1.0, 0.0, 0.0))]
        found = habitat.crossed(rays, 100.0)
        assert found == embedded.crossed(rays, 100.0)
        assert found[0] == ("cup_0", "table_0")
    finally:
        habitat.close()


@pytest.mark.slow
def test_a_geometry_that_is_empty_differs_and_says_so(
    small_house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = tmp_path / "orders.json"
    orders.write_text('{"hits": "empty"}')
    monkeypatch.setenv("STAND_IN_ORDERS", str(orders))
    options = HabitatOptions(
        python=sys.executable, cache=str(tmp_path / "c"), answer_timeout_s=60.0
    )
    habitat = HabitatBackend(options, worker=STAND_IN)
    try:
        parity = compare_judges(habitat, small_house, 2)
    finally:
        habitat.close()
    assert parity.rows[ON_TOP].share == 0.0
    assert parity.rows[ON_TOP].differing["cup_0, table_0"] == "ours"
    assert "is_on_top, first on a ray [cup_0, table_0]: only by ours" in "\n".join(
        judges_lines(parity, "stand-in")
    )


def test_a_simulator_that_is_not_there_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANNER_HABITAT_PYTHON", str(tmp_path / "none"))
    assert main(["bench", "parity", "--judges", "train_0"]) == 2
    told = capsys.readouterr()
    (line,) = told.err.splitlines()
    assert "is not a program that can be run" in line
    assert told.out == ""
