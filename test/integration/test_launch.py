"""The launch file, where the launch packages are: they are on no package index."""

import json
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("launch_ros", reason="launch and launch_ros come with a distribution's ROS 2")

from launch import Action, Event, LaunchContext, LaunchDescription, LaunchService
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, PushRosNamespace

from planner.bringup import node_list
from planner.bringup_arguments import ARGUMENTS, Arguments, option_arguments
from planner.network import PROFILES, RANGE
from planner.world.errors import PlannerError

FILE = Path(__file__).parents[2] / "launch" / "bringup.launch.py"


def test_the_launch_file_starts_the_one_list() -> None:
    context = LaunchContext()
    description = PythonLaunchDescriptionSource(str(FILE)).get_launch_description(context)
    declared = [e for e in description.entities if isinstance(e, DeclareLaunchArgument)]
    assert [d.name for d in declared] == [a.name for a in (*ARGUMENTS, *option_arguments())]
    for each in declared:
        each.visit(context)
    context.launch_configurations["planner"] = "tour"
    (opaque,) = (e for e in description.entities if isinstance(e, OpaqueFunction))
    # Nobody asked for this file on the command line: it is included.
    actions = opaque.execute(context)
    assert actions is not None
    expected = node_list(Arguments(planner="tour"))
    assert [a.node_executable for a in actions] == [spec.executable for spec in expected]


@pytest.mark.parametrize("is_secured", ["true", "false"])
def test_each_node_gets_its_identity_where_keys_are_used(
    is_secured: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROS_SECURITY_ENABLE", is_secured)
    given: list[dict[str, object]] = []
    make = runpy.run_path(str(FILE))["action"]
    monkeypatch.setitem(make.__globals__, "Node", lambda **fields: given.append(fields))
    for spec in node_list(Arguments(planner="tour")):
        make(spec)
    words = [["--enclave", f"/planner/{name}"] for name in ("bridge", "tour")]
    assert [each["ros_arguments"] for each in given] == (
        words if is_secured == "true" else [[], []]
    )


@pytest.mark.parametrize(
    ("executable", "status", "outcome"),
    [
        ("bridge", 78, "bridge cannot run as configured"),
        ("bridge", 1, "TimerAction"),  # it is started again
        ("narrator", 0, "Shutdown"),
        ("narrator", 1, "narrator ended without success"),
        ("narrator", 3, "TimerAction"),
    ],
)
def test_the_end_of_a_node_is_the_end_of_the_run_where_up_would_end_it(
    executable: str, status: int, outcome: str
) -> None:
    after = runpy.run_path(str(FILE))["after"]
    specs = node_list(Arguments(episode="night_light_0", narrate=True))
    (spec,) = (s for s in specs if s.executable == executable)
    ended = ProcessExited(
        action=EmitEvent(event=Event()),
        name=executable,
        cmd=[],
        cwd=None,
        env=None,
        pid=1,
        returncode=status,
    )
    kinds = {"Shutdown": Shutdown, "TimerAction": TimerAction}
    if outcome in kinds:
        assert [type(each) for each in after(spec)(ended, LaunchContext())] == [kinds[outcome]]
    else:
        with pytest.raises(PlannerError, match=outcome):
            after(spec)(ended, LaunchContext())


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package in an ament index, as an installation has it."""
    prefix = tmp_path / "prefix"
    index, programs = prefix / "share/ament_index/resource_index/packages", prefix / "lib/planner"
    for folder in (index, programs):
        folder.mkdir(parents=True)
    (index / "planner").touch()
    for program in (FILE.parents[1] / "nodes").iterdir():
        if program.is_file():
            start = programs / program.name
            start.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n')
            start.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{prefix}:{os.environ.get('AMENT_PREFIX_PATH', '')}")
    monkeypatch.delenv(PROFILES, raising=False)
    monkeypatch.delenv(RANGE, raising=False)


def shows_environment(file: Path) -> ExecuteProcess:
    """A program of somebody else, which writes its environment."""
    code = f"import json, os; json.dump(dict(os.environ), open({str(file)!r}, 'w'))"
    return ExecuteProcess(cmd=[sys.executable, "-c", code])


def robot(
    given: dict[str, str],
    others: list[Action],
    when_ours_ended: Callable[[list[Any]], list[Action]],
) -> LaunchDescription:
    """Somebody's launch file: it pushes its argument `namespace` around ours."""
    started: list[Any] = []

    def note(event: Any, _context: LaunchContext) -> list[Action]:
        if isinstance(event.action, Node):
            started.append(event)
            if len(started) == 2:  # bridge and tour
                return when_ours_ended(started)
        return []

    source = PythonLaunchDescriptionSource(str(FILE))
    include = IncludeLaunchDescription(source, launch_arguments=given.items())
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="robot1"),
            RegisterEventHandler(OnProcessExit(on_exit=note)),
            GroupAction([PushRosNamespace(LaunchConfiguration("namespace")), include]),
            *others,
        ]
    )


@pytest.mark.slow
def test_included_it_changes_nothing_for_the_nodes_of_others(
    tmp_path: Path, installed: None
) -> None:
    own = ExecuteProcess(cmd=["sleep", "600"])
    seen: dict[str, Any] = {}

    def ended(events: list[Any]) -> list[Action]:
        seen["commands"] = [" ".join(event.cmd) for event in events]
        seen["is_own_running"] = own.return_code is None
        last = shows_environment(tmp_path / "after.json")
        end = OnProcessExit(target_action=last, on_exit=[Shutdown(reason="all is seen")])
        return [RegisterEventHandler(end), last]

    others: list[Action] = [own, shows_environment(tmp_path / "before.json")]
    service = LaunchService(noninteractive=True)
    service.include_launch_description(
        robot({"house": "no_such_house", "planner": "tour"}, others, ended)
    )
    service.run()
    assert seen["is_own_running"], "a wrong name of a house ends nobody else's node"
    assert all("__ns:=/robot1 " in command for command in seen["commands"]), "one prefix"
    for name in ("before.json", "after.json"):
        environment = json.loads((tmp_path / name).read_text())
        assert PROFILES not in environment
        assert RANGE not in environment


@pytest.mark.slow
def test_asked_for_by_ros2_launch_a_failure_is_status_1(
    installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["ros2", "launch", str(FILE)])
    given = {"house": "no_such_house", "planner": "tour"}
    source = PythonLaunchDescriptionSource(str(FILE))
    service = LaunchService(noninteractive=True)
    service.include_launch_description(
        LaunchDescription([IncludeLaunchDescription(source, launch_arguments=given.items())])
    )
    assert service.run() == 1


def test_what_it_declares_is_not_left_behind() -> None:
    context = LaunchContext()
    context.launch_configurations["house"] = "train_0"
    description = PythonLaunchDescriptionSource(str(FILE)).get_launch_description(context)
    for entity in description.entities:
        entity.visit(context)
    assert dict(context.launch_configurations) == {"house": "train_0"}
