"""A model as the filter of ideas and as the author of words; prose is counted (ETPLAN-C6)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from papers.et_plan_bench.generation.categories import Category
from papers.et_plan_bench.generation.house_tasks import HouseTasks, Portion, Row
from papers.et_plan_bench.generation.idea import PROSE, UNREASONABLE, ModelCritic
from planner.app.bodily_task_world import GraphTaskWorld
from planner.models.teacher import ScriptedModel

from .toy_graph import toy_house


def asked(replies: Sequence[str]) -> tuple[Portion, ModelCritic]:
    critic = ModelCritic(ScriptedModel(replies))
    try:
        tasks = HouseTasks(toy_house(), "none", GraphTaskWorld(), critic)
        row = Row(Category.NAVIGATION_RELATION, relations=("INSIDE",), rooms=("kitchen",))
        return tasks.make(row, 1, "3", set(), 0), critic
    finally:
        critic.close()


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (["Unreasonable"], UNREASONABLE),
        (["  Unreasonable \n"], UNREASONABLE),
        (["Reasonable because apples are food."] * 2, PROSE),
        (["Well, Unreasonable", "It is Reasonable"], PROSE),
    ],
)
def test_what_the_model_does_not_pass_is_dropped_and_counted(
    answers: list[str], reason: str
) -> None:
    """ETPLAN-C6: prose is asked about once more, then the idea is dropped."""
    passing = ["Reasonable", "Go to the apple in the fridge in the kitchen."]
    portion, _ = asked([*answers, *passing])
    assert portion.rejected[reason] == 1
    assert len(portion.episodes) == 1


def test_prose_is_asked_about_once_more() -> None:
    portion, _ = asked(["Hm.", "Reasonable", "An apple, in the fridge of the kitchen: go there."])
    assert not portion.rejected[PROSE]
    [episode] = portion.episodes
    assert episode.instruction == "An apple, in the fridge of the kitchen: go there."


def test_words_that_do_not_name_everything_are_not_used_and_counted() -> None:
    portion, critic = asked(["Reasonable", "Go to the pear.", "Get a fruit."])
    [episode] = portion.episodes
    assert "apple" in episode.instruction
    assert critic.unworded.total() == 1
