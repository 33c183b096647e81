"""Gives one instruction to running nodes and follows it; `planner instruct` is its command."""

from __future__ import annotations

import os
import select
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import rclpy
from planner_msgs.action import FollowInstruction
from planner_msgs.msg import Evaluation
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Task
from std_msgs.msg import String

from planner.instruct.order import End, Order, Stopped
from planner.narrator import story
from planner.narrator.story import Event, Kind
from planner.narrator.telling.node import Storyteller
from planner.network import SETTING, asked, confine, meets_no_other_machine
from planner.ros import qos
from planner.ros.client_node import client_node
from planner.ros.instruct_client import InstructClient, no_server_message
from planner.ros.interrupts import termination_requested
from planner.security.enclave import act_as
from planner.security.policy import OPERATOR
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.instruct import InstructionCode

LOOK_S = 0.05
# For the end of an instruction that was canceled: agents stop within a second, a model's answer
# is not waited for.
CANCEL_TIMEOUT_S = 10.0
# For the verdict after the end; the task planner has heard it already.
VERDICT_PATIENCE_S = 2.0
# For the planner's ear to be found by the one who answers.
EAR_PATIENCE_S = 2.0


def give(order: Order, show: Callable[[Event], None]) -> End:
    """Gives an instruction and returns how it ended.

    Args:
        order: what is asked.
        show: gets each event of its story, the end last.

    Raises:
        PlannerError: where no task planner answers in time.
    """
    confine(os.environ)
    act_as(os.environ, OPERATOR, order.namespace)
    # Ctrl-C cancels the instruction, which takes a ROS that still runs.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = client_node(f"instruct_{os.getpid()}", order.namespace)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        with termination_requested() as asked_to_stop:
            return _Giving(order, show, node, executor, asked_to_stop).run()
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()


