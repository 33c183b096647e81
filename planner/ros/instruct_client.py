"""A client of `/instruct` that sees its server die and gives the instruction again."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from action_msgs.msg import GoalStatus
from planner_msgs.action import FollowInstruction
from rclpy.action.client import ActionClient
from rclpy.node import Node
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from planner.ros.action_ends import ActionEnds, accept_patience_s
from planner.ros.goal_answers import why_no_result
from planner.world.errors import PlannerError
from planner.world.instruct import InstructionCode

MOST_ASKINGS = 4
_LOOK_S = 0.2


class InstructClient:
    """One instruction at a time; its coroutines run in the node's executor."""

    def __init__(self, node: Node, on_send: Callable[[str], None]) -> None:
        """Looks for the server; `on_send` gets the id of each goal before it is sent."""
        self._node, self._on_send = node, on_send
        self._client: ActionClient[Any, Any, Any] = ActionClient(
            node, FollowInstruction, "/instruct"
        )
        self._ends = ActionEnds(node, "/instruct")
        self._handle: Any = None
        self._canceled = False

    @property
    def is_ready(self) -> bool:
        """Whether a task planner is listed."""
        return bool(self._client.server_is_ready())

    @property
    def is_accepted(self) -> bool:
        """Whether a task planner has taken the goal that was sent last."""
        return self._handle is not None

    async def follow(
        self,
        goal: FollowInstruction.Goal,
        wait_s: float,
        on_lost: Callable[[str, bool], None],
    ) -> FollowInstruction.Result:
        """Sends an instruction, again where it was lost, and returns its result.

        Args:
            goal: what is asked.
            wait_s: wall seconds until a task planner has to have accepted it.
            on_lost: hears why it is given again, and whether the world began anew.

        Raises:
            PlannerError: where nobody accepts it, or it was lost too often.
        """
        heard_s, lost = time.monotonic(), ""
        for _ in range(MOST_ASKINGS):
            result = await self._ask(goal)
            while result is None and not self.is_accepted:
                # The middleware lists a killed server for a while and gives it goals.
                if time.monotonic() - heard_s > wait_s:
                    raise PlannerError(nobody_answers(wait_s))
                result = await self._ask(goal)
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
            else f"the instruction was lost {MOST_ASKINGS} times: {lost}"
        )

    def cancel(self) -> None:
        """Asks the server to end the instruction; its result comes as ever."""
        self._canceled = True
        if self._handle is not None:
            self._handle.cancel_goal_async()

    def destroy(self) -> None:
        """Takes the client out of the graph."""
        self._client.destroy()

    async def _ask(self, goal: FollowInstruction.Goal) -> Any:
        """The result of the instruction, or None where the server died before it had one."""
        self._handle = None
        while not self.is_ready:
            await self.pause(_LOOK_S)
        self._servers, sent_s = self._ends.servers(), time.monotonic()
        number = uuid.uuid4()
        self._on_send(number.hex)
        answer: Future[Any] = Future()
        sent = self._client.send_goal_async(goal, goal_uuid=UUID(uuid=list(number.bytes)))
        sent.add_done_callback(partial(self._on_accepted, answer))
        while not answer.done():
            if self._ends.lost_server(self._servers):
                return None
            patience_s = accept_patience_s(self._servers)
            if not self.is_accepted and time.monotonic() - sent_s > patience_s:
                return None
            await self.pause(_LOOK_S)
        return answer.result()

    def _on_accepted(self, answer: Future[Any], sent: Any) -> None:
        handle = sent.result()
        self._handle, self._servers = handle, self._ends.takers()
        if not handle.accepted:
            answer.set_exception(PlannerError("the task planner refused the instruction"))
            return
        if self._canceled:
            handle.cancel_goal_async()
        ended = handle.get_result_async()
        ended.add_done_callback(lambda done: self._on_ended(answer, done.result()))

    @staticmethod
    def _on_ended(answer: Future[Any], told: Any) -> None:
        reason = why_no_result(told)
        if told is None or told.status == GoalStatus.STATUS_UNKNOWN:
            # Its server has ended, and another one was asked.
            answer.set_result(None)
        elif reason:
            answer.set_exception(PlannerError(f"the task planner gave no result: {reason}"))
        else:
            answer.set_result(told.result)

    async def pause(self, seconds: float) -> None:
        """Lets the executor do other work for a while."""
        over: Future[None] = Future()

        def end() -> None:
            if not over.done():
                over.set_result(None)

        timer = self._node.create_timer(seconds, end)
        await over
        self._node.destroy_timer(timer)


def nobody_answers(wait_s: float) -> str:
    """That no task planner is there."""
    return f"no task planner answered within {wait_s:g} s"
