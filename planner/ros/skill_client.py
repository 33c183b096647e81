"""The clients of one agent's skills and of `/instruct`; they run in the executor's thread."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import KeyValue
from planner_msgs.action import ExecuteSkill, FollowInstruction
from planner_msgs.msg import SkillReport
from rclpy.node import Node
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from planner.ros.clients import MatchedClient, pause, why_no_result
from planner.ros.conversions import header, point_message, time_message
from planner.ros.goal_server import ActionPeers, Peers, accept_timeout_s
from planner.ros.subscriptions import bounds_of
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.memory_wire import result_record
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.topics import InstructionCode

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


# A client of `/instruct` that detects a dead server and sends the instruction again.

MAX_SEND_ATTEMPTS = 4
# Wall seconds after which a missing result is requested again.
RESULT_TIMEOUT_S = 2.0
# Wall seconds that a task planner which died has to come back.
RESTART_TIMEOUT_S = 60.0
_POLL_PERIOD_S = 0.2
# Between two looks at whether the server that has accepted it lives; its result wakes at once.
_WATCH_PERIOD_S = 0.5
_ENDED = (GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)


class InstructClient:
    """One instruction at a time; its coroutines run in the node's executor."""

    def __init__(self, node: Node, on_send: Callable[[str], None]) -> None:
        """Creates the client; `on_send` gets the id of each goal before it is sent."""
        self._node, self._on_send = node, on_send
        self._client = MatchedClient(node, FollowInstruction, topics.INSTRUCT)
        self._ends = ActionPeers(node, topics.INSTRUCT)
        self._handle: Any = None
        # Wall seconds: of the last result request, and when the goal was last seen running.
        self._asked_s = self._open_s = 0.0
        self._asked: Any = None
        self._canceled = False
        # Why its server counts as dead.
        self._why = ""

    @property
    def is_ready(self) -> bool:
        """Whether a task planner was discovered."""
        return self._client.is_ready()

    @property
    def is_accepted(self) -> bool:
        """Whether a task planner has accepted the last goal."""
        return self._handle is not None

    async def follow(
        self, goal: FollowInstruction.Goal, wait_s: float, on_lost: Callable[[str, bool], None]
    ) -> FollowInstruction.Result:
        """Sends an instruction, again if it was lost, and returns its result.

        If only an answer was lost, it is sent again under the same id, which the server knows.

        Args:
            goal: the instruction.
            wait_s: timeout for its acceptance, wall seconds.
            on_lost: gets the reason why it is sent again, and whether the world was reset.

        Raises:
            PlannerError: if no server accepts it, or it was lost too often.
        """
        heard_s, lost = time.monotonic(), ""
        for _ in range(MAX_SEND_ATTEMPTS):
            number = uuid.uuid4()
            self._on_send(number.hex)
            limit_s = max(wait_s, RESTART_TIMEOUT_S) if lost else wait_s
            result = await self._ask(goal, number, heard_s + limit_s)
            while result is None and not self.is_accepted:
                # The middleware lists a killed server for a while and routes goals to it.
                if self._canceled:
                    raise PlannerError("canceled before a task planner accepted it")
                if time.monotonic() - heard_s > limit_s:
                    raise PlannerError(no_server_message(limit_s))
                result = await self._ask(goal, number, heard_s + limit_s)
            heard_s = time.monotonic()
            if result is not None and (result.code != InstructionCode.WORLD_LOST or self._canceled):
                return result
            lost = f"the task planner died: {self._why}" if result is None else result.text
            if self._canceled:
                break
            on_lost(lost, result is not None)
        raise PlannerError(
            f"canceled; {lost}"
            if self._canceled
            else f"the instruction was lost {MAX_SEND_ATTEMPTS} times: {lost}"
        )

    def cancel(self) -> None:
        """Requests cancellation; the result comes as usual."""
        self._canceled = True
        if self._handle is not None:
            self._handle.cancel_goal_async()

    def destroy(self) -> None:
        """Takes the client out of the graph."""
        self._client.destroy()

    async def _find_server(self, until_s: float) -> bool:
        """Waits for a server until this time, wall seconds; returns whether there is one."""
        while not self._client.is_ready():
            if time.monotonic() > until_s or self._canceled:
                return False
            await self.pause(_POLL_PERIOD_S)
        return True

    async def _ask(self, goal: FollowInstruction.Goal, number: uuid.UUID, until_s: float) -> Any:
        """The result, or None if there is no server or it died before it had one."""
        self._handle = None
        if not await self._find_server(until_s):
            return None
        self._servers, sent_s = self._ends.servers(), time.monotonic()
        answer: Future[Any] = Future()
        sent = self._client.send(goal, goal_uuid=UUID(uuid=list(number.bytes)))
        sent.add_done_callback(partial(self._on_accepted, answer))
        while not answer.done():
            if reason := self._ends.lost_server(self._servers):
                self._why = reason
                break
            timeout_s = accept_timeout_s(self._servers)
            if not self.is_accepted and time.monotonic() - sent_s > timeout_s:
                break
            self._ask_again_for_result(answer)
            period_s = _WATCH_PERIOD_S if self.is_accepted else _POLL_PERIOD_S
            await pause(self._node, period_s, answer)
        if answer.done():
            return answer.result()
        # The client accepts only one answer for an id.
        sent.cancel()
        await self.pause(_POLL_PERIOD_S)
        return None

    def _on_accepted(self, answer: Future[Any], sent: Any) -> None:
        if sent.cancelled():
            return
        handle = sent.result()
        self._handle, self._servers = handle, self._ends.takers()
        if not handle.accepted:
            answer.set_exception(PlannerError("the task planner refused the instruction"))
            return
        if self._canceled:
            handle.cancel_goal_async()
        self._ask_for_result(answer)

    def _ask_for_result(self, answer: Future[Any]) -> None:
        self._asked_s = time.monotonic()
        asked = self._asked = self._handle.get_result_async()

        def hear(done: Any) -> None:
            if not done.cancelled() and not answer.done():
                self._on_ended(answer, done.result())

        asked.add_done_callback(hear)

    def _ask_again_for_result(self, answer: Future[Any]) -> None:
        """Requests the result again if the goal has ended but no result came."""
        if self._handle is None or self._handle.status not in _ENDED:
            self._open_s = time.monotonic()
        elif time.monotonic() - max(self._open_s, self._asked_s) > RESULT_TIMEOUT_S:
            self._asked.cancel()
            self._ask_for_result(answer)

    def _on_ended(self, answer: Future[Any], response: Any) -> None:
        reason = why_no_result(response)
        if response is None or response.status == GoalStatus.STATUS_UNKNOWN:
            self._why = "another one answered, which does not know the instruction"
            answer.set_result(None)
        elif reason:
            answer.set_exception(PlannerError(f"the task planner gave no result: {reason}"))
        else:
            answer.set_result(response.result)

    async def pause(self, seconds: float) -> None:
        """Sleeps without blocking the executor."""
        await pause(self._node, seconds)


def no_server_message(wait_s: float) -> str:
    """Error text for a missing task planner."""
    return f"no task planner answered within {wait_s:g} s"
