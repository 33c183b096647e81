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
from planner.command_line import EXIT_CONFIGURATION
from planner.network import PROFILES, RANGE
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
    "launch": ("Action", "Condition", "LaunchContext", "LaunchDescription"),
    "launch.actions": (
        "DeclareLaunchArgument",
        "EmitEvent",
        "OpaqueFunction",
        "Shutdown",
        "TimerAction",
    ),
    "launch.events": (),
    "launch.events.process": ("ProcessExited", "ShutdownProcess"),
    "launch.logging": (),
    "launch.substitutions": (),
    "launch_ros": (),
    "launch_ros.actions": ("Node",),
}


@pytest.fixture
def said() -> list[str]:
    """The errors that were logged."""
    return []


@pytest.fixture
def launch_file(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> Iterator[dict[str, Any]]:
    for name, classes in MODULES.items():
        module = ModuleType(name)
        for each in classes:
            setattr(module, each, type(each, (Fields,), {}))
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(
        sys.modules["launch.substitutions"], "LaunchConfiguration", LaunchConfiguration, False
    )
    log = SimpleNamespace(error=said.append)
    monkeypatch.setattr(sys.modules["launch.logging"], "get_logger", lambda _: log, False)
    # `ros2 launch planner bringup.launch.py`, as its process sees it.
    monkeypatch.setattr(sys, "argv", ["/opt/ros/bin/ros2", "launch", "planner", FILE.name])
    monkeypatch.setenv("ROS_DOMAIN_ID", "232")
    monkeypatch.delenv("ROS_SECURITY_ENABLE", raising=False)
    # The file itself changes the environment of what it starts.
    with mock.patch.dict(os.environ):
        yield runpy.run_path(str(FILE))


def started(
    launch_file: dict[str, Any],
    given: Mapping[str, str],
    *,
    environment: Mapping[str, str] = os.environ,
    **more: bool,
) -> list[Any]:
    """The nodes that these arguments start, as the launch system gets them."""
    arguments = (*ARGUMENTS, *option_arguments())
    defaults = {argument.name: argument.default for argument in arguments}
    context = SimpleNamespace(launch_configurations={**defaults, **given}, environment=environment)
    nodes: list[Any] = launch_file["start"](context, **more)
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


def test_a_passive_node_that_dies_again_and_again_is_restarted_after_growing_pauses(
    launch_file: dict[str, Any],
) -> None:
    specs = node_list(Arguments.from_text({"planner": "expert"}))
    evaluator, memory = (
        next(spec for spec in specs if spec.name == name) for name in ("evaluator", "memory")
    )
    context, run = SimpleNamespace(is_shutdown=False), launch_file["Run"]()
    pauses_s = []
    # The last one ends as if it were configured wrongly, as when its port is still taken.
    for status in (*[-9] * 7, EXIT_CONFIGURATION):
        (timer,) = launch_file["after"](evaluator, run)(SimpleNamespace(returncode=status), context)
        pauses_s.append(timer.period)
        assert timer.actions[0].name == "evaluator"
    assert pauses_s == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    (timer,) = launch_file["after"](memory, run)(SimpleNamespace(returncode=-9), context)
    assert timer.period == 1.0
    assert not run.is_over


def test_a_pushed_namespace_counts_where_keys_are_used(
    launch_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROS_SECURITY_ENABLE", "true")
    with pytest.raises(PlannerError, match="namespace /house/left: the permissions"):
        started(launch_file, {"namespace": "left", "ros_namespace": "/house"})
    with pytest.raises(PlannerError, match="namespace /house: the permissions"):
        started(launch_file, {"ros_namespace": "/house"})


@pytest.mark.parametrize(
    ("words", "is_asked_for"),
    [
        (["ros2", "launch", "planner", FILE.name, "house:=train_0"], True),
        (["ros2", "launch", "--debug", str(FILE)], True),
        (["ros2", "launch", "robot", "robot.launch.py"], False),
        (["ros2", "launch", "robot", FILE.name], False),
        (["ros2", "launch", "/elsewhere/launch/" + FILE.name], False),
        (["pytest", "planner"], False),
    ],
)
def test_it_is_the_whole_run_where_the_command_line_asks_for_it(
    launch_file: dict[str, Any], words: list[str], is_asked_for: bool
) -> None:
    assert launch_file["is_asked_for"](words) is is_asked_for


def test_included_it_leaves_the_environment_of_others_as_it_is(
    launch_file: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PROFILES, raising=False)
    monkeypatch.delenv(RANGE, raising=False)
    monkeypatch.setattr(sys, "argv", ["ros2", "launch", "robot", "robot.launch.py"])
    before = dict(os.environ)
    *declared, begin = launch_file["generate_launch_description"]().words[0]
    nodes = started(launch_file, {"planner": "tour"}, alone=begin.kwargs["alone"])
    assert dict(os.environ) == before
    assert begin.kwargs["alone"] is False
    assert {tuple(each.choices or ()) for each in declared} == {()}, "a wrong value ends no others"
    for node in nodes:
        assert Path(node.env[PROFILES]).name == "fastdds_loopback.xml"
        assert node.env[RANGE] == "SYSTEM_DEFAULT"
        assert before.items() <= node.env.items()


def test_each_node_gets_the_environment_that_the_launch_file_around_it_set(
    launch_file: dict[str, Any],
) -> None:
    changed = {**os.environ, "PLANNER_NETWORK": "open", "ROS_DOMAIN_ID": "231"}
    changed |= {"ROS_SECURITY_ENABLE": "true", "ROS_SECURITY_ENCLAVE_OVERRIDE": "/robot"}
    for node in started(launch_file, {"planner": "tour"}, environment=changed, alone=False):
        assert PROFILES not in node.env
        assert node.env["ROS_DOMAIN_ID"] == "231"
        assert "ROS_SECURITY_ENCLAVE_OVERRIDE" not in node.env
        assert node.ros_arguments == ["--enclave", f"/planner/{node.executable}"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"pace": "fast"}, "argument pace: 'fast' is not a number; no node of planner is started"),
        ({"map": "/my/map.yaml"}, "argument map: '/my/map.yaml' is not one of given, built"),
    ],
)
def test_included_with_a_wrong_argument_it_starts_nothing_and_says_why(
    launch_file: dict[str, Any], said: list[str], given: dict[str, str], words: str
) -> None:
    assert started(launch_file, given, alone=False) == []
    assert len(said) == 1
    assert words in said[0]
    with pytest.raises(PlannerError, match="argument"):
        started(launch_file, given)


