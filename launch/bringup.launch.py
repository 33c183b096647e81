"""Start the nodes of `planner/bringup.py` with the ROS launch system.

ros2 launch planner bringup.launch.py backend:=embedded planner:=tour
"""

import os
from collections.abc import Callable

from launch import Action, LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown, TimerAction
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from planner.bringup import NodeSpec, node_list, restarted
from planner.bringup_arguments import ARGUMENTS, Argument, Arguments, option_arguments
from planner.exit_status import EXIT_CONFIGURATION, EXIT_FAILED
from planner.network import confine
from planner.ros.domain_lock import DomainLock, domain_id
from planner.security.enclave import (
    clear_enclave_override,
    enclave_arguments,
    refuse_namespace_with_keys,
)
from planner.world.errors import PlannerError

RESPAWN_DELAY_S = 1.0


def generate_launch_description() -> LaunchDescription:
    """Declare the bring-up's arguments, then start the nodes that they ask for."""
    # The launch system may become a ROS node itself; what it starts inherits this.
    confine(os.environ)
    clear_enclave_override(os.environ)
    arguments = (*ARGUMENTS, *option_arguments())
    return LaunchDescription([*map(declare, arguments), OpaqueFunction(function=start)])


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
    for option in option_arguments():
        # Options of all planners are declared; pass on only those that were set.
        if (text := LaunchConfiguration(option.name).perform(context)) != option.default:
            given[option.name] = text
    args = Arguments.from_text(given)
    # PushRosNamespace of a launch file that includes this one.
    pushed = context.launch_configurations.get("ros_namespace", "").strip("/")
    namespace = "/" + "/".join(part for part in (pushed, args.namespace.strip("/")) if part)
    refuse_namespace_with_keys(os.environ, namespace)
    DomainLock(domain_id(os.environ), namespace).close()  # raises if another run has the domain
    return [action(spec) for spec in node_list(args)]


def action(spec: NodeSpec) -> Node:
    """Turn one entry of the list into a launch action."""
    return Node(
        package="planner",
        executable=spec.executable,
        name=spec.name,
        # Relative, so that PushRosNamespace moves it.
        namespace=spec.namespace.strip("/"),
        # The last file takes precedence.
        parameters=[dict(spec.parameters), *filter(None, [spec.params_file])],
        remappings=list(spec.remappings),
        ros_arguments=[*log_words(spec), *enclave_arguments(os.environ, spec.executable)],
        on_exit=after(spec),
        output="screen",
    )


def log_words(spec: NodeSpec) -> list[str]:
    """Return the ROS arguments that set a node's log level; none for the level of ROS itself."""
    return [] if spec.log_level == "info" else ["--log-level", spec.log_level]


def after(spec: NodeSpec) -> Callable[[ProcessExited, LaunchContext], list[Action]]:
    """Return the handler of a node's end, which restarts it or ends the run.

    It raises on errors: the launch system then stops everything and ends with status 1.
    """

    def ended(event: ProcessExited, context: LaunchContext) -> list[Action]:
        if context.is_shutdown:
            return []
        if event.returncode == EXIT_CONFIGURATION:
            raise PlannerError(f"{spec.name} cannot run as configured")
        if event.returncode == EXIT_FAILED and spec.ends_run:
            raise PlannerError(f"{spec.name} ended without success")
        if event.returncode != 0 and not spec.respawn:
            raise PlannerError(f"{spec.name} died, status {event.returncode}")
        if spec.respawn:
            # Not `respawn` of the launch system, which starts it with the same parameters.
            return [TimerAction(period=RESPAWN_DELAY_S, actions=[action(restarted(spec))])]
        return [Shutdown(reason=f"{spec.name} is done")] if spec.ends_run else []

    return ended
