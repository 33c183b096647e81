"""HELPER in whole runs without ROS, with the teacher as its model: the evaluator decides."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

import pytest

from papers.helper.teach.tasks import read_tasks, task_file
from planner.app.embedded_run import prepare_embedded
from planner.app.run import RunResult
from planner.app.run_options import RunOptions
from planner.models.model_choice import ModelChoice, make_model
from planner.parts.option import OptionValue
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Planner, Task
from planner.world.house_checks import load_house
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import default_options

TASKS = {task.name: task for task in read_tasks(task_file()).tasks}
EPISODES = [(task.name, house) for task in TASKS.values() for house in task.houses]


def run(
    name: str,
    house: str,
    model: Mapping[str, OptionValue] | None = None,
    **options: OptionValue,
) -> RunResult:
    """One of TEACh's tasks, from its dialogue."""

    def make(task: Task) -> Planner:
        chat = make_model(ModelChoice("teacher", "", dict(model or {})))
        return make_planner(PlannerChoice("helper", options=options), task, chat)

    settings = default_options().model_copy(update={"renderer": "none"})
    with closing(EmbeddedBackend(settings)) as backend:
        episode = TASKS[name].episode(house)
        return prepare_embedded(
            backend, load_house(house), episode, make, RunOptions(images=False)
        ).run()


@pytest.mark.parametrize(
    ("name", "house"),
    [("first_coffee", "train_0"), ("tomato_on_plate", "train_3"), ("soft_potato", "train_0")],
)
def test_a_dialogue_is_carried_out(name: str, house: str) -> None:
    result = run(name, house)
    assert result.verdict.success
    assert result.evidence["privilege"] == "goal"
    assert result.evidence["programs"] == "1"


@pytest.mark.slow
def test_the_teacher_without_faults_does_what_was_asked_in_95_of_100_episodes() -> None:
    missed = [f"{name} {house}" for name, house in EPISODES if not run(name, house).verdict.success]
    assert len(EPISODES) >= 60
    assert len(missed) <= 0.05 * len(EPISODES), missed
