"""The life of a node: managed states, its process from start to end, and its supervisor."""

from __future__ import annotations

import os
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.action.client import ActionClient
from rclpy.action.server import ActionServer
from rclpy.exceptions import ROSInterruptException
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.signals import uninstall_signal_handlers
from rclpy.task import Future
from rclpy.timer import Timer

from planner.command_line import EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK, supervisor_is_silent
from planner.network import confine
from planner.ros import parameters, qos
from planner.ros.clients import WaitingNotice, prove, wall_clock
from planner.ros.guard import (
    SHUTDOWN_ERRORS,
    SHUTDOWN_S,
    GuardedExecutor,
    SafePublisher,
    essential,
    guard_of,
    status_name,
)
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.process_resources import settle_memory

# A managed (lifecycle) node that brings itself up (docs/architecture.md, "States of nodes").

STATUS_PERIOD_S = 1.0
# Between two checks of the graph; nodes of a bring-up come up within a second of each other.
LOOK_PERIOD_S = 0.05


class ManagedNode(LifecycleNode, ABC):
    """A node with the states unconfigured, inactive, active and finalized.

    A subclass declares its parameters in its constructor, so that invalid ones end the process.
    Everything else is created in `configure` and gone after `cleanup`. While the node is not active
    it accepts no work and answers with `refusal`.

    The state is on `/diagnostics` and in the services and the topic of every managed node.

    Attributes:
        is_active: whether it accepts work; True as soon as `activate` begins.
    """

    def __init__(self, name: str) -> None:
        """Declares the parameters of every managed node; `start` brings it up.

        Raises:
            ParameterError: for an invalid one.
        """
        super().__init__(name)
        try:
            self._autostart = parameters.flag(
                self, "autostart", True, "whether the node configures and activates itself"
            )
            self._start_after = parameters.text(
                self, "start_after", "", "topic that is to be published first; empty = none"
            )
        except PlannerError:
            super().destroy_node()
            raise
        self.is_active = self._was_active = self._is_configured = self._is_starting = False
        self._lasting: set[Any] = set()
        self._error: Exception | None = None
        self._look_timer: Timer | None = None
        self._state_publisher = SafePublisher(
            self, DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS, Counter()
        )
        self.create_timer(STATUS_PERIOD_S, self._publish_state, clock=wall_clock())

    @property
    def state(self) -> str:
        """The label of the node's state, such as `active`."""
        return str(self._state_machine.current_state[1])

    @property
    def refusal(self) -> str:
        """Why no work is accepted now; "" if the node is active."""
        if self.is_active:
            return ""
        name = self.get_fully_qualified_name()
        return f"{self.get_name()} is {self.state}: `ros2 lifecycle set {name} activate`"

    def start(self) -> None:
        """Brings the node up, at once or after `start_after`; to be called before it is spun.

        Raises:
            Exception: whatever `configure` or `activate` raise.
        """
        if not self._autostart:
            self.get_logger().info(f"{self.state}: `autostart` is off")
        elif self._start_after:
            WaitingNotice(self, self._missing_before)
            self._look_timer = self.create_timer(
                LOOK_PERIOD_S, essential(self._look_for_it), clock=wall_clock()
            )
        else:
            self._bring_up()

    @abstractmethod
    def configure(self) -> None:
        """Creates topics, services, actions, timers and threads."""

    def activate(self) -> None:
        """Starts work; publishes latched messages."""

    def deactivate(self) -> None:
        """Ends the work in progress; knowledge is kept."""

    def cleanup(self) -> None:
        """Saves what is to be kept and ends threads; entities are destroyed by the base class."""

    def destroy_node(self) -> None:
        """Acts as a transition to finalized."""
        if self._is_configured:
            self._is_configured = False
            self.cleanup()
        super().destroy_node()

    # Transitions

    def on_configure(self, _state: LifecycleState) -> TransitionCallbackReturn:
        """See `configure`."""
        self._lasting = {entity for _, entity in self._entities()}
        result = self._try(self.configure)
        self._is_configured = result == TransitionCallbackReturn.SUCCESS
        return result

    def on_activate(self, _state: LifecycleState) -> TransitionCallbackReturn:
        """See `activate`."""
        self.is_active = self._was_active = True
        return self._try(self.activate)

    def on_deactivate(self, _state: LifecycleState) -> TransitionCallbackReturn:
        """See `deactivate`."""
        self.is_active = False
        return self._try(self.deactivate)

    def on_cleanup(self, _state: LifecycleState) -> TransitionCallbackReturn:
        """See `cleanup`."""
        return self._try(self._free)

    def on_shutdown(self, _state: LifecycleState) -> TransitionCallbackReturn:
        """Frees everything; the process stays up, so that the state can be read."""
        return self._try(self._free)

    def on_error(self, _state: LifecycleState) -> TransitionCallbackReturn:
        """Returns to unconfigured after an exception in another transition."""
        return self._try(self._free)

    def _try(self, step: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            step()
        except Exception as error:  # rclpy drops it: keep it for `start` and the log
            self._error = error
            if not self._is_starting:
                self.get_logger().error(f"{self.state}: {error!r}")
            return TransitionCallbackReturn.ERROR
        return TransitionCallbackReturn.SUCCESS

    def _free(self) -> None:
        self.is_active = False
        if self._is_configured:
            self._is_configured = False
            self.cleanup()
        for destroy, entity in list(self._entities()):
            if self._lasting and entity not in self._lasting:
                destroy(entity)

    def _entities(self) -> Iterator[tuple[Callable[[Any], object], Any]]:
        """The node's ROS entities, with the functions that destroy them."""
        for waitable in self.waitables:
            # Other waitables belong to subscriptions and publishers.
            if isinstance(waitable, ActionServer | ActionClient):
                yield type(waitable).destroy, waitable
        for entities, destroy in (
            (self.publishers, self.destroy_publisher),
            (self.subscriptions, self.destroy_subscription),
            (self.clients, self.destroy_client),
            (self.services, self.destroy_service),
            (self.timers, self.destroy_timer),
            (self.guards, self.destroy_guard_condition),
        ):
            yield from ((destroy, entity) for entity in entities)

    # Bring-up

    def _bring_up(self) -> None:
        self._is_starting = True
        for transition in (self.trigger_configure, self.trigger_activate):
            if transition() != TransitionCallbackReturn.SUCCESS:
                raise self._error or RuntimeError(f"{self.get_name()} stays {self.state}")
        self._is_starting = False
        self._publish_state()

    def _missing_before(self) -> list[str]:
        if self.state != "unconfigured" or self.count_publishers(self._start_after):
            return []
        return [f"{self.resolve_topic_name(self._start_after)}, after which it starts"]

    def _look_for_it(self) -> None:
        if self._look_timer is not None and not self._missing_before():
            self.destroy_timer(self._look_timer)
            self._look_timer = None
            # An operator may have been faster.
            if self.state == "unconfigured":
                self._bring_up()

    def _publish_state(self) -> None:
        # A node that is still coming up is not a problem.
        bad = self._was_active and self.state != "active"
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN if bad else DiagnosticStatus.OK,
            name=status_name(self, f"{self.get_name()}: state"),
            message=self.state,
            hardware_id=self.get_name(),
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.get_clock().now().to_msg()
        self._state_publisher.publish(message)


# A node's watch over the supervisor that started it.

_LOOK_S = 1.0


class SupervisorWatch:
    """Says on the log and on `/diagnostics` when the supervisor is silent, and when it is back."""

    def __init__(self, node: Node) -> None:
        """Watches from now on; without a supervisor there is nothing to say."""
        self._node, self._was_silent = node, False
        node.create_timer(_LOOK_S, self._look, clock=wall_clock())

    def _look(self) -> None:
        is_silent = supervisor_is_silent()
        if is_silent != self._was_silent:
            log = self._node.get_logger()
            if is_silent:
                log.error(
                    "`planner up` is silent, stopped or held by its terminal: it restarts nothing, "
                    "hears no Ctrl-C, and real robots are not attended until it is back"
                )
            else:
                log.info("`planner up` is back")
        if is_silent or self._was_silent:
            level = DiagnosticStatus.WARN if is_silent else DiagnosticStatus.OK
            guard_of(self._node).report("supervisor", level, "silent" if is_silent else "back", {})
        self._was_silent = is_silent


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
    settle_memory()
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
    executor: Executor | None = None
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
            _ignore_signals()
    except PlannerError as error:
        return _report(str(error), EXIT_FAILED)
    except (KeyboardInterrupt, ExternalShutdownException, ROSInterruptException):
        return EXIT_OK
    except SHUTDOWN_ERRORS:
        if not _is_shutting_down():
            raise
        return EXIT_OK
    finally:
        _ignore_signals()
        # Waits for the thread that wakes executors after a signal: it still reads their list, which
        # an executor's end frees.
        uninstall_signal_handlers()
        if executor is not None:
            executor.shutdown(timeout_sec=1.0)
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return EXIT_OK


def _ignore_signals() -> None:
    """The clean-up must not be interrupted by a second Ctrl-C."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _report_unraisable(report: sys.UnraisableHookArgs) -> None:
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
