"""The launch file, where the launch packages are: they are on no package index."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("launch_ros", reason="launch and launch_ros come with a distribution's ROS 2")

from launch import Event, LaunchContext
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    OpaqueFunction,
    Shutdown,
    TimerAction,
)
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource

from planner.bringup import node_list
from planner.bringup_arguments import ARGUMENTS, Arguments, option_arguments
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
        ("narrator", 3, "narrator died, status 3"),
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
