"""A node's watch over the supervisor that started it."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from planner.ros.guard import guard_of
from planner.ros.waiting import wall_clock
from planner.supervision import supervisor_is_silent

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
