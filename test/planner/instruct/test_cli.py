"""The simulated person of `planner instruct` (HELPER-D83)."""

from __future__ import annotations

import json

import pytest

from planner.instruct.cli import add_arguments, answer_from, read_request
from planner.world.errors import PlannerError

GOAL = json.dumps(
    {"propositions": [{"function_name": "is_clean", "args": {"objects": ["cup_0"], "number": 1}}]}
)


def test_it_says_done_or_what_is_not_as_wanted() -> None:
    assert answer_from(GOAL, [True]) == "done"
    assert answer_from(GOAL, [False]) == (
        'The subtask "make the cup clean" failed: the cup should be clean.'
    )


@pytest.mark.parametrize(
    ("goal", "satisfied", "reason"),
    [
        (GOAL, None, "heard nothing"),
        (GOAL, [True, True], "judges 2 propositions, the goal has 1"),
        ("", [True], "only the goal of an episode"),
        ('{"understood": []}', [True], "only the goal of an episode"),
        ("{", [True], "no JSON"),
    ],
)
def test_where_it_cannot_know_the_reason_is_told(goal, satisfied, reason) -> None:
    with pytest.raises(PlannerError, match=reason):
        answer_from(goal, satisfied)


def test_it_answers_in_the_place_of_the_terminal() -> None:
    import argparse

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    request = read_request(parser.parse_args(["", "--simulated-person"]), interactive=True)
    assert request.simulated_person
    assert not request.interactive