@pytest.mark.parametrize("status", [78, 1])
def test_included_a_failure_ends_its_own_nodes_only(
    launch_file: dict[str, Any], said: list[str], status: int
) -> None:
    bridge, tour = started(launch_file, {"planner": "tour"}, alone=False)
    context = SimpleNamespace(is_shutdown=False)
    (event,) = tour.on_exit(SimpleNamespace(returncode=status), context)
    concerns = event.event.process_matcher
    assert concerns(bridge)
    assert concerns(tour)
    assert not concerns(SimpleNamespace())
    assert [each.endswith("the other nodes of planner are stopped") for each in said] == [True]
    assert bridge.on_exit(SimpleNamespace(returncode=-2), context) == [], "not started again"
    assert not bridge.condition.predicate(context)


def test_included_a_good_end_ends_its_own_nodes_only(
    launch_file: dict[str, Any], said: list[str]
) -> None:
    bridge, tour = started(launch_file, {"planner": "tour"}, alone=False)
    assert bridge.condition.predicate(None)
    (event,) = tour.on_exit(SimpleNamespace(returncode=0), SimpleNamespace(is_shutdown=False))
    assert event.event.process_matcher(bridge)
    assert said == []


@pytest.mark.parametrize(
    ("pushed", "namespace", "own"),
    [
        ("", "/", ""),
        ("", "left", "left"),
        ("/robot1", "/", ""),
        # A launch file that pushes its argument `namespace` passes it on by that name.
        ("/robot1", "robot1", ""),
        ("/robot1", "/robot1/", ""),
        ("/fleet/robot1", "robot1", ""),
        ("/fleet/robot1", "fleet/robot1", ""),
        ("/robot1", "fleet/robot1", "fleet/robot1"),
        ("/house", "left", "left"),
        ("/robot1", "obot1", "obot1"),
    ],
)
def test_a_pushed_namespace_and_the_argument_are_one_prefix(
    launch_file: dict[str, Any], pushed: str, namespace: str, own: str
) -> None:
    assert launch_file["below"](pushed, namespace) == own
    given = {"planner": "tour", "namespace": namespace, "ros_namespace": pushed}
    assert {node.namespace for node in started(launch_file, given)} == {own}
