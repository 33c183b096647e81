"""Approval questions to an agent's operator as topics, and the service for the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import PointStamped
from planner_msgs.msg import ApprovalQuestion
from planner_msgs.srv import AnswerQuestion
from rclpy.node import Node
from sensor_msgs.msg import Image

from planner.ros import images, qos
from planner.ros.conversions import header, point_m, point_message, time_message
from planner.ros.known_programs import Callers
from planner.ros.message_bounds import bounds_of
from planner.ros.safe_publisher import SafePublisher
from planner.world import topics
from planner.world.observation import RgbImage
from sim_bridge.control import Outcome
from sim_bridge.frames import optical_frame
from sim_bridge.runtime import Runtime
from sim_bridge.safety.answers import ANSWER, Reply
from sim_bridge.safety.questions import Question

_CROSS_PX = 12
_CROSS_RGB = (255, 0, 0)


class ApprovalTopics:
    """`safety/question`, its `asks/image` and `asks/target`, and `safety/answer` of one agent."""

    def __init__(
        self,
        node: Node,
        runtime: Runtime,
        agent: str,
        losses: Counter[str],
        on_answer: Callable[[str, Outcome], object],
    ) -> None:
        """Advertises and serves in the agent's namespace; `on_answer` gets each outcome."""
        self._runtime, self._agent, self._node = runtime, agent, node
        self._bounds = bounds_of(AnswerQuestion.Request)
        self._on_answer = on_answer

        def topic(name: str) -> str:
            return topics.of_agent(agent, name)

        self._image = SafePublisher(node, Image, topic(topics.ASKS_IMAGE), qos.LATCHED, losses)
        self._target = SafePublisher(
            node, PointStamped, topic(topics.ASKS_TARGET), qos.LATCHED, losses
        )
        self._question = SafePublisher(
            node, ApprovalQuestion, topic(topics.QUESTION), qos.LATCHED, losses
        )
        self._service = node.create_service(AnswerQuestion, topic(topics.ANSWER), self._answer)
        self._callers = Callers(node, self._service, AnswerQuestion.Event, topic(topics.ANSWER))
        self._shown = ""
        self._question.publish(ApprovalQuestion(agent=agent))

    def show(self, question: Question | None) -> None:
        """Publishes the question if it changed; the picture of the last one stays latched."""
        question_id = "" if question is None else question.question_id
        if question_id == self._shown:
            return
        self._shown = question_id
        if question is None:
            self._question.publish(ApprovalQuestion(agent=self._agent))
            return
        message = question_message(question)
        # Target and picture first: a client that gets the question can read them.
        self._target.publish(message.target)
        if question.view is not None:
            head = header(question.issued_s, message.picture_frame)
            picture = marked(question.view.rgb, question.pixel)
            self._image.publish(images.rgb_message(head, picture))
        self._question.publish(message)

    def _answer(
        self, request: AnswerQuestion.Request, response: AnswerQuestion.Response
    ) -> AnswerQuestion.Response:
        if refusal := self._callers.refusal():
            response.message = refusal
            return response
        problem = self._bounds.problem(request, self._runtime.now_s())
        answers = self._runtime.gate.answers
        if problem:
            why = f"{ANSWER} is out of bounds: {problem}"
            outcome = answers.ignore(self._agent, why)
        else:
            outcome = answers.answer(self._agent, read_reply(request))
        self._on_answer(ANSWER, outcome)
        response.success, response.message = outcome.success, outcome.message
        return response

    def destroy(self) -> None:
        """Removes the topics and the service."""
        for publisher in (self._image, self._target, self._question):
            publisher.destroy()
        self._callers.destroy()
        self._node.destroy_service(self._service)


def question_message(question: Question) -> ApprovalQuestion:
    """A question as its message."""
    column, row = question.pixel or (0, 0)
    return ApprovalQuestion(
        question_id=question.question_id,
        agent=question.agent,
        primitive=str(question.primitive.name),
        thing_class=question.primitive.thing_class,
        why=question.why,
        target=PointStamped(
            header=header(question.issued_s, "map"), point=point_message(question.target_m)
        ),
        has_pixel=question.pixel is not None,
        column=column,
        row=row,
        picture_frame="" if question.view is None else optical_frame(question.agent, "hand"),
        issued=time_message(question.issued_s),
        expires=time_message(question.expires_s),
    )


def read_reply(request: AnswerQuestion.Request) -> Reply:
    """An answer as plain values."""
    return Reply(
        question_id=request.question_id,
        approve=request.approve,
        remember_kind=request.remember_kind,
        target_m=point_m(request.target.point) if request.has_target else None,
        frame=request.target.header.frame_id,
        pixel=(int(request.column), int(request.row)) if request.has_pixel else None,
    )


def marked(rgb: RgbImage, pixel: tuple[int, int] | None) -> RgbImage:
    """A copy of a picture with a cross at a pixel (column, row)."""
    shown = np.array(rgb)
    if pixel is not None:
        u, v = pixel
        shown[v, max(0, u - _CROSS_PX) : u + _CROSS_PX + 1] = _CROSS_RGB
        shown[max(0, v - _CROSS_PX) : v + _CROSS_PX + 1, u] = _CROSS_RGB
    return shown
