"""Start the nodes of `planner/bringup.py` with the ROS launch system.

ros2 launch planner bringup.launch.py backend:=embedded planner:=tour

Asked for by `ros2 launch` it is the whole run: a failure ends it with status 1. Included in another
launch file it changes nothing for the nodes of that file: a failure ends only those started here.
"""

import os
import sys
import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from launch import Action, Condition, LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    OpaqueFunction,
    Shutdown,
    TimerAction,
)
from launch.events.process import ProcessExited, ShutdownProcess
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from planner.bringup import NodeSpec, node_list, restarted
from planner.bringup_arguments import ARGUMENTS, Argument, Arguments, option_arguments
from planner.command_line import EXIT_CONFIGURATION, EXIT_FAILED
from planner.network import confine
from planner.ros.domain_lock import DomainLock, domain_id
from planner.security.policy import (
    clear_enclave_override,
    enclave_arguments,
    refuse_namespace_with_keys,
)
from planner.supervisor import RestartPolicy
from planner.world.errors import PlannerError

PACKAGE = "planner"
RESPAWN_DELAY_S = 1.0
RESTARTS = RestartPolicy(first_delay_s=RESPAWN_DELAY_S)


def generate_launch_description() -> LaunchDescription:
    """Declare the bring-up's arguments, then start the nodes that they ask for."""
    alone = is_asked_for(sys.argv)
    if alone:
        # The launch system may become a ROS node itself; what it starts inherits this.
        restrict(os.environ)
    declared = [declare(each, alone=alone) for each in (*ARGUMENTS, *option_arguments())]
    begin = OpaqueFunction(function=start, kwargs={"alone": alone, "declared": declared})
    return LaunchDescription([*declared, begin])


def is_asked_for(words: Sequence[str]) -> bool:
    """Return whether the command line asks for this file, not for one that includes it."""
    here = Path(__file__)
    for before, word in pairwise(["", *words]):
        path = Path(word)
        if path.name == here.name and (
            before == PACKAGE or (path.is_file() and path.resolve() == here.resolve())
        ):
            return True
    return False


def restrict(environment: MutableMapping[str, str]) -> None:
    """Keep ROS on the loopback, unless asked otherwise, and each node to its own identity."""
    confine(environment)
    clear_enclave_override(environment)


class Declared(DeclareLaunchArgument):
    """An argument that is not left behind for what an including launch file does next."""

    is_ours = False

    def execute(self, context: LaunchContext) -> list[Action] | None:
        """Note whether nobody gave a value, then do as any argument does."""
        self.is_ours = self.name not in context.launch_configurations
        return super().execute(context)


def declare(argument: Argument, *, alone: bool = True) -> Declared:
    """Declare one argument; `alone`: whether the launch system may end the run over its value."""
    return Declared(
        argument.name,
        default_value=argument.default,
        description=argument.description,
        choices=(list(argument.choices) or None) if alone else None,
    )


@dataclass
class Run:
    """The nodes of one bring-up, and what their end means.

    Attributes:
        alone: whether they are the whole launch.
        environment: of their processes only.
        nodes: all that were started.
        restarts: in a row, of each node by name, with when it was last started.
        is_over: whether they were told to end.
    """

    alone: bool = True
    environment: MutableMapping[str, str] = field(default_factory=lambda: dict(os.environ))
    nodes: list[Node] = field(default_factory=list)
    restarts: dict[str, tuple[int, float]] = field(default_factory=dict)
    is_over: bool = False

    def fail(self, reason: str) -> list[Action]:
        """End the nodes after a failure; alone, the launch system ends with status 1."""
        if self.alone:
            raise PlannerError(reason)
        get_logger(PACKAGE).error(f"{reason}; the other nodes of planner are stopped")
        return self.stop()

    def finish(self, reason: str) -> list[Action]:
        """End the nodes after a good end."""
        return [Shutdown(reason=reason)] if self.alone else self.stop()

    def pause_s(self, spec: NodeSpec) -> float:
        """Return the time until a node that died is restarted; it grows for a passive one."""
        now_s = time.monotonic()
        count, started_s = self.restarts.get(spec.name, (0, now_s))
        count = RESTARTS.after(count, now_s - started_s)
        pause_s = RESTARTS.delay_s(count, passive=True) if spec.passive else RESPAWN_DELAY_S
        self.restarts[spec.name] = (count + 1, now_s + pause_s)
        return pause_s

    def stop(self) -> list[Action]:
        """Stop all of these nodes and no others."""
        self.is_over = True
        return [EmitEvent(event=ShutdownProcess(process_matcher=self.nodes.__contains__))]


