"""Sends one instruction to running nodes and follows it; implements `planner instruct`."""

from __future__ import annotations

import os
import select
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from planner_msgs.action import FollowInstruction
from planner_msgs.msg import Evaluation
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.task import Task
from std_msgs.msg import String

from planner.command_line import termination_requested
from planner.evaluation.perceived import verdict_steps
from planner.evaluation.progress import is_understood
from planner.instruct.cli import CancelReason, InstructionEnd, InstructRequest, answer_from
from planner.narrator import story
from planner.narrator.node import StorySubscriber
from planner.narrator.story import Event, Kind
from planner.network import SETTING, is_loopback_only, requested_network
from planner.ros import qos
from planner.ros.clients import operator_node
from planner.ros.guard import GuardedExecutor, essential
from planner.ros.skill_client import InstructClient, no_server_message
from planner.ros.subscriptions import listen
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.topics import InstructionCode, one_line

POLL_S = 0.05
# For the end of a canceled instruction: agents stop within a second, and the planner does not
# wait for the model's answer.
CANCEL_TIMEOUT_S = 10.0
# For the verdict after the end; the task planner has received it already.
VERDICT_TIMEOUT_S = 2.0
TASK_PLANNER = "task_planner"
# For discovery of the planner's subscription to answers.
ANSWER_TIMEOUT_S = 2.0


def send_instruction(request: InstructRequest, show: Callable[[Event], None]) -> InstructionEnd:
    """Sends an instruction and returns how it ended.

    Args:
        request: the instruction.
        show: gets each event of its story, the end last.

    Raises:
        PlannerError: if no task planner answers in time.
    """
    with (
        operator_node("instruct", request.namespace) as (node, executor),
        termination_requested() as stop_requested,
    ):
        return _InstructClient(request, show, node, executor, stop_requested).run()


def send_answer(answer: str, wait_s: float, namespace: str) -> None:
    """Answers the question of the instruction that is being followed.

    Args:
        answer: one line.
        wait_s: timeout for a task planner, wall seconds.
        namespace: of the stack.

    Raises:
        PlannerError: if no task planner receives it in time.
    """
    with operator_node("answer", namespace) as (node, _executor):
        mouth = node.create_publisher(String, topics.INSTRUCT_ANSWER, qos.EVENTS)
        ends_s = time.monotonic() + wait_s
        while not _is_heard(node, mouth):
            if time.monotonic() > ends_s:
                raise PlannerError(f"{no_server_message(wait_s)} {_search_scope()}")
            time.sleep(POLL_S)
        mouth.publish(String(data=answer))
        if not mouth.wait_for_all_acked(Duration(seconds=wait_s)):
            raise PlannerError(f"nobody confirmed the answer within {wait_s:g} s")


def _is_heard(node: Node, mouth: Publisher[String]) -> bool:
    """Whether all that listen to answers are connected, a task planner among them."""
    ears = node.get_subscriptions_info_by_topic(mouth.topic_name)
    names = {ear.node_name for ear in ears}
    return TASK_PLANNER in names and mouth.get_subscription_count() >= len(ears)


