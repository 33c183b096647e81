"""Planners do generated ET-Plan-Bench tasks: those that need a model with the one that knows."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest
from random_cases import by_day_each

from papers.et_plan_bench.generation.categories import Category, HomeSplit, homes
from papers.et_plan_bench.generation.house_tasks import HouseTasks, Order, Row, generate
from planner.app.bodily_task_world import GraphTaskWorld
from planner.app.embedded_run import prepare_run
from planner.app.run import RunResult
from planner.app.run_options import RunOptions
from planner.models.teacher import Skill, Teacher
from planner.planning.part import PlannerChoice, make_planner
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.topics import InstructionCode
from sim_bridge.backend import Backend
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.graph.backend import GraphBackend
from sim_bridge.habitat.backend import HabitatBackend
from sim_bridge.habitat.options import HabitatOptions

STAND_IN = Path(__file__).parents[2] / "sim_bridge" / "habitat" / "stand_in.py"

# Those that need neither a server nor full observability.
ALONE = ("et_agent", "expert", "learned", "words")
TAUGHT = (
    "helper",
    "llamar",
    "llamar_act",
    "llamar_coela",
    "llamar_cot",
    "llamar_react",
    "partnr_finetuned",
    "partnr_react",
    "partnr_summary",
    "partnr_tools",
    "react",
)


@cache
def made(category: Category = Category.MANIPULATION) -> tuple[Episode, House]:
    home = next(iter(homes(HomeSplit.TEST)))
    house = HouseTasks(home.make(), "test", GraphTaskWorld(), None)
    order = Order([house], (Row(category),), 1, seed=1)
    for step, portion in generate(order, lambda _step, _keys: None):
        if portion.episodes:
            return portion.episodes[0], step.house.house
    raise AssertionError("nothing was generated")


def played(
    name: str,
    category: Category = Category.MANIPULATION,
    backend: Backend | None = None,
    *,
    all_known: bool = False,
) -> RunResult:
    episode, house = made(category)
    teacher = Teacher(Skill()) if PlannerChoice(name).part.needs.model else None
    return prepare_run(
        backend or GraphBackend(),
        house,
        episode,
        lambda task: make_planner(PlannerChoice(name), task, teacher),
        RunOptions(images=False, all_known=all_known),
    ).run()


@pytest.mark.slow
@pytest.mark.parametrize("name", ALONE)
def test_a_generated_task_is_done(name: str) -> None:
    result = played(name)
    assert result.verdict.success, result.outcome.text


@pytest.mark.parametrize("name", TAUGHT)
def test_a_generated_task_is_done_with_right_replies(name: str) -> None:
    result = played(name)
    assert result.verdict.success, result.outcome.text
    assert result.outcome.code is InstructionCode.DONE


@pytest.mark.parametrize(
    "name",
    ["helper", "llamar", "llamar_act", "llamar_coela", "partnr_finetuned", "partnr_react", "react"],
)
def test_words_say_what_is_right_where_a_task_has_no_goal(name: str) -> None:
    """A thing that shall be found is in no structured goal."""
    episode, _ = made(Category.NAVIGATION)
    assert episode.evaluation is None
    result = played(name, Category.NAVIGATION)
    assert result.verdict.success, result.outcome.text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["expert", "llamar", "react"])
def test_one_thing_goes_into_another_before_that_is_taken_away(name: str) -> None:
    result = played(name, Category.TEMPORAL)
    assert result.verdict.success, result.outcome.text
    assert result.outcome.code is InstructionCode.DONE


def test_a_program_that_is_carried_out_blindly_says_what_failed_in_it() -> None:
    """SmartLLM plans before anything was looked for, and looks at no result."""
    result = played("llamar_smart_llm")
    assert not result.verdict.success
    assert "actions failed: " in result.outcome.text


def test_what_no_planner_of_another_kind_of_task_can_do_is_told() -> None:
    episode, house = made()
    with pytest.raises(PlannerError, match="the rules know is_extinguished and is_inside"):
        prepare_run(
            GraphBackend(),
            house,
            episode,
            lambda task: make_planner(PlannerChoice("rescue_rules"), task, None),
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", by_day_each(3, [*ALONE, *TAUGHT]))
def test_the_same_task_runs_in_the_embedded_simulator(name: str) -> None:
    result = played(name, backend=EmbeddedBackend(EmbeddedOptions(renderer="none")))
    assert result.events, result.outcome.text
    assert result.outcome.code is InstructionCode.DONE, result.outcome.text


# Those that need to see nothing where everything is known: the stand-in draws grey.
BLIND = ("expert", "helper", "partnr_finetuned", "partnr_react", "partnr_summary", "partnr_tools")


@pytest.mark.slow
@pytest.mark.parametrize("name", by_day_each(3, [*BLIND, "words"]))
def test_the_same_task_runs_on_habitat_with_everything_known(tmp_path: Path, name: str) -> None:
    cache = str(tmp_path / "cache")
    options = HabitatOptions(python=sys.executable, cache=cache, answer_timeout_s=120.0)
    backend = HabitatBackend(options, worker=STAND_IN)
    try:
        result = played(name, backend=backend, all_known=True)
    finally:
        backend.close()
    assert result.outcome.code is InstructionCode.DONE, result.outcome.text
    assert result.verdict.success
