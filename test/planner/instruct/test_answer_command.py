"""`planner answer`: what it refuses; test/integration/test_instruct.py runs it."""

from __future__ import annotations

import argparse

import pytest

from planner.instruct.cli import add_answer_arguments, run_answer
from planner.world.errors import PlannerError


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([" \n "], "text: expected an answer, got nothing"),
        (["yes", "--wait", "-1"], "--wait: expected seconds, got -1"),
    ],
)
def test_bad_arguments_are_named(words: list[str], message: str) -> None:
    parser = argparse.ArgumentParser()
    add_answer_arguments(parser)
    with pytest.raises(PlannerError, match=message):
        run_answer(parser.parse_args(words))
