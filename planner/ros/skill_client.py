"""The client of one agent's skills, for planners; runs in the executor's thread."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from diagnostic_msgs.msg import KeyValue
from planner_msgs.action import ExecuteSkill
from planner_msgs.msg import SkillReport
from rclpy.node import Node

from planner.ros.clients import MatchedClient, why_no_result
from planner.ros.conversions import header, point_message, time_message
from planner.ros.goal_server import ActionPeers, Peers, accept_timeout_s
from planner.ros.subscriptions import bounds_of
from planner.world import topics
from planner.world.memory_wire import result_record
from planner.world.skill import SkillCall, SkillCode, SkillResult

# Wall seconds: between log lines about a missing server, timeout for the server, timeout for its
# answer to a cancel request.
LOG_PERIOD_S = 5.0
WAIT_FOR_SERVER_S = 60.0
CANCEL_TIMEOUT_S = 5.0
_CHECK_PERIOD_S = 0.2

OnEnd = Callable[[SkillResult], None]


@dataclass(slots=True)
class _PendingCall:
    """A requested call; times are monotonic wall seconds."""

    call: SkillCall
    on_end: OnEnd
    began_s: float
    sent: bool = False
    sent_s: float = 0.0
    servers: Peers | None = None
    handle: Any = None
    cancel_s: float | None = None
    over: bool = False


class SkillClient:
    """Sends one call at a time to /AGENT/skill; every call ends, even if the server dies."""

    def __init__(self, node: Node, agent: str) -> None:
        self._node = node
        self._agent = agent
        self._client = MatchedClient(node, ExecuteSkill, topics.of_agent(agent, topics.SKILL))
        self._ends = ActionPeers(node, topics.of_agent(agent, topics.SKILL))
        self._pending: _PendingCall | None = None
        self._checked_s = self._logged_s = 0.0

    def begin(self, call: SkillCall, on_end: OnEnd) -> None:
        """Sends a call; `on_end` gets its result once."""
        if self._pending is not None and not self._pending.over:
            text = f"The agent is busy with {self._pending.call}."
            on_end(SkillResult.failure(SkillCode.BUSY, text))
            return
        pending = self._pending = _PendingCall(call, on_end, time.monotonic())
        self._send(pending)

    def cancel(self) -> None:
        """Requests cancellation of the running call."""
        pending = self._pending
        if pending is None or pending.over or pending.cancel_s is not None:
            return
        pending.cancel_s = time.monotonic()
        if not pending.sent:
            self._end(pending, SkillResult.failure(SkillCode.CANCELED, "The skill was canceled."))
        elif pending.handle is not None:
            pending.handle.cancel_goal_async()

    @property
    def is_busy(self) -> bool:
        """Whether a call is running or its result is still to be delivered."""
        return self._pending is not None and not self._pending.over

    def watch(self) -> None:
        """Handles missing and lost servers; to be called a few times a second."""
        pending, wall_s = self._pending, time.monotonic()
        if pending is None or pending.over:
            return
        if not pending.sent:
            self._send(pending)
            self._wait(pending, wall_s)
        elif pending.cancel_s is not None and wall_s - pending.cancel_s > CANCEL_TIMEOUT_S:
            self._end(
                pending, SkillResult.failure(SkillCode.BACKEND_FAULT, "The skills do not answer.")
            )
        elif pending.servers is not None and wall_s - self._checked_s >= _CHECK_PERIOD_S:
            self._checked_s = wall_s
            reason = self._ends.lost_server(pending.servers)
            if pending.handle is None and (reason or self._accept_timed_out(pending, wall_s)):
                # The goal was not accepted, so no agent moves: it is sent again.
                pending.sent = False
            elif reason:
                pending.handle.cancel_goal_async()
                self._end(
                    pending, SkillResult.failure(SkillCode.BACKEND_FAULT, f"The skills: {reason}.")
                )

    def _accept_timed_out(self, pending: _PendingCall, wall_s: float) -> bool:
        return wall_s - pending.sent_s > accept_timeout_s(pending.servers)

    def destroy(self) -> None:
        """Cancels the call and removes the client."""
        self.cancel()
        self._client.destroy()

    def _wait(self, pending: _PendingCall, wall_s: float) -> None:
        if pending.sent:
            return
        if wall_s - pending.began_s > WAIT_FOR_SERVER_S:
            text = f"No skill executor answers for {self._agent}."
            self._end(pending, SkillResult.failure(SkillCode.BACKEND_FAULT, text))
        elif wall_s - self._logged_s > LOG_PERIOD_S:
            self._logged_s = wall_s
            self._node.get_logger().info(f"waiting for the skills of {self._agent}")

    def _send(self, pending: _PendingCall) -> None:
        if not self._client.is_ready():
            return
        pending.sent, pending.sent_s = True, time.monotonic()
        pending.servers = self._ends.servers()
        future = self._client.send(ExecuteSkill.Goal(call=str(pending.call)))
        future.add_done_callback(lambda done: self._accepted(pending, done.result()))

    def _accepted(self, pending: _PendingCall, handle: Any) -> None:
        if handle is None or not handle.accepted:
            self._end(
                pending,
                SkillResult.failure(SkillCode.BACKEND_FAULT, "The skills refused the goal."),
            )
            return
        if pending.over:
            # Accepted after it was given up.
            handle.cancel_goal_async()
            return
        if pending.handle is not None:
            # Sent and accepted twice: it is one call there (PARTNR-D55).
            return
        pending.handle, pending.servers = handle, self._ends.takers()
        if pending.cancel_s is not None:
            handle.cancel_goal_async()
        answer = handle.get_result_async()
        answer.add_done_callback(lambda done: self._answered(pending, done.result()))

    def _answered(self, pending: _PendingCall, answer: Any) -> None:
        reason = why_no_result(answer)
        if reason:
            text = f"The skills gave no result: {reason}."
            self._end(pending, SkillResult.failure(SkillCode.BACKEND_FAULT, text))
            return
        if problem := bounds_of(ExecuteSkill.Result).problem(answer.result, 0.0):
            text = f"The skills' result is out of bounds: {problem}."
            self._end(pending, SkillResult.failure(SkillCode.BACKEND_FAULT, text))
            return
        try:
            result = result_record(answer.result)
        except ValueError:
            text = f"The skills answered with the unknown code {answer.result.code}."
            result = SkillResult.failure(SkillCode.BACKEND_FAULT, text)
        self._end(pending, result)

    def _end(self, pending: _PendingCall, result: SkillResult) -> None:
        if not pending.over:
            pending.over = True
            pending.on_end(result)


# Ends of skill calls as planner_msgs; `planner.world.memory_wire` reads them back.


def result_message(result: SkillResult) -> ExecuteSkill.Result:
    """The result of the action `skill`."""
    message = ExecuteSkill.Result(stamp=time_message(result.ended_s or 0.0))
    _fill(message, result)
    return message


def report_message(agent: str, call: SkillCall, result: SkillResult, ended_s: float) -> SkillReport:
    """A call that ended, as /skills/results carries it."""
    message = SkillReport(
        header=header(ended_s, "map"), agent=agent, call=str(call), part_of=result.part_of
    )
    _fill(message, result)
    return message


def _fill(message: Any, result: SkillResult) -> None:
    message.code, message.text = int(result.code), result.text
    message.has_position = result.position_m is not None
    message.position = point_message(result.position_m or (0.0, 0.0, 0.0))
    message.has_holding = result.holding is not None
    message.holding = result.holding or ""
    message.hands = [name or "" for name in result.hands or ()]
    message.duration_s = math.nan if result.duration_s is None else result.duration_s
    message.rule = result.rule
    message.evidence = [KeyValue(key=key, value=value) for key, value in result.evidence.items()]
