"""The life of a node's process: start, spin, one clean end, and its exit status."""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence

import rclpy
from rclpy.exceptions import ROSInterruptException
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.node import Node
from rclpy.task import Future

from planner.exit_status import EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK
from planner.network import confine
from planner.ros.guard import SHUTDOWN_ERRORS, SHUTDOWN_S, GuardedExecutor
from planner.ros.known_programs import prove
from planner.ros.managed_node import ManagedNode
from planner.ros.supervision import SupervisorWatch
from planner.world.errors import PlannerError

_POLL_PERIOD_S = 0.02  # wall seconds


def run_node(
    make_node: Callable[[], Node],
    argv: Sequence[str] | None = None,
    *,
    make_executor: Callable[[], Executor] = GuardedExecutor,
    large_messages: bool = False,
) -> int:
    """Run one node until it is asked to stop, and return the process's exit status.

    ROS stays on the loopback unless the environment says otherwise, see `planner.network`. The
    node's `destroy_node` is always called, to release what the node holds.

    Args:
        make_node: called once ROS is up; a `PlannerError` from it is a configuration error.
        argv: the process's arguments, program name first; default `sys.argv`.
        make_executor: a single-threaded executor is the fastest by far; a node that needs another
            one passes it here. What callbacks raise does not end the node, see `planner.ros.guard`.
        large_messages: whether the node sends pictures.

    Returns:
        0 after SIGINT, SIGTERM or a shutdown of ROS; `EXIT_CONFIGURATION` (78) if ROS or the node
            cannot run as configured; 1 after a `PlannerError` of an `essential` callback. These
            errors are reported in one line. Any other exception is a defect and is passed on.
    """
    sys.unraisablehook = _report_unraisable
    try:
        confine(os.environ, large_messages=large_messages)
    except PlannerError as error:
        return _report(str(error), EXIT_CONFIGURATION)
    try:
        rclpy.init(args=list(sys.argv if argv is None else argv))
    except Exception as error:
        # rclpy raises different classes for invalid arguments and environments.
        return _report(f"ROS cannot start: {error}", EXIT_CONFIGURATION)
    node: Node | None = None
    try:
        try:
            node = make_node()
            SupervisorWatch(node)
            prove(node)
            if isinstance(node, ManagedNode):
                node.start()
        except PlannerError as error:
            return _report(str(error), EXIT_CONFIGURATION)
        executor = make_executor()
        executor.add_node(node)
        try:
            executor.spin()
        finally:
            # The clean-up must not be interrupted by a second Ctrl-C.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            executor.shutdown(timeout_sec=1.0)
    except PlannerError as error:
        return _report(str(error), EXIT_FAILED)
    except (KeyboardInterrupt, ExternalShutdownException, ROSInterruptException):
        return EXIT_OK
    except SHUTDOWN_ERRORS:
        if not _is_shutting_down():
            raise
        return EXIT_OK
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return EXIT_OK


def _report_unraisable(report: "sys.UnraisableHookArgs") -> None:
    """Reports an exception as Python does, except those that Ctrl-C causes at a clean end.

    `Future.__del__` reads a field that its `__init__` had not set yet when it was interrupted. A
    destructor may be interrupted too: ROS is shut down by then, so nothing is lost.
    """
    if isinstance(report.exc_value, KeyboardInterrupt):
        return
    if report.object is Future.__del__ and isinstance(report.exc_value, AttributeError):
        return
    sys.__unraisablehook__(report)


def _is_shutting_down() -> bool:
    """Whether ROS is shut down or will be: the signal's thread may lag a little behind."""
    until_s = time.monotonic() + SHUTDOWN_S
    while rclpy.ok() and time.monotonic() < until_s:
        time.sleep(_POLL_PERIOD_S)
    return not bool(rclpy.ok())


def _report(message: str, status: int) -> int:
    print(f"error: {message}", file=sys.stderr, flush=True)
    return status
