"""TEACh's tasks in whole runs without ROS: HELPER, its model a teacher, and the expert."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field

import pytest

from papers.helper.teach.tasks import read_tasks, task_file
from planner.app.embedded_run import prepare_embedded, prepare_run
from planner.app.run import RunResult, attended
from planner.app.run_options import RunOptions
from planner.models.model_choice import ModelChoice, make_model
from planner.parts.option import OptionValue
from planner.planning.expert.expert import Expert
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.world.errors import PlannerError
from planner.world.house_checks import load_house
from planner.world.skill import SkillCall, SkillName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions, default_options

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


QUESTION = "Is everything as you want it?"


@dataclass(slots=True)
class AsksFirstAndLast:
    """Asks before it begins, then works as the expert does, and asks again before it is done."""

    inner: Planner
    asked: int = 0
    answers: list[str | None] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.inner.name

    async def decide(self, context: Context) -> Decision:
        self.answers = [exchange.answer for exchange in context.answers]
        if not self.asked:
            self.asked = 1
            return Decision(question=QUESTION)
        decision = await self.inner.decide(context)
        ends = any(call.name == SkillName.DONE for call in decision.calls.values())
        if ends and self.asked == 1:
            self.asked = 2
            return Decision(question=QUESTION)
        return (
            Decision(calls={"agent_0": SkillCall(SkillName.DONE)}) if self.asked == 2 else decision
        )

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        self.inner.observe(results)


def test_it_says_what_is_wrong_until_nothing_is() -> None:
    task = next(t for t in read_tasks(task_file()).tasks if t.name == "first_coffee")
    episode, house = task.episode("heldout_0"), load_house("heldout_0")
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    made: list[AsksFirstAndLast] = []

    def make(given: Task) -> AsksFirstAndLast:
        made.append(AsksFirstAndLast(Expert(given)))
        return made[0]

    try:
        run = prepare_run(backend, house, episode, make, RunOptions(images=False))
        person = attended(run)
        result = run.run()
    finally:
        backend.close()
    assert result.verdict.success
    first, last = person.exchanges
    assert first.answer == (
        'The subtask "make the cup clean" failed: the cup should be clean. '
        'The subtask "make the cup filled with coffee" failed: '
        "the cup should be filled with coffee."
    )
    assert (last.question, last.answer) == (QUESTION, "done")
    assert made[0].answers == [first.answer, last.answer]


def test_a_run_that_words_judge_has_no_goal_to_know() -> None:
    task = read_tasks(task_file()).tasks[0]
    episode = task.episode("train_0").model_copy(update={"evaluation": None})
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    try:
        run = prepare_run(backend, load_house("train_0"), episode, Expert, RunOptions(images=False))
        with pytest.raises(PlannerError, match="only the goal of an episode"):
            attended(run)
    finally:
        backend.close()
