"""A client of `/instruct` that detects a dead server and sends the instruction again."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from action_msgs.msg import GoalStatus
from planner_msgs.action import FollowInstruction
from rclpy.node import Node
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from planner.ros.clients import MatchedClient, why_no_result
from planner.ros.goal_server import ActionPeers, accept_timeout_s
from planner.ros.waiting import pause
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.topics import InstructionCode

MAX_SEND_ATTEMPTS = 4
# Wall seconds after which a missing result is requested again.
RESULT_TIMEOUT_S = 2.0
# Wall seconds that a task planner which died has to come back.
RESTART_TIMEOUT_S = 60.0
_POLL_PERIOD_S = 0.2
# Between two looks at whether the server that has accepted it lives; its result wakes at once.
_WATCH_PERIOD_S = 0.5
_ENDED = (
    GoalStatus.STATUS_SUCCEEDED,
    GoalStatus.STATUS_CANCELED,
    GoalStatus.STATUS_ABORTED,
)


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

    @property
    def is_ready(self) -> bool:
        """Whether a task planner was discovered."""
        return self._client.is_ready()

    @property
    def is_accepted(self) -> bool:
        """Whether a task planner has accepted the last goal."""
        return self._handle is not None

    async def follow(
        self,
        goal: FollowInstruction.Goal,
        wait_s: float,
        on_lost: Callable[[str, bool], None],
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
            lost = "the task planner died" if result is None else result.text
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
            if self._ends.lost_server(self._servers):
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

    @staticmethod
    def _on_ended(answer: Future[Any], response: Any) -> None:
        reason = why_no_result(response)
        if response is None or response.status == GoalStatus.STATUS_UNKNOWN:
            # Its server has ended and another one answered.
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
