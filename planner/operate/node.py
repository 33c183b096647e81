"""Implements the operator's commands: services, heartbeats, answers to questions."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from geometry_msgs.msg import PointStamped
from PIL import Image as Picture
from planner_msgs.msg import ApprovalQuestion
from planner_msgs.srv import AnswerQuestion
from rclpy.client import Client
from rclpy.node import Node
from sensor_msgs.msg import Image
from std_srvs.srv import Trigger

from planner.command_line import EXIT_FAILED, EXIT_OK, termination_requested
from planner.operate.cli import Answer, ApproveRequest, Place, Question, parse_answer
from planner.ros import conversions, qos
from planner.ros.clients import operator_node
from planner.ros.conversions import header, point_m, point_message
from planner.ros.guard import GuardedExecutor
from planner.ros.heartbeat import HeartbeatPublisher, safety_topic, skill_topic
from planner.ros.subscriptions import WorldClock, listen
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.memory_wire import stamp_seconds
from planner.world.wire import record_of

POLL_S = 0.1


def operate(agent: str, commands: Sequence[str], *, wait_s: float, namespace: str = "/") -> int:
    """Calls services in order, until one is refused.

    Args:
        agent: whose.
        commands: names of its Trigger services.
        wait_s: for each answer, wall seconds.
        namespace: of the stack.

    Returns:
        The process's exit status.
    """
    with operator_node("operate", namespace) as (node, executor):
        for command in commands:
            client: Any = node.create_client(Trigger, topics.of_agent(agent, command))
            good, text = _call(executor, client, wait_s)
            print(f"{agent}: {command}: {text}", flush=True)
            if not good:
                return EXIT_FAILED
    return EXIT_OK


def _call(executor: GuardedExecutor, client: Any, wait_s: float) -> tuple[bool, str]:
    """Whether a service said yes, and its words."""
    ends_s = time.monotonic() + wait_s
    while not client.service_is_ready():
        if time.monotonic() > ends_s:
            return False, f"nobody serves {client.srv_name}; is the stack running?"
        executor.spin_once(timeout_sec=POLL_S)
    answer = client.call_async(Trigger.Request())
    while not answer.done():
        if time.monotonic() > ends_s:
            return False, f"no answer within {wait_s:g} s"
        executor.spin_once(timeout_sec=POLL_S)
    reply = answer.result()
    return bool(reply.success), str(reply.message)


# Sends heartbeats for agents; implements `planner attend`.

BEAT_POLL_S = 0.2
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def attend(agents: Sequence[str], *, through_skills: bool, namespace: str = "/") -> int:
    """Attends agents until a signal ends it.

    Args:
        agents: their names.
        through_skills: whether the skill executor relays the heartbeats, see `HeartbeatPublisher`.
        namespace: of the stack.

    Returns:
        The process's exit status.

    Raises:
        PlannerError: for an invalid agent name, or if keys do not allow the namespace.
    """
    for agent in agents:
        if not _NAME.fullmatch(agent):
            raise PlannerError(f"expected an agent's name such as agent_0, got {agent!r}")
    with operator_node("attend", namespace) as (node, executor):
        publisher = HeartbeatPublisher(node, through_skills=through_skills)
        try:
            with termination_requested() as ends:
                publisher.attend(agents)
                print(f"attending {', '.join(agents)} until Ctrl-C", flush=True)
                topic = skill_topic if through_skills else safety_topic
                printed: dict[str, list[str]] = {}
                while not ends():
                    executor.spin_once(timeout_sec=BEAT_POLL_S)
                    for agent in agents:
                        _print_receivers(node, agent, topic(agent), printed)
        finally:
            publisher.destroy()
    return EXIT_OK


def _print_receivers(node: Node, agent: str, topic: str, printed: dict[str, list[str]]) -> None:
    """Prints who receives an agent's heartbeats, where others do than were printed last."""
    subscribers = node.get_subscriptions_info_by_topic(topic)
    names = sorted({subscriber.node_name for subscriber in subscribers})
    if names != printed.get(agent):
        print(f"{agent}: received by {', '.join(names) or 'nobody yet'}", flush=True)
    printed[agent] = names


# Shows an agent's question and sends the answer; implements `planner approve`.

QUESTION_POLL_S = 0.05
# For the other latched messages, and for the world's clock.
LATCHED_TIMEOUT_S = 2.0
# The bridge validates the target and passes it to the robot before it answers.
ANSWER_TIMEOUT_S = 10.0
PROMPT = "y approve, n refuse, k approve this and later ones of its kind: "


def run_approve(request: ApproveRequest) -> int:
    """Shows the question and sends the operator's answer.

    Returns:
        The exit status.

    Raises:
        PlannerError: if no bridge answers in time, or the picture cannot be saved.
    """
    with operator_node("approve", request.namespace) as (node, executor):
        return _ApproveClient(request, node, executor).run()