class _Giving:
    """One instruction under way."""

    def __init__(
        self,
        order: Order,
        show: Callable[[Event], None],
        node: Node,
        executor: SingleThreadedExecutor,
        asked_to_stop: Callable[[], bool],
    ) -> None:
        self._order, self._show = order, show
        self._node, self._executor, self._asked_to_stop = node, executor, asked_to_stop
        self._answers = deque(order.answers)
        self._asked = ""
        self._stopped: Stopped | None = None
        self._verdict: Evaluation | None = None
        self._story = Storyteller(node, self._on_event)
        self._client = InstructClient(node, self._story.follow)
        self._mouth = node.create_publisher(String, topics.INSTRUCT_ANSWER, qos.EVENTS)
        # Of now: a verdict that stands from before is of another instruction.
        node.create_subscription(Evaluation, topics.EVALUATION_RESULT, self._on_verdict, qos.EVENTS)

    def run(self) -> End:
        """Gives it, follows it to its end and tells that."""
        self._meet()
        dialogue: list[str] = []
        while True:
            end = self._once(dialogue)
            answer = self._answer_to(end.question) if end.question else None
            if answer is None:
                break
            dialogue += [end.question, answer]
        self._tell_verdict()
        self._tell_end(end)
        return end

    def _meet(self) -> None:
        """Waits for a task planner.

        Raises:
            PlannerError: where none comes in time.
        """
        begun_s = time.monotonic()
        while not self._client.is_ready:
            if self._asked_to_stop():
                raise KeyboardInterrupt
            if time.monotonic() - begun_s >= self._order.wait_s:
                raise PlannerError(f"{no_server_message(self._order.wait_s)} {_where_it_looked()}")
            self._executor.spin_once(timeout_sec=LOOK_S)

    def _once(self, dialogue: list[str]) -> End:
        """Sends the goal and follows it to its result."""
        goal = FollowInstruction.Goal(
            instruction=self._order.instruction,
            agents=list(self._order.agents),
            dialogue=dialogue,
            max_calls=self._order.max_calls,
        )
        task = self._executor.create_task(
            self._client.follow, goal, self._order.wait_s, self._on_lost
        )
        begun_s, stopped_s = time.monotonic(), 0.0
        while not task.done():
            try:
                self._executor.spin_once(timeout_sec=LOOK_S)
            except PlannerError as error:
                if self._stopped is None:
                    raise
                return End(InstructionCode.CANCELED, str(error), stopped=self._stopped)
            wall_s = time.monotonic()
            if self._stopped is None:
                self._stopped = self._reason_to_stop(wall_s - begun_s)
                if self._stopped is not None:
                    stopped_s = wall_s
                    self._say(Kind.STATE, f"{self._stopped}: canceling; all agents stop")
                    self._client.cancel()
            elif wall_s - stopped_s > CANCEL_TIMEOUT_S:
                text = f"the task planner did not answer the cancel in {CANCEL_TIMEOUT_S:g} s"
                return End(InstructionCode.CANCELED, text, stopped=self._stopped)
            self._answer()
        return self._end_of(task)

    def _reason_to_stop(self, passed_s: float) -> Stopped | None:
        if self._asked_to_stop():
            return Stopped.INTERRUPT
        if 0 < self._order.timeout_s <= passed_s:
            return Stopped.TIMEOUT
        return None

    def _end_of(self, task: Task[Any]) -> End:
        result: Any = task.result()
        evidence = {str(item.key): str(item.value) for item in result.evidence}
        return End(
            int(result.code), str(result.text), str(result.question), evidence, self._stopped
        )

    # Questions

    def _answer(self) -> None:
        """Answers the question that the planner waits for, if there is one."""
        if not self._asked or self._stopped is not None:
            return
        if self._answers:
            self._send_answer(self._answers.popleft())
        elif self._order.asks and _line_is_there():
            self._send_answer(sys.stdin.readline())

    def _send_answer(self, answer: str) -> None:
        begun_s = time.monotonic()
        while self._mouth.get_subscription_count() == 0:
            if time.monotonic() - begun_s > EAR_PATIENCE_S:
                self._say(Kind.ANSWER, "nobody hears the answer on /instruct/answer")
                break
            self._executor.spin_once(timeout_sec=LOOK_S)
        self._mouth.publish(String(data=answer))
        words = story.one_line(answer)
        self._say(Kind.ANSWER, f"answer: {words}", answer=words)
        self._asked = ""

    def _answer_to(self, question: str) -> str | None:
        """The answer to a question that ended the instruction; None where nobody gives one."""
        if self._stopped is not None:
            return None
        self._say(Kind.QUESTION, story.question_line(self._story.now_s, question), asked=question)
        if self._answers:
            return self._answers.popleft()
        while self._order.asks and not self._asked_to_stop():
            if _line_is_there():
                return sys.stdin.readline().strip() or None
            self._executor.spin_once(timeout_sec=LOOK_S)
        return None

    # What is heard

    def _on_event(self, event: Event) -> None:
        self._show(event)
        standing = self._story.standing
        if event.kind is Kind.QUESTION:
            self._asked = str(event.fields["question"])
            if not self._answers and not self._order.asks:
                self._say(Kind.STATE, "no --answer is left for it, and there is no terminal")
        elif standing is not None and standing.question != self._asked:
            self._asked = ""

    def _on_lost(self, why: str, began_anew: bool) -> None:
        if began_anew:
            self._story.forget()
        self._say(Kind.STATE, f"{why}; the instruction is given again")

    def _on_verdict(self, message: Evaluation) -> None:
        self._verdict = message

    # The end

    def _tell_verdict(self) -> None:
        """Tells what the judge says, where the instruction has a goal and a judge is there."""
        standing = self._story.standing
        if standing is None or not standing.goal or self._stopped is not None:
            return
        begun_s = time.monotonic()
        while self._verdict is None:
            judges = self._node.count_publishers(topics.EVALUATION_RESULT)
            if not judges or time.monotonic() - begun_s > VERDICT_PATIENCE_S:
                return
            self._executor.spin_once(timeout_sec=LOOK_S)
        verdict = self._verdict
        success = verdict.status == Evaluation.SUCCEEDED
        percent, steps = float(verdict.percent_complete), int(verdict.sim_step)
        line = story.verdict_line(success, percent, steps, {})
        fields = {"success": success, "percent_complete": percent, "sim_steps": steps}
        why = story.one_line(verdict.explanation)
        self._say(Kind.VERDICT, f"{line}  {why}".rstrip(), **fields, explanation=why)

    def _tell_end(self, end: End) -> None:
        name = InstructionCode.name_of(end.code)
        self._say(
            Kind.END,
            story.outcome_line(name, end.text),
            code=end.code,
            name=name,
            text=end.text,
            question=end.question,
            evidence=dict(end.evidence),
            exit_status=end.exit_status,
        )

    def _say(self, kind: Kind, line: str, **fields: Any) -> None:
        told = fields or {"text": line}
        self._show(Event(kind, self._story.now_s, line, told))


def _line_is_there() -> bool:
    """Whether the person has typed a line."""
    return bool(select.select([sys.stdin], [], [], 0.0)[0])


def _where_it_looked() -> str:
    domain = os.environ.get("ROS_DOMAIN_ID") or "0"
    where = "on this machine" if meets_no_other_machine(os.environ) else "on the network"
    return (
        f"in ROS domain {domain} (ROS_DOMAIN_ID), looked for {where} "
        f"({SETTING}={asked(os.environ)}); are the nodes running "
        "(planner up planner:=...), in the same domain?"
    )
