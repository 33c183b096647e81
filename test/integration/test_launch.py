"""The launch file, where the launch packages are: they are on no package index."""

from pathlib import Path

import pytest

pytest.importorskip("launch_ros", reason="launch and launch_ros come with a distribution's ROS 2")

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource

from planner.bringup import ARGUMENTS, Arguments, node_list

FILE = Path(__file__).parents[2] / "launch" / "bringup.launch.py"


def test_the_launch_file_starts_the_one_list() -> None:
    context = LaunchContext()
    description = PythonLaunchDescriptionSource(str(FILE)).get_launch_description(context)
    declared = [e for e in description.entities if isinstance(e, DeclareLaunchArgument)]
    assert [d.name for d in declared] == [argument.name for argument in ARGUMENTS]
    for each in declared:
        each.visit(context)
    context.launch_configurations["planner"] = "tour"
    (opaque,) = (e for e in description.entities if isinstance(e, OpaqueFunction))
    actions = opaque.execute(context)
    assert actions is not None
    expected = node_list(Arguments(planner="tour"))
    assert [a.node_executable for a in actions] == [spec.executable for spec in expected]