class _ApproveClient:
    """One question and its answer."""

    def __init__(self, request: ApproveRequest, node: Node, executor: GuardedExecutor) -> None:
        self._request, self._executor = request, executor
        self._question: ApprovalQuestion | None = None
        self._picture: Image | None = None
        self._clock = WorldClock(node)
        listen(
            node,
            ApprovalQuestion,
            topics.of_agent(request.agent, topics.QUESTION),
            self._on_question,
            qos.LATCHED,
        )
        picture = topics.of_agent(request.agent, topics.ASKS_IMAGE)
        listen(node, Image, picture, self._on_picture, qos.LATCHED)
        self._client: Client[Any, Any] = node.create_client(
            AnswerQuestion, topics.of_agent(request.agent, topics.ANSWER)
        )

    def run(self) -> int:
        """Shows the question unless an answer was given, and answers it."""
        if self._request.answer is not None:
            answer, question_id = self._request.answer
            return self._send(question_id, answer)
        if not self._wait(lambda: self._question is not None, self._request.wait_s):
            raise PlannerError(self._no_bridge())
        question = _question_of(self._question)
        if question is None:
            _print_line(f"{self._request.agent} has no question")
            return EXIT_FAILED
        self._wait(lambda: self._clock.now_s > 0, LATCHED_TIMEOUT_S)
        for line in question.lines(self._clock.now_s or None):
            _print_line(line)
        if self._request.picture is not None:
            self._save_picture(question, self._request.picture)
        if not self._request.interactive:
            _print_line(
                f"to answer: planner approve {question.agent} "
                f"--yes|--no|--kind {question.question_id}"
            )
            return EXIT_OK
        typed = self._prompt(question)
        if typed is None and self._is_pending(question):
            _print_line("no answer was given")
            return EXIT_FAILED
        if typed is None:
            # Refusing a question that is gone has no effect; the bridge replies why it is gone.
            self._send(question.question_id, Answer.NO)
            return EXIT_FAILED
        return self._send(question.question_id, typed)

    def _prompt(self, question: Question) -> Answer | None:
        """What the operator types; None if the question is gone or the input has ended."""
        # Discard what was typed before the question was shown.
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        print(PROMPT, end="", flush=True)
        while self._is_pending(question):
            if select.select([sys.stdin], [], [], 0.0)[0]:
                line = sys.stdin.readline()
                answer = parse_answer(line)
                if answer is not None or not line:
                    return answer
                print(PROMPT, end="", flush=True)
            self._executor.spin_once(timeout_sec=QUESTION_POLL_S)
        print(flush=True)
        return None

    def _is_pending(self, question: Question) -> bool:
        return self._question is not None and self._question.question_id == question.question_id

    def _send(self, question_id: str, answer: Answer) -> int:
        if not self._wait(self._client.service_is_ready, self._request.wait_s):
            raise PlannerError(self._no_bridge())
        sent = self._client.call_async(_answer_message(question_id, answer, self._request.place))
        if not self._wait(sent.done, ANSWER_TIMEOUT_S):
            raise PlannerError(
                f"the bridge did not confirm the answer within {ANSWER_TIMEOUT_S:g} s; "
                f"see /{self._request.agent}/safety/receipts for its outcome"
            )
        response: Any = sent.result()
        _print_line(response.message)
        return EXIT_OK if response.success else EXIT_FAILED

    def _save_picture(self, question: Question, path: Path) -> None:
        """Saves the picture of this very question.

        Raises:
            PlannerError: if it has none, or the file cannot be written.
        """
        if not question.has_picture:
            raise PlannerError("--picture: the question has no picture")
        if not self._wait(lambda: self._picture_of(question) is not None, LATCHED_TIMEOUT_S):
            raise PlannerError("--picture: the picture did not arrive with the question")
        message = self._picture_of(question)
        try:
            Picture.fromarray(conversions.rgb_array(message)).save(path)
        except (OSError, ValueError) as error:
            raise PlannerError(f"--picture: {path}: {error}") from None
        _print_line(f"  picture in {path}")

    def _picture_of(self, question: Question) -> Image | None:
        picture = self._picture
        if picture is None or stamp_seconds(picture.header.stamp) != question.issued_s:
            return None
        return picture

    def _wait(self, is_met: Callable[[], bool], timeout_s: float) -> bool:
        """Whether the condition became true within the timeout, wall seconds."""
        begun_s = time.monotonic()
        while not is_met():
            if time.monotonic() - begun_s > timeout_s:
                return False
            self._executor.spin_once(timeout_sec=QUESTION_POLL_S)
        return True

    def _on_question(self, message: ApprovalQuestion) -> None:
        self._question = message

    def _on_picture(self, message: Image) -> None:
        self._picture = message

    def _no_bridge(self) -> str:
        domain = os.environ.get("ROS_DOMAIN_ID") or "0"
        return (
            f"no bridge has an agent {self._request.agent} in ROS domain {domain} (ROS_DOMAIN_ID), "
            f"waited {self._request.wait_s:g} s"
        )


def _question_of(message: ApprovalQuestion | None) -> Question | None:
    """A question as plain values; None if there is none."""
    if message is None or not message.question_id:
        return None
    return record_of(
        Question,
        message,
        target_m=point_m(message.target.point),
        pixel=(int(message.column), int(message.row)) if message.has_pixel else None,
        has_picture=bool(message.picture_frame),
        issued_s=stamp_seconds(message.issued),
        expires_s=stamp_seconds(message.expires),
    )


def _answer_message(question_id: str, answer: Answer, place: Place) -> AnswerQuestion.Request:
    request = AnswerQuestion.Request(
        question_id=question_id, approve=answer.approves, remember_kind=answer is Answer.KIND
    )
    if answer.approves and place.target_m is not None:
        request.has_target = True
        request.target = PointStamped(
            header=header(0.0, "map"), point=point_message(place.target_m)
        )
    if answer.approves and place.pixel is not None:
        request.has_pixel = True
        request.column, request.row = place.pixel
    return request


def _print_line(line: str) -> None:
    print(line if line.isprintable() else ascii(line), flush=True)
