"""Namespaces as users write them, and the commands that take one."""

from __future__ import annotations

import pytest

from planner.cli import main
from planner.namespace import full_namespace
from planner.world.errors import PlannerError


@pytest.mark.parametrize(
    ("text", "full"),
    [("", "/"), ("/", "/"), ("left", "/left"), ("/house/left/", "/house/left"), ("a_1", "/a_1")],
)
def test_a_namespace_becomes_its_full_name(text: str, full: str) -> None:
    assert full_namespace(text) == full


@pytest.mark.parametrize("text", ["1st", "a//b", "a b", "left-arm", "//", "a__b", "{ns}"])
def test_what_ros_would_refuse_is_refused(text: str) -> None:
    with pytest.raises(PlannerError, match="expected a ROS namespace such as left"):
        full_namespace(text)


@pytest.mark.parametrize(
    "words",
    [
        ["instruct", "Sing."],
        ["approve", "agent_0"],
        ["attend", "agent_0"],
        ["memory", "query", "cup"],
    ],
)
def test_commands_refuse_a_wrong_namespace_before_ros(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--namespace", "left-arm"])
    assert ended.value.code == 2
    assert (
        "argument --namespace: expected a ROS namespace such as left or /house/left, got 'left-arm'"
        in capsys.readouterr().err
    )
