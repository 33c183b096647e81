"""The command's arguments: what is wrong gets one line."""

import argparse

import pytest

from planner.world.errors import PlannerError
from sim_bridge.ros.emulator.cli import add_arguments, run


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--fail-grasps", "2"], "--fail-grasps: expected 0 to 1, got 2.0"),
        (["--goal-tolerance", "nan"], "--goal-tolerance: expected 0 to 2, got nan"),
        (["--namespace", "9 x"], "--namespace: '9 x' is no name in ROS"),
        (["--house", "nowhere"], "there is no house 'nowhere'"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(words: list[str], says: str) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    with pytest.raises(PlannerError, match=says.replace("(", "\\(")):
        run(parser.parse_args(words))
