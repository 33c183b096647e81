"""Start the nodes of `planner/bringup.py` with the ROS launch system.

ros2 launch planner bringup.launch.py backend:=embedded planner:=tour
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from planner.bringup import ARGUMENTS, Argument, Arguments, NodeSpec, node_list

RESPAWN_DELAY_S = 1.0


def generate_launch_description() -> LaunchDescription:
    """Declare the bring-up's arguments, then start the nodes that they ask for."""
    return LaunchDescription([*map(declare, ARGUMENTS), OpaqueFunction(function=start)])


def declare(argument: Argument) -> DeclareLaunchArgument:
    """Declare one argument."""
    return DeclareLaunchArgument(
        argument.name,
        default_value=argument.default,
        description=argument.description,
        choices=list(argument.choices) or None,
    )


def start(context: LaunchContext) -> list[Node]:
    """Return the actions that start the nodes, for the arguments as they were given."""
    given = {a.name: LaunchConfiguration(a.name).perform(context) for a in ARGUMENTS}
    return [action(spec) for spec in node_list(Arguments.from_text(given))]


def action(spec: NodeSpec) -> Node:
    """Turn one entry of the list into a launch action."""
    return Node(
        package="planner",
        executable=spec.executable,
        name=spec.name,
        namespace=spec.namespace,
        parameters=[dict(spec.parameters)],
        remappings=list(spec.remappings),
        respawn=spec.respawn,
        respawn_delay=RESPAWN_DELAY_S,
        on_exit=[Shutdown(reason=f"{spec.name} has ended")] if spec.ends_run else None,
        output="screen",
    )
