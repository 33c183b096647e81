"""What the launch file hands to the launch system, whose packages are on no index: stand-ins.

test/integration/test_launch.py runs it with the real packages where they are.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from planner.bringup import node_list, restarted
from planner.bringup_arguments import ARGUMENTS, Arguments, option_arguments
from planner.world.errors import PlannerError

FILE = Path(__file__).parents[2] / "launch" / "bringup.launch.py"


class Fields(SimpleNamespace):
    """Keeps what it was made with."""

    def __init__(self, *words: Any, **fields: Any) -> None:
        super().__init__(words=words, **fields)


class LaunchConfiguration(Fields):
    def perform(self, context: SimpleNamespace) -> str:
        return str(context.launch_configurations[self.words[0]])


MODULES: Mapping[str, tuple[str, ...]] = {
    "launch": ("Action", "LaunchContext", "LaunchDescription"),
    "launch.actions": ("DeclareLaunchArgument", "OpaqueFunction", "Shutdown", "TimerAction"),
    "launch.events": (),
    "launch.events.process": ("ProcessExited",),
    "launch.substitutions": (),
    "launch_ros": (),
    "launch_ros.actions": ("Node",),
}


@pytest.fixture
def launch_file(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    for name, classes in MODULES.items():
        module = ModuleType(name)
        for each in classes:
            setattr(module, each, type(each, (Fields,), {}))
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(
        sys.modules["launch.substitutions"], "LaunchConfiguration", LaunchConfiguration, False
    )
    monkeypatch.setenv("ROS_DOMAIN_ID", "232")
    monkeypatch.delenv("ROS_SECURITY_ENABLE", raising=False)
    # The file itself changes the environment of what it starts.
    with mock.patch.dict(os.environ):
        yield runpy.run_path(str(FILE))


def started(launch_file: dict[str, Any], given: Mapping[str, str]) -> list[Any]:
    """The nodes that these arguments start, as the launch system gets them."""
    arguments = (*ARGUMENTS, *option_arguments())
    defaults = {argument.name: argument.default for argument in arguments}
    nodes: list[Any] = launch_file["start"](
        SimpleNamespace(launch_configurations={**defaults, **given})
    )
    return nodes


def test_it_declares_the_arguments_of_planner_up(launch_file: dict[str, Any]) -> None:
    *declared, _ = launch_file["generate_launch_description"]().words[0]
    expected = {a.name: (a.default, a.choices) for a in (*ARGUMENTS, *option_arguments())}
    assert {d.words[0]: (d.default_value, tuple(d.choices or ())) for d in declared} == expected
    assert {"namespace", "params_file", "log_level", "use_sim_time"} <= set(expected)


def test_each_node_gets_what_planner_up_gives_it(
    launch_file: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text("/**:\n  ros__parameters: {camera_hz: 5.0}\n")
    given = {"namespace": "left", "params_file": str(file), "log_level": "debug"}
    given |= {"use_sim_time": "true", "planner": "expert", "record": str(tmp_path / "run")}
    nodes = started(launch_file, given)
    specs = node_list(Arguments.from_text(given))
    assert [node.name for node in nodes] == [spec.name for spec in specs]
    for node, spec in zip(nodes, specs, strict=True):
        assert node.executable == spec.executable
        assert node.namespace == "left"
        assert node.parameters == [dict(spec.parameters), str(file)]
        assert node.remappings == list(spec.remappings)
        assert node.ros_arguments == ["--log-level", "debug"]
    above = [spec for spec in specs if spec.name not in ("recorder", "bridge")]
    assert {spec.parameters["use_sim_time"] for spec in above} == {True}


def test_a_node_that_died_is_started_again_and_waits_for_no_other(
    launch_file: dict[str, Any],
) -> None:
    specs = node_list(Arguments.from_text({"planner": "expert"}))
    (memory,) = (spec for spec in specs if spec.name == "memory")
    context = SimpleNamespace(is_shutdown=False)
    (timer,) = launch_file["after"](memory)(SimpleNamespace(returncode=-9), context)
    (node,) = timer.actions
    assert node.name == "memory"
    assert node.parameters == [dict(restarted(memory).parameters)]
    context.is_shutdown = True
    assert launch_file["after"](memory)(SimpleNamespace(returncode=-9), context) == []


def test_a_pushed_namespace_counts_where_keys_are_used(
    launch_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROS_SECURITY_ENABLE", "true")
    with pytest.raises(PlannerError, match="namespace /house/left: the permissions"):
        started(launch_file, {"namespace": "left", "ros_namespace": "/house"})
    with pytest.raises(PlannerError, match="namespace /house: the permissions"):
        started(launch_file, {"ros_namespace": "/house"})