class _InstructClient:
    """One instruction in progress."""

    def __init__(
        self,
        request: InstructRequest,
        show: Callable[[Event], None],
        node: Node,
        executor: GuardedExecutor,
        stop_requested: Callable[[], bool],
    ) -> None:
        self._request, self._show = request, show
        self._node, self._executor, self._stop_requested = node, executor, stop_requested
        self._answers = deque(request.answers)
        self._asked = ""
        self._stopped: CancelReason | None = None
        self._verdict: Evaluation | None = None
        self._story = StorySubscriber(node, self._on_event)
        self._client = InstructClient(node, self._story.follow)
        self._mouth = node.create_publisher(String, topics.INSTRUCT_ANSWER, qos.EVENTS)
        # Volatile: a latched verdict belongs to an earlier instruction.
        self._satisfied: list[bool] | None = None
        if request.simulated_person:
            listen(node, Evaluation, topics.EVALUATION, self._on_progress, qos.STATE)
        listen(node, Evaluation, topics.EVALUATION_RESULT, self._on_verdict, qos.EVENTS)

    def run(self) -> InstructionEnd:
        """Sends it, follows it to its end and reports that."""
        self._wait_for_planner()
        dialogue: list[str] = []
        while True:
            end = self._send_goal(dialogue)
            answer = self._answer_to(end.question) if end.question else None
            if answer is None:
                break
            dialogue += [end.question, answer]
        self._emit_verdict()
        self._emit_end(end)
        return end

    def _wait_for_planner(self) -> None:
        """Waits for a task planner.

        Raises:
            PlannerError: if none appears in time.
        """
        begun_s = time.monotonic()
        while not self._client.is_ready:
            if self._stop_requested():
                raise KeyboardInterrupt
            if time.monotonic() - begun_s >= self._request.wait_s:
                raise PlannerError(f"{no_server_message(self._request.wait_s)} {_search_scope()}")
            self._executor.spin_once(timeout_sec=POLL_S)

    def _send_goal(self, dialogue: list[str]) -> InstructionEnd:
        """Sends the goal and follows it to its result."""
        goal = FollowInstruction.Goal(
            instruction=self._request.instruction,
            agents=list(self._request.agents),
            dialogue=dialogue,
            max_calls=self._request.max_calls,
        )
        task = self._executor.create_task(
            essential(self._client.follow), goal, self._request.wait_s, self._on_lost
        )
        begun_s, stopped_s = time.monotonic(), 0.0
        while not task.done():
            try:
                self._executor.spin_once(timeout_sec=POLL_S)
            except PlannerError as error:
                if self._stopped is None:
                    raise
                return InstructionEnd(InstructionCode.CANCELED, str(error), stopped=self._stopped)
            wall_s = time.monotonic()
            if self._stopped is None:
                self._stopped = self._reason_to_stop(wall_s - begun_s)
                if self._stopped is not None:
                    stopped_s = wall_s
                    self._emit(Kind.STATE, f"{self._stopped}: canceling; all agents stop")
                    self._client.cancel()
            elif wall_s - stopped_s > CANCEL_TIMEOUT_S:
                text = f"the task planner did not answer the cancel in {CANCEL_TIMEOUT_S:g} s"
                return InstructionEnd(InstructionCode.CANCELED, text, stopped=self._stopped)
            self._answer()
        return self._end_of(task)

    def _reason_to_stop(self, passed_s: float) -> CancelReason | None:
        if self._stop_requested():
            return CancelReason.INTERRUPT
        if 0 < self._request.timeout_s <= passed_s:
            return CancelReason.TIMEOUT
        return None

    def _end_of(self, task: Task[Any]) -> InstructionEnd:
        result: Any = task.result()
        evidence = {str(item.key): str(item.value) for item in result.evidence}
        return InstructionEnd(
            int(result.code), str(result.text), str(result.question), evidence, self._stopped
        )

    # Questions

    def _answer(self) -> None:
        """Answers the planner's pending question, if there is one."""
        if not self._asked or self._stopped is not None:
            return
        if self._answers:
            self._send_answer(self._answers.popleft())
        elif self._request.simulated_person:
            answer = self._simulated_answer()
            if answer is not None:
                self._send_answer(answer)
        elif self._request.interactive and _has_input():
            self._send_answer(sys.stdin.readline())

    def _simulated_answer(self) -> str | None:
        """What the simulated person says; None if it cannot know, which is told once."""
        standing = self._story.standing
        try:
            return answer_from("" if standing is None else str(standing.goal), self._satisfied)
        except PlannerError as error:
            self._emit(Kind.STATE, str(error))
            self._asked = ""
            return None

    def _send_answer(self, answer: str) -> None:
        begun_s = time.monotonic()
        while self._mouth.get_subscription_count() == 0:
            if time.monotonic() - begun_s > ANSWER_TIMEOUT_S:
                self._emit(Kind.ANSWER, "nobody receives the answer on /instruct/answer")
                break
            self._executor.spin_once(timeout_sec=POLL_S)
        self._mouth.publish(String(data=answer))
        words = one_line(answer)
        self._emit(Kind.ANSWER, f"answer: {words}", answer=words)
        self._asked = ""

    def _answer_to(self, question: str) -> str | None:
        """The answer to a question that ended the instruction; None if nobody answers."""
        if self._stopped is not None:
            return None
        self._emit(Kind.QUESTION, story.question_line(self._story.now_s, question), asked=question)
        if self._answers:
            return self._answers.popleft()
        if self._request.simulated_person:
            return self._simulated_answer()
        while self._request.interactive and not self._stop_requested():
            if _has_input():
                return sys.stdin.readline().strip() or None
            self._executor.spin_once(timeout_sec=POLL_S)
        return None

    # Callbacks

    def _on_event(self, event: Event) -> None:
        self._show(event)
        standing = self._story.standing
        if event.kind is Kind.QUESTION:
            self._asked = str(event.fields["question"])
            answers = self._answers or self._request.simulated_person
            if not answers and not self._request.interactive:
                self._emit(Kind.STATE, "all --answer are used up, and there is no terminal")
        elif standing is not None and standing.question != self._asked:
            self._asked = ""

    def _on_lost(self, why: str, began_anew: bool) -> None:
        if began_anew:
            self._story.forget()
        self._emit(Kind.STATE, f"{why}; sending the instruction again")

    def _on_progress(self, message: Evaluation) -> None:
        self._satisfied = [bool(item.satisfied) for item in message.propositions]

    def _on_verdict(self, message: Evaluation) -> None:
        self._verdict = message

    # The end

    def _emit_verdict(self) -> None:
        """Reports the verdict, if the instruction has a goal and an evaluator is running."""
        standing = self._story.standing
        if standing is None or not standing.goal or self._stopped is not None:
            return
        begun_s = time.monotonic()
        while self._verdict is None:
            judges = self._node.count_publishers(topics.EVALUATION_RESULT)
            if not judges or time.monotonic() - begun_s > VERDICT_TIMEOUT_S:
                return
            self._executor.spin_once(timeout_sec=POLL_S)
        verdict = self._verdict
        success = verdict.status == Evaluation.SUCCEEDED
        percent, steps = float(verdict.percent_complete), verdict_steps(verdict)
        line = story.verdict_line(
            success, percent, steps, {}, understood=is_understood(verdict.variant)
        )
        fields = {"success": success, "percent_complete": percent, "sim_steps": steps}
        why = one_line(verdict.explanation)
        self._emit(Kind.VERDICT, f"{line}  {why}".rstrip(), **fields, explanation=why)

    def _emit_end(self, end: InstructionEnd) -> None:
        name = InstructionCode.name_of(end.code)
        self._emit(
            Kind.END,
            story.outcome_line(name, end.text),
            code=end.code,
            name=name,
            text=end.text,
            question=end.question,
            evidence=dict(end.evidence),
            exit_status=end.exit_status,
        )

    def _emit(self, kind: Kind, line: str, **fields: Any) -> None:
        shown = fields or {"text": line}
        self._show(Event(kind, self._story.now_s, line, shown))


def _has_input() -> bool:
    """Whether a line was typed."""
    return bool(select.select([sys.stdin], [], [], 0.0)[0])


def _search_scope() -> str:
    domain = os.environ.get("ROS_DOMAIN_ID") or "0"
    where = "on this machine" if is_loopback_only(os.environ) else "on the network"
    return (
        f"in ROS domain {domain} (ROS_DOMAIN_ID), searched {where} "
        f"({SETTING}={requested_network(os.environ)}); are the nodes running "
        "(planner up planner:=...), in the same domain?"
    )
