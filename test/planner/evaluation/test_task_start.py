"""Steps of a task from the stamps of its instruction and of a state."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from planner.evaluation.task_start import TaskStart, task_steps


@pytest.mark.parametrize(
    ("start_s", "steps"),
    [(None, 90), (math.nan, 90), (0.0, 90), (1.0, 60), (2.99, 0), (3.5, 0), (-1.0, 90)],
)
def test_steps_count_from_the_instruction_where_it_is_known(
    start_s: float | None, steps: int
) -> None:
    assert task_steps(90, 3.0, start_s) == steps


def status(stamp_s: float, state: int = 1, goal: str = "{}", episode: str = "small") -> Any:
    stamp = SimpleNamespace(sec=int(stamp_s), nanosec=round(stamp_s % 1 * 1e9))
    header = SimpleNamespace(stamp=stamp)
    return SimpleNamespace(header=header, state=state, goal=goal, episode_id=episode)


@pytest.mark.parametrize(
    ("statuses", "start_s"),
    [
        ([], None),
        ([status(1.0, state=0), status(1.5, goal=""), status(2.0, episode="")], None),
        ([status(1.0, goal=""), status(2.0), status(3.0), status(4.0, state=3)], 2.0),
        # Time went back: the world was loaded again.
        ([status(5.0), status(0.0, state=0)], None),
        ([status(5.0), status(1.5)], 1.5),
    ],
)
def test_the_start_is_the_first_instruction_with_a_goal(
    statuses: list[Any], start_s: float | None
) -> None:
    start = TaskStart()
    for message in statuses:
        start.observe(message)
    assert start.start_s == start_s
