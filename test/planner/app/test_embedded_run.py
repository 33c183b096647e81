"""Runs in process: what is left out where nothing happens changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import graph_kitchen as kitchen
import pytest

from planner.api import run
from planner.app.embedded_run import prepare_graph, run_embedded
from planner.app.run import RunResult
from planner.app.run_options import RunOptions
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.bench.runs.settings import RunSettings
from planner.cli import main
from planner.episodes.episode_file import write_episode
from planner.evaluation.predicates import Variant
from planner.memory.part import UPDATERS, MakeUpdater, UpdaterPart, UpdaterRequest
from planner.memory.privileged import PrivilegedUpdater
from planner.planning.expert.expert import Expert
from planner.planning.part import PLANNERS, PlannerChoice, Reads, make_planner
from planner.planning.planner import Planner, Task
from planner.world.agents import default_bodies
from planner.world.errors import PlannerError
from planner.world.house_checks import load_episode, load_house
from planner.world.state import WorldState
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.graph.backend import GraphBackend


def _run(name: str, *, leaps: bool, agents: int = 0) -> RunResult:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    episode, house = load_episode(name)
    return run_embedded(
        backend, house, episode, Expert, RunOptions(images=False, leaps=leaps), agents=agents
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "agents"),
    [
        ("lights_out_0", 0),
        pytest.param("fruit_0", 0, marks=pytest.mark.slow),
        # These change states of things in hands, and look into drawers while they open.
        pytest.param("pour_drink_0", 0, marks=pytest.mark.slow),
        pytest.param("fresh_vase_0", 0, marks=pytest.mark.slow),
        # A bowl is carried with what is in it.
        ("egg_bowl_0", 0),
        # The other agent stands about and makes way.
        ("globe_tour_0", 1),
    ],
)
def test_leaps_change_neither_events_nor_verdict(name: str, agents: int) -> None:
    leaping, stepping = (_run(name, leaps=leaps, agents=agents) for leaps in (True, False))
    assert leaping.events == stepping.events
    assert leaping.verdict == stepping.verdict
    assert leaping.sim_steps == stepping.sim_steps
    assert leaping.verdict.success


def test_a_run_is_the_same_again() -> None:
    assert _run("lights_out_0", leaps=True) == _run("lights_out_0", leaps=True)


ASKED = {
    "function_name": "is_inside",
    "args": {"objects": ["apple_13"], "receptacles": ["fridge_10"]},
}
SEES_TABLE = (3.0, 0.0, -2.2)


class Forgetful(GraphBackend):
    """A world whose state has no apple any more after three seconds."""

    def world_state(self) -> WorldState | None:
        state = super().world_state()
        if state is None or state.stamp_s < 3.0:
            return state
        left = {name: each for name, each in state.entities.items() if name != "apple_13"}
        return replace(state, entities=left)


# Others refuse this world's agents before anything is gone.
NEED_GOAL = [
    name
    for name, part in PLANNERS.usable().items()
    if part.needs.goal
    and part.needs.primitives.issubset(default_bodies()[AgentKind.ROBOT].primitives)
]


@pytest.mark.parametrize("name", NEED_GOAL)
def test_what_is_gone_ends_a_run_with_an_error_that_names_it(tmp_path: Path, name: str) -> None:
    house = load_house(kitchen.written(tmp_path))
    episode = kitchen.task(house).model_copy(update={"evaluation": {"propositions": [ASKED]}})
    robot = episode.agents[0].model_copy(update={"start": SEES_TABLE})
    episode = episode.model_copy(update={"agents": (robot,)})

    def planner(task: Task) -> Planner:
        return make_planner(PlannerChoice(name), task, None)

    run = prepare_graph(Forgetful(), house, episode, planner)
    with pytest.raises(PlannerError, match=r"^apple_13, which the goal names, is gone"):
        run.run()


def test_the_expert_finds_and_fetches_what_its_memory_sees(tmp_path: Path) -> None:
    house = load_house(kitchen.written(tmp_path))
    episode = kitchen.task(house).model_copy(update={"evaluation": {"propositions": [ASKED]}})
    run = prepare_graph(GraphBackend(), house, episode, Expert)
    result = run.run()
    assert result.verdict.success, [str(event) for event in result.events]
    assert result.verdict.variant is Variant.EDGES
    apple = next(e for e in run.memory.entities if e.name == "apple_13")
    assert (apple.parent, apple.room) == ("fridge_10", "kitchen_1")


def test_the_expert_puts_a_thing_into_another(tmp_path: Path) -> None:
    house = load_house(kitchen.written(tmp_path))
    asked = {
        "function_name": "is_inside",
        "args": {"objects": ["pear_14"], "receptacles": ["bowl_12"]},
    }
    episode = kitchen.task(house).model_copy(update={"evaluation": {"propositions": [asked]}})
    result = prepare_graph(GraphBackend(), house, episode, Expert).run()
    assert result.verdict.success, [str(event) for event in result.events]


def test_the_expert_closes_what_it_opened(tmp_path: Path) -> None:
    house = load_house(kitchen.written(tmp_path))
    closed = {"function_name": "is_closed", "args": {"objects": ["fridge_10"]}}
    goal = {"evaluation": {"propositions": [ASKED, closed]}}
    run = prepare_graph(GraphBackend(), house, kitchen.task(house).model_copy(update=goal), Expert)
    result = run.run()
    assert result.verdict.success, [str(event) for event in result.events]


def _fetching(folder: Path) -> Path:
    """An episode beside the graph that it is in."""
    house = load_house(kitchen.written(folder))
    asked = {
        "function_name": "is_inside",
        "args": {"objects": ["apple_13"], "receptacles": ["fridge_10"]},
    }
    goal = {"evaluation": {"propositions": [asked]}, "house": "houses/graph.json"}
    kitchen.written(folder).rename(folder / "tasks" / "houses" / "graph.json")
    return write_episode(kitchen.task(house).model_copy(update=goal), folder / "tasks")


def test_planner_run_and_bench_take_the_graph_world_for_graphs(tmp_path: Path, capsys) -> None:
    (tmp_path / "tasks" / "houses").mkdir(parents=True)
    path = _fetching(tmp_path)
    assert main(["run", str(path), "-o", str(tmp_path / "out")]) == 0
    assert "verdict: success" in capsys.readouterr().out
    assert (
        main(["bench", str(path.parent), "--backend", "graph", "--out", str(tmp_path / "b")]) == 0
    )
    (row,) = newest_rows(tmp_path / "b" / ROWS_NAME).values()
    assert row.verdict is not None
    assert row.verdict.success


def test_a_graph_has_neither_the_embedded_simulator_nor_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = load_house(kitchen.written(tmp_path))
    with pytest.raises(PlannerError, match="is a scene graph"):
        RunSettings(backend="embedded").world_of(house)
    with pytest.raises(PlannerError, match="no pictures for --memory pictures"):
        RunSettings(memory="pictures").world_of(house)
    looking = replace(PLANNERS.get("react"), reads=Reads(pictures=True))
    monkeypatch.setitem(PLANNERS._loaded, "react", looking)
    with pytest.raises(PlannerError, match="no pictures for --planner react"):
        RunSettings(planner="react", model="teacher").world_of(house)


@pytest.mark.parametrize("name", UPDATERS.names())
def test_memories_that_need_pictures_are_refused_and_others_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "tasks" / "houses").mkdir(parents=True)
    path, part = _fetching(tmp_path), UPDATERS.get(name)
    model = ["--memory-model", "any"] if part.needs_model else []
    code = main(["run", str(path), "--memory", name, *model, "-o", str(tmp_path / "out")])
    said = capsys.readouterr()
    if part.needs_pictures:
        assert (code, said.err.count("\n")) == (2, 1)
        assert f"the graph world has no pictures for --memory {name}: use privileged" in said.err
    else:
        assert "verdict: success" in said.out


def test_a_memory_of_others_works_from_sightings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tasks" / "houses").mkdir(parents=True)
    path, made = _fetching(tmp_path), []

    def make(request: UpdaterRequest) -> MakeUpdater:
        truth = request.truth
        return lambda _: made.append(PrivilegedUpdater(truth)) or made[-1]

    part = UpdaterPart(summary="", make=make, needs_truth=True, needs_pictures=False)
    monkeypatch.setitem(UPDATERS._loaded, "object-graph", part)
    ran = run(path, memory="object-graph")
    assert ran.verdict.success
    assert len(made) == 1