def start(
    context: LaunchContext, *, alone: bool = True, declared: Sequence[Declared] = ()
) -> list[Node]:
    """Return the actions that start the nodes, for the arguments as they were given."""
    given = {a.name: LaunchConfiguration(a.name).perform(context) for a in ARGUMENTS}
    for option in option_arguments():
        # Options of all planners are declared; pass on only those that were set.
        if (text := LaunchConfiguration(option.name).perform(context)) != option.default:
            given[option.name] = text
    for argument in declared:
        if argument.is_ours:
            context.launch_configurations.pop(argument.name, None)
    run = Run(alone, dict(context.environment))
    try:
        specs = specs_of(given, context.launch_configurations.get("ros_namespace", ""), run)
    except PlannerError as error:
        if alone:
            raise
        get_logger(PACKAGE).error(f"{error}; no node of planner is started")
        return []
    return [action(spec, run) for spec in specs]


def specs_of(given: dict[str, str], pushed: str, run: Run) -> tuple[NodeSpec, ...]:
    """Return the nodes that these arguments ask for, below a pushed namespace.

    Raises:
        PlannerError: for a wrong argument or environment, or if another run has the domain.
    """
    args = Arguments.from_text(given)
    own = below(pushed, args.namespace)
    namespace = "/" + "/".join(part for part in (pushed.strip("/"), own) if part)
    restrict(run.environment)
    refuse_namespace_with_keys(run.environment, namespace)
    DomainLock(domain_id(run.environment), namespace).close()  # raises if another run has it
    return node_list(replace(args, namespace=f"/{own}"))


def below(pushed: str, namespace: str) -> str:
    """Return what `namespace` adds to the one of PushRosNamespace; empty for nothing.

    A launch file that pushes its argument `namespace` also passes it on, as the launch system does
    with all arguments: that is one prefix, not two.
    """
    outer, own = (name.strip("/").split("/") for name in (pushed, namespace))
    return "" if outer[-len(own) :] == own else "/".join(own)


def action(spec: NodeSpec, run: Run | None = None) -> Node:
    """Turn one entry of the list into a launch action."""
    run = run or Run()
    node = Node(
        package=PACKAGE,
        executable=spec.executable,
        name=spec.name,
        # Relative, so that PushRosNamespace moves it.
        namespace=spec.namespace.strip("/"),
        # The last file takes precedence.
        parameters=[dict(spec.parameters), *filter(None, [spec.params_file])],
        remappings=list(spec.remappings),
        ros_arguments=[
            *log_words(spec),
            *enclave_arguments(run.environment, spec.executable),
        ],
        env=dict(run.environment),
        # One that is to be restarted may find that all were stopped meanwhile.
        condition=Condition(predicate=lambda _: not run.is_over),
        on_exit=after(spec, run),
        output="screen",
    )
    run.nodes.append(node)
    return node


def log_words(spec: NodeSpec) -> list[str]:
    """Return the ROS arguments that set a node's log level; none for the level of ROS itself."""
    return [] if spec.log_level == "info" else ["--log-level", spec.log_level]


def after(
    spec: NodeSpec, run: Run | None = None
) -> Callable[[ProcessExited, LaunchContext], list[Action]]:
    """Return the handler of a node's end, which restarts it or ends the run."""
    run = run or Run()

    def ended(event: ProcessExited, context: LaunchContext) -> list[Action]:
        if context.is_shutdown or run.is_over:
            return []
        # One that was restarted has run as it is configured: the cause may be temporary.
        if event.returncode == EXIT_CONFIGURATION and spec.name not in run.restarts:
            return run.fail(f"{spec.name} cannot run as configured")
        if event.returncode == EXIT_FAILED and spec.ends_run:
            return run.fail(f"{spec.name} ended without success")
        died = event.returncode != 0
        if died and not (spec.respawn or spec.passive):
            return run.fail(f"{spec.name} died, status {event.returncode}")
        if spec.respawn or died:
            # Not `respawn` of the launch system, which starts it with the same parameters.
            return [TimerAction(period=run.pause_s(spec), actions=[action(restarted(spec), run)])]
        return run.finish(f"{spec.name} is done") if spec.ends_run else []

    return ended
