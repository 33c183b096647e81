"""LLaMAR in a whole run without ROS: the evaluator decides, not the team (LLAMAR-C13)."""

from __future__ import annotations

from pathlib import Path

import graph_kitchen as kitchen
import llamar_scripts
import pytest

from planner.app.embedded_run import prepare_graph
from planner.app.run import RunResult
from planner.models.teacher import ScriptedModel
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Planner, Task
from planner.world.house_checks import load_house
from planner.world.topics import InstructionCode
from sim_bridge.graph.backend import GraphBackend

ASKED = {
    "function_name": "is_inside",
    "args": {"objects": ["apple_13"], "receptacles": ["fridge_10"]},
}
STEPS = llamar_scripts.JOINT["graph"]


def play(
    folder: Path, steps: llamar_scripts.Steps, name: str = "llamar", **options: str | bool | int
) -> RunResult:
    house = load_house(kitchen.written(folder))
    episode = kitchen.task(house).model_copy(update={"evaluation": {"propositions": [ASKED]}})
    robot = episode.agents[0].model_copy(update={"start": (3.0, 0.0, -2.2)})
    episode = episode.model_copy(update={"agents": (robot,)})
    model = ScriptedModel(llamar_scripts.replies(name, steps))

    def planner(task: Task) -> Planner:
        return make_planner(PlannerChoice(name, options=options), task, model)

    return prepare_graph(GraphBackend(), house, episode, planner).run()


@pytest.mark.parametrize(
    "name", ["llamar", "llamar_act", "llamar_react", "llamar_cot", "llamar_smart_llm"]
)
def test_the_apple_is_put_away(tmp_path: Path, name: str) -> None:
    result = play(tmp_path, STEPS, name)
    assert result.outcome.code is InstructionCode.DONE
    assert result.verdict.success
    assert result.evidence["joint_steps"] == "7"
    assert result.evidence["translator"] == "plain"
    assert result.evidence["privilege"] == "perception"


def test_check_13_done_too_early_is_a_failure(tmp_path: Path) -> None:
    result = play(tmp_path, (*STEPS[:3], ("Done",)))
    assert result.outcome.code is InstructionCode.DONE
    assert not result.verdict.success


def test_the_horizon_is_an_option(tmp_path: Path) -> None:
    result = play(tmp_path, STEPS, horizon=2)
    assert result.outcome.code is InstructionCode.CALL_LIMIT
    assert result.outcome.text == "planner limit: 2 joint steps"
    assert result.evidence["joint_steps"] == "2"


def test_free_text_is_read_by_words(tmp_path: Path) -> None:
    said = (
        ("walk over to the fridge",),
        ("open the fridge",),
        ("approach the apple",),
        ("grab the apple",),
        ("go to the fridge",),
        ("put it in the fridge",),
        ("Done",),
    )
    assert play(tmp_path, said).verdict.success
