"""What the options of `helper` and `helper_retrieval` do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from planning_toys import ToyWorld, play, prop

from papers.helper.program_memory import ProgramMemory
from papers.helper.program_store import RecordKind
from planner.models.chat import Message
from planner.models.teacher import ScriptedModel
from planner.parts.option import OptionValue
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Planner, Task
from planner.world.errors import PlannerError

AGENT = "agent_1"
PROGRAM = 'cup = InteractionObject("Mug")\ncup.pickup()\ncup.put_down()\n'
SAID = "Do the Dax tidying: put the cup down somewhere."
TASK = Task(SAID, (AGENT,))
GOAL = {"propositions": [prop("is_on_top", ["cup_0"], ["table_0"])]}
Make = Callable[..., ToyWorld]


def made(model: ScriptedModel | None, task: Task = TASK, **options: OptionValue) -> Planner:
    name = "helper" if model is not None else "helper_retrieval"
    return make_planner(PlannerChoice(name, options=options), task, model)


def prompt(model: ScriptedModel) -> str:
    return "\n".join(message.text for message in model.asked[0])


def examples_for(world: ToyWorld, said: str, **options: OptionValue) -> str:
    model, task = ScriptedModel([PROGRAM]), Task(said, (AGENT,))
    play(made(model, task, **options), world, task)
    text = prompt(model)
    return text[text.index("Examples of") : text.index("Rules:")]


def test_examples_are_retrieved_fixed_or_left_out(toy_world: Make) -> None:
    coffee, plant = "Make a mug of coffee.", "Water the plant, please."
    assert examples_for(toy_world(), coffee) != examples_for(toy_world(), plant)
    fixed = {examples_for(toy_world(), one, memory_examples="fixed") for one in (coffee, plant)}
    assert len(fixed) == 1
    assert "Example 3:" in fixed.pop()
    assert "Example 1:" not in examples_for(toy_world(), coffee, memory_examples="none")


@pytest.mark.parametrize(
    ("options", "limit"),
    [({}, 30), ({"percept": "true"}, 50), ({"percept": "true", "failure_limit": 7}, 7)],
)
def test_check_39_the_true_state_raises_the_limit_of_failures(
    options: dict[str, OptionValue], limit: int
) -> None:
    """HELPER-C39."""
    planner = made(ScriptedModel([]), **options)
    assert planner._budget.max_failures == limit  # type: ignore[attr-defined]


def test_a_picture_diagnosis_needs_its_model() -> None:
    with pytest.raises(PlannerError, match="picture_matcher"):
        made(ScriptedModel([]), diagnosis="picture")


@pytest.mark.parametrize(
    ("task", "options", "learned"),
    [
        (TASK, {}, "yes"),
        (Task(SAID, (AGENT,), GOAL), {}, "no: instructions of episodes are not learned"),
        (Task(SAID, (AGENT,), GOAL), {"confirmed_by": "judge"}, "yes"),
    ],
)
def test_only_a_judge_teaches_the_instructions_of_episodes(
    toy_world: Make, tmp_path: Path, task: Task, options: dict[str, OptionValue], learned: str
) -> None:
    path = tmp_path / "programs.sqlite"
    more = {"program_memory": str(path), "feedback_rounds": 1, "person": "Dax", **options}
    outcome = play(
        made(ScriptedModel([PROGRAM]), task, **more), toy_world(), task, answers=("done",)
    )
    assert outcome.decisions[-1].evidence["learned"] == learned
    with ProgramMemory.open(path) as memory:
        (_, record), *_ = memory.nearest(SAID, RecordKind.PLAN)
    assert (record.key == SAID) is (learned == "yes")


def test_what_was_taught_is_repeated_without_a_model(toy_world: Make, tmp_path: Path) -> None:
    path = str(tmp_path / "programs.sqlite")
    play(
        made(ScriptedModel([PROGRAM]), program_memory=path, feedback_rounds=1),
        toy_world(),
        TASK,
        answers=("done",),
    )
    again = Task("Please do the Dax tidying.", (AGENT,))
    outcome = play(made(None, again, program_memory=path), toy_world(), again)
    assert outcome.done
    assert "Pick[cup_0]" in outcome.of(AGENT)


def test_a_request_that_no_program_fits_ends_with_the_reason(toy_world: Make) -> None:
    task = Task("Please do the Zorblat.", (AGENT,))
    outcome = play(made(None, task), toy_world(), task)
    assert outcome.failure.startswith("no program: ")
    assert outcome.of(AGENT) == []


def test_replies_that_cannot_be_read_end_the_task_after_three(toy_world: Make) -> None:
    model = ScriptedModel(["import os"] * 3)
    outcome = play(made(model), toy_world(), TASK)
    assert outcome.failure.startswith("no program: planner: program: line 1")
    last: Message = model.asked[-1][-1]
    assert len(model.asked) == 3
    assert "That cannot be read" in last.text
