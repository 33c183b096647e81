"""Shows what an agent asks and sends the answer; `planner approve` is its command."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from geometry_msgs.msg import PointStamped
from PIL import Image as Picture
from planner_msgs.msg import ApprovalQuestion
from planner_msgs.srv import AnswerQuestion
from rclpy.client import Client
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image

from planner.approve.cli import Order
from planner.approve.question import Place, Say, Shown, typed
from planner.exit_status import EXIT_FAILED, EXIT_OK
from planner.network import confine
from planner.ros import images, qos
from planner.ros.client_node import client_node
from planner.ros.conversions import header, point_m, point_message, seconds
from planner.ros.world_clock import WorldClock
from planner.security.enclave import act_as
from planner.security.policy import OPERATOR
from planner.world import topics
from planner.world.errors import PlannerError

LOOK_S = 0.05
# For what is latched beside the question, and for the world's clock.
BESIDE_PATIENCE_S = 2.0
# For the answer to the answer: the bridge checks the place and hands it to the robot.
ANSWER_PATIENCE_S = 10.0
PROMPT = "y approve, n refuse, k approve this and later ones of its kind: "


def answer(order: Order) -> int:
    """Shows the question, has it answered and tells what came of it.

    Returns:
        The exit status.

    Raises:
        PlannerError: where no bridge answers in time, or the picture cannot be saved.
    """
    confine(os.environ)
    act_as(os.environ, OPERATOR, order.namespace)
    # Ctrl-C is a KeyboardInterrupt here: nothing was sent then.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = client_node(f"approve_{os.getpid()}", order.namespace)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        return _Answering(order, node, executor).run()
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()


class _Answering:
    """One question and its answer."""

    def __init__(self, order: Order, node: Node, executor: SingleThreadedExecutor) -> None:
        self._order, self._executor = order, executor
        self._question: ApprovalQuestion | None = None
        self._picture: Image | None = None
        self._clock = WorldClock(node)
        node.create_subscription(
            ApprovalQuestion,
            topics.of_agent(order.agent, topics.QUESTION),
            self._on_question,
            qos.LATCHED,
        )
        node.create_subscription(
            Image, topics.of_agent(order.agent, topics.ASKS_IMAGE), self._on_picture, qos.LATCHED
        )
        self._client: Client[Any, Any] = node.create_client(
            AnswerQuestion, topics.of_agent(order.agent, topics.ANSWER)
        )

    def run(self) -> int:
        """Shows it, where it is not answered already, and answers."""
        if self._order.said is not None:
            say, question_id = self._order.said
            return self._send(question_id, say)
        if not self._wait(lambda: self._question is not None, self._order.wait_s):
            raise PlannerError(self._nobody())
        shown = _shown(self._question)
        if shown is None:
            _say(f"{self._order.agent} asks nothing")
            return EXIT_FAILED
        self._wait(lambda: self._clock.now_s > 0, BESIDE_PATIENCE_S)
        for line in shown.lines(self._clock.now_s or None):
            _say(line)
        if self._order.picture is not None:
            self._save_picture(shown, self._order.picture)
        if not self._order.asks:
            _say(f"to answer: planner approve {shown.agent} --yes|--no|--kind {shown.question_id}")
            return EXIT_OK
        said = self._ask(shown)
        if said is None and self._is_asked(shown):
            _say("nothing was answered")
            return EXIT_FAILED
        if said is None:
            # Only the bridge knows why; refusing what is gone changes nothing.
            self._send(shown.question_id, Say.NO)
            return EXIT_FAILED
        return self._send(shown.question_id, said)

    def _ask(self, shown: Shown) -> Say | None:
        """What the operator types; None where the question is gone, or nobody types any more."""
        # What was typed before it was shown is no answer to it.
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        print(PROMPT, end="", flush=True)
        while self._is_asked(shown):
            if select.select([sys.stdin], [], [], 0.0)[0]:
                line = sys.stdin.readline()
                said = typed(line)
                if said is not None or not line:
                    return said
                print(PROMPT, end="", flush=True)
            self._executor.spin_once(timeout_sec=LOOK_S)
        print(flush=True)
        return None

    def _is_asked(self, shown: Shown) -> bool:
        return self._question is not None and self._question.question_id == shown.question_id

    def _send(self, question_id: str, say: Say) -> int:
        if not self._wait(self._client.service_is_ready, self._order.wait_s):
            raise PlannerError(self._nobody())
        sent = self._client.call_async(_request(question_id, say, self._order.place))
        if not self._wait(sent.done, ANSWER_PATIENCE_S):
            raise PlannerError(
                f"the bridge did not confirm the answer within {ANSWER_PATIENCE_S:g} s; "
                f"/{self._order.agent}/safety/receipts tells what came of it"
            )
        told: Any = sent.result()
        _say(told.message)
        return EXIT_OK if told.success else EXIT_FAILED

    def _save_picture(self, shown: Shown, path: Path) -> None:
        """Saves the picture of exactly this question.

        Raises:
            PlannerError: where there is none, or the file cannot be written.
        """
        if not shown.has_picture:
            raise PlannerError("--picture: the question has none")
        if not self._wait(lambda: self._picture_of(shown) is not None, BESIDE_PATIENCE_S):
            raise PlannerError("--picture: it did not come with the question")
        message = self._picture_of(shown)
        try:
            Picture.fromarray(images.rgb_array(message)).save(path)
        except (OSError, ValueError) as error:
            raise PlannerError(f"--picture: {path}: {error}") from None
        _say(f"  picture in {path}")

    def _picture_of(self, shown: Shown) -> Image | None:
        picture = self._picture
        if picture is None or seconds(picture.header.stamp) != shown.issued_s:
            return None
        return picture

    def _wait(self, met: Callable[[], bool], patience_s: float) -> bool:
        """Whether something came true in time, wall seconds."""
        begun_s = time.monotonic()
        while not met():
            if time.monotonic() - begun_s > patience_s:
                return False
            self._executor.spin_once(timeout_sec=LOOK_S)
        return True

    def _on_question(self, message: ApprovalQuestion) -> None:
        self._question = message

    def _on_picture(self, message: Image) -> None:
        self._picture = message

    def _nobody(self) -> str:
        domain = os.environ.get("ROS_DOMAIN_ID") or "0"
        return (
            f"no bridge has an agent {self._order.agent} in ROS domain {domain} (ROS_DOMAIN_ID), "
            f"looked for during {self._order.wait_s:g} s"
        )


def _shown(message: ApprovalQuestion | None) -> Shown | None:
    """A question as plain values; None where nothing is asked."""
    if message is None or not message.question_id:
        return None
    return Shown(
        question_id=str(message.question_id),
        agent=str(message.agent),
        primitive=str(message.primitive),
        thing_class=str(message.thing_class),
        why=str(message.why),
        target_m=point_m(message.target.point),
        pixel=(int(message.column), int(message.row)) if message.has_pixel else None,
        has_picture=bool(message.picture_frame),
        issued_s=seconds(message.issued),
        expires_s=seconds(message.expires),
    )


def _request(question_id: str, say: Say, place: Place) -> AnswerQuestion.Request:
    request = AnswerQuestion.Request(
        question_id=question_id, approve=say.approves, remember_kind=say is Say.KIND
    )
    if say.approves and place.target_m is not None:
        request.has_target = True
        request.target = PointStamped(
            header=header(0.0, "map"), point=point_message(place.target_m)
        )
    if say.approves and place.pixel is not None:
        request.has_pixel = True
        request.column, request.row = place.pixel
    return request


def _say(line: str) -> None:
    print(line if line.isprintable() else ascii(line), flush=True)
