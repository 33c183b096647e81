"""The client of one agent's skills, for planners; it lives in the executor's thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planner_msgs.action import ExecuteSkill
from rclpy.action.client import ActionClient
from rclpy.node import Node

from planner.ros.action_peers import ActionPeers, accept_timeout_s
from planner.ros.goal_answers import why_no_result
from planner.ros.presence import Peers
from planner.world import topics
from planner.world.memory_wire import result_record
from planner.world.skill import SkillCall, SkillCode, SkillResult

# Wall seconds: between two words about a server that is not there, until it is given up, and
# until a server that does not answer a cancel is.
LOG_PERIOD_S = 5.0
WAIT_FOR_SERVER_S = 60.0
CANCEL_TIMEOUT_S = 5.0
_CHECK_PERIOD_S = 0.2

OnEnd = Callable[[SkillResult], None]


@dataclass(slots=True)
class _PendingCall:
    """A call that was asked for; times are of the monotonic wall clock."""

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
    """Asks /AGENT/skill for one call at a time; every call ends, whoever dies."""

    def __init__(self, node: Node, agent: str) -> None:
        self._node = node
        self._agent = agent
        self._client: ActionClient[Any, Any, Any] = ActionClient(
            node, ExecuteSkill, topics.of_agent(agent, topics.SKILL)
        )
        self._ends = ActionPeers(node, topics.of_agent(agent, topics.SKILL))
        self._errand: _PendingCall | None = None
        self._looked_s = self._said_s = 0.0

    def begin(self, call: SkillCall, on_end: OnEnd) -> None:
        """Asks for a call; `on_end` hears its result once."""
        if self._errand is not None and not self._errand.over:
            text = f"The agent is busy with {self._errand.call}."
            on_end(SkillResult.failure(SkillCode.BUSY, text))
            return
        errand = self._errand = _PendingCall(call, on_end, time.monotonic())
        self._send(errand)

    def cancel(self) -> None:
        """Asks for the end of the call under way."""
        errand = self._errand
        if errand is None or errand.over or errand.cancel_s is not None:
            return
        errand.cancel_s = time.monotonic()
        if not errand.sent:
            self._end(errand, _failure(SkillCode.CANCELED, "The skill was canceled."))
        elif errand.handle is not None:
            errand.handle.cancel_goal_async()

    @property
    def is_busy(self) -> bool:
        """Whether a call is under way, or its end is not told yet."""
        return self._errand is not None and not self._errand.over

    def watch(self) -> None:
        """To be called a few times a second: waits for servers, and notes those that are lost."""
        errand, wall_s = self._errand, time.monotonic()
        if errand is None or errand.over:
            return
        if not errand.sent:
            self._send(errand)
            self._wait(errand, wall_s)
        elif errand.cancel_s is not None and wall_s - errand.cancel_s > CANCEL_TIMEOUT_S:
            self._end(errand, _failure(SkillCode.BACKEND_FAULT, "The skills do not answer."))
        elif errand.servers is not None and wall_s - self._looked_s >= _CHECK_PERIOD_S:
            self._looked_s = wall_s
            reason = self._ends.lost_server(errand.servers)
            if errand.handle is None and (reason or self._unheard(errand, wall_s)):
                # No agent moves for a goal that nobody took: it is sent again.
                errand.sent = False
            elif reason:
                errand.handle.cancel_goal_async()
                self._end(errand, _failure(SkillCode.BACKEND_FAULT, f"The skills: {reason}."))

    def _unheard(self, errand: _PendingCall, wall_s: float) -> bool:
        return wall_s - errand.sent_s > accept_timeout_s(errand.servers)

    def destroy(self) -> None:
        """Takes the client away."""
        self.cancel()
        self._client.destroy()

    def _wait(self, errand: _PendingCall, wall_s: float) -> None:
        if errand.sent:
            return
        if wall_s - errand.began_s > WAIT_FOR_SERVER_S:
            text = f"No skill executor answers for {self._agent}."
            self._end(errand, _failure(SkillCode.BACKEND_FAULT, text))
        elif wall_s - self._said_s > LOG_PERIOD_S:
            self._said_s = wall_s
            self._node.get_logger().info(f"waiting for the skills of {self._agent}")

    def _send(self, errand: _PendingCall) -> None:
        if not self._client.server_is_ready():
            return
        errand.sent, errand.sent_s = True, time.monotonic()
        errand.servers = self._ends.servers()
        future = self._client.send_goal_async(ExecuteSkill.Goal(call=str(errand.call)))
        future.add_done_callback(lambda done: self._accepted(errand, done.result()))

    def _accepted(self, errand: _PendingCall, handle: Any) -> None:
        if handle is None or not handle.accepted:
            self._end(errand, _failure(SkillCode.BACKEND_FAULT, "The skills refused the goal."))
            return
        if errand.over:
            # Taken after it was given up: nobody waits for it.
            handle.cancel_goal_async()
            return
        if errand.handle is not None:
            # Sent twice and taken twice: it is one call there (PARTNR-D55).
            return
        errand.handle, errand.servers = handle, self._ends.takers()
        if errand.cancel_s is not None:
            handle.cancel_goal_async()
        answer = handle.get_result_async()
        answer.add_done_callback(lambda done: self._answered(errand, done.result()))

    def _answered(self, errand: _PendingCall, answer: Any) -> None:
        reason = why_no_result(answer)
        if reason:
            text = f"The skills gave no result: {reason}."
            self._end(errand, _failure(SkillCode.BACKEND_FAULT, text))
            return
        try:
            result = result_record(answer.result)
        except ValueError:
            text = f"The skills answered with the unknown code {answer.result.code}."
            result = _failure(SkillCode.BACKEND_FAULT, text)
        self._end(errand, result)

    def _end(self, errand: _PendingCall, result: SkillResult) -> None:
        if not errand.over:
            errand.over = True
            errand.on_end(result)


def _failure(code: SkillCode, sentence: str) -> SkillResult:
    return SkillResult.failure(code, sentence)
