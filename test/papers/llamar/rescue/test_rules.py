"""The rules of search and rescue: whole runs, judged by the evaluator, and what they refuse."""

from __future__ import annotations

import asyncio
import re
from contextlib import closing
from pathlib import Path

import graph_kitchen as kitchen
import pytest

from papers.llamar.rescue.acting import HORIZON_STEPS, Scores
from papers.llamar.rescue.backend import RescueBackend
from papers.llamar.rescue.rules import RescueRules
from planner.app.embedded_run import prepare_graph, prepare_run
from planner.app.run_options import RunOptions
from planner.cli import main
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Task
from planner.world.errors import PlannerError
from planner.world.house_checks import load_episode, load_house
from sim_bridge.graph.backend import GraphBackend


def played(name: str, seed: int) -> tuple[bool, Scores]:
    episode, house = load_episode(name)
    backend = RescueBackend()
    run = prepare_run(backend, house, episode, RescueRules, RunOptions(seed=seed))
    return run.run().verdict.success, backend.checklist.scores()


@pytest.mark.slow
def test_planner_run_rescues_and_puts_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "rescue-1-agents-2", "--planner", "rescue_rules", "-o", str(tmp_path)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "verdict: success  percent_complete: 1.00" in out
    assert "did     DropOff[deposit_facility_5]" in out


@pytest.mark.slow
def test_the_evaluator_and_the_checklist_agree() -> None:
    success, scores = played("rescue-5-agents-3", 10)
    assert success
    assert scores.success
    assert scores.transport_rate == scores.coverage == 1.0
    assert 0 < scores.steps <= HORIZON_STEPS


@pytest.mark.slow
@pytest.mark.parametrize("agents", [2, 3, 4, 5])
@pytest.mark.parametrize("scene", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seed", [0, 10])
def test_every_scene_is_solved_by_every_team(scene: int, agents: int, seed: int) -> None:
    success, scores = played(f"rescue-{scene}-agents-{agents}", seed)
    assert success
    assert scores.success


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        (None, "no fires to put out and no persons"),
        (
            {"propositions": [{"function_name": "is_clean", "args": {"objects": ["cup_0"]}}]},
            "evaluation.propositions.0: the rules know is_extinguished and is_inside, not is_clean",
        ),
    ],
)
def test_another_goal_is_refused(goal: dict[str, object] | None, said: str) -> None:
    with pytest.raises(PlannerError, match=said):
        RescueRules(Task("", ("agent_0",), goal))  # type: ignore[arg-type]


@pytest.mark.slow
def test_nobody_is_sent_to_a_person_whom_nobody_has_seen() -> None:
    episode, house = load_episode("rescue-1-agents-2")
    backend = RescueBackend()
    run = prepare_run(backend, house, episode, RescueRules)
    result = asyncio.run(run.play())
    seen_s = next(
        event.stamp_s for event in result.events if "Navigate[lost_person" in str(event.call)
    )
    spotted = backend.checklist.done["Spot(LostPersonTimmy)"]
    assert seen_s >= spotted[1] * 8.0


def test_a_household_robot_is_refused_at_once(tmp_path: Path) -> None:
    """Its goal alone could be read: to bring something into a place."""
    house = load_house(kitchen.written(tmp_path))
    goal = {
        "function_name": "is_inside",
        "args": {"objects": ["apple_13"], "receptacles": ["fridge_10"]},
    }
    episode = kitchen.task(house).model_copy(update={"evaluation": {"propositions": [goal]}})
    with closing(GraphBackend()) as graph:
        choice = PlannerChoice("rescue_rules")
        run = prepare_graph(graph, house, episode, lambda task: make_planner(choice, task, None))
        result = run.run()
    assert re.fullmatch(
        "rescue_rules needs agents that can carry, .*, use_water; agent_0 cannot.",
        result.outcome.text,
    )
    assert result.events == ()
