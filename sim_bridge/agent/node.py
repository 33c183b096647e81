"""The ROS side of one agent: topics, services, `primitive` action, approval questions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PointStamped
from planner_msgs.action import ExecutePrimitive
from planner_msgs.msg import ApprovalQuestion
from planner_msgs.srv import AnswerQuestion
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import Image
from std_msgs.msg import String

from planner.ros import conversions, qos
from planner.ros.agent_topics import (
    AgentTopics,
    CameraTopics,
    CommandReply,
    TriggerServices,
    safety_status,
)
from planner.ros.clients import Callers
from planner.ros.conversions import header, point_m, point_message, time_message
from planner.ros.goal_server import Goal
from planner.ros.guard import SafePublisher
from planner.ros.heartbeat import HeartbeatSubscription, safety_topic
from planner.ros.primitives import PrimitiveServer
from planner.ros.sightings import SightingsTopic
from planner.ros.subscriptions import bounds_of
from planner.world import topics
from planner.world.agents import body_of
from planner.world.bounds import OutOfBounds
from planner.world.memory_wire import stamp_seconds
from planner.world.observation import Observation, RgbImage
from planner.world.primitive import Drive
from planner.world.wire import record_of
from sim_bridge.geometry import Link, moving_links, optical_frame, robot_description
from sim_bridge.one_robot import STOPS, Command, Outcome
from sim_bridge.pacing import Exposures, Periodic
from sim_bridge.runtime import Job, Request, Runtime, out_of_bounds
from sim_bridge.safety.approvals import Answer, Heartbeat, Question
from sim_bridge.safety.guard import Order
from sim_bridge.safety.health import Receipt
from sim_bridge.safety.order_executor import ANSWER, Reply

# Approval questions to an agent's operator as topics, and the service for the answers.

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
            self._image.publish(conversions.rgb_message(head, picture))
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


# The camera that the memory uses.
MEMORY_CAMERA = "hand"


@dataclass(frozen=True, slots=True)
class Sensing:
    """What agents publish: cameras, rate in simulated time, depth encoding.

    `still_camera_hz` is the rate while nothing in the picture changes.
    """

    cameras: tuple[str, ...]
    camera_hz: float
    still_camera_hz: float
    depth_encoding: str


@dataclass(slots=True)
class _ActiveGoal:
    """A client's goal and the job that it became."""

    goal: Goal
    job: Job


class AgentInterface:
    """One agent's topics, services and action."""

    def __init__(
        self, node: Node, runtime: Runtime, agent: str, sensing: Sensing, losses: Counter[str]
    ) -> None:
        """Advertises them; messages that cannot be sent are counted in `losses`."""
        self.agent = agent
        self._node = node
        self._runtime = runtime
        capabilities = runtime.backend.capabilities(agent)
        self._cameras = {
            camera: CameraTopics(
                node,
                agent,
                camera,
                losses,
                depth_encoding=sensing.depth_encoding,
                ground_truth=capabilities.ground_truth,
            )
            for camera in sensing.cameras
            if camera in capabilities.cameras
        }
        self._sightings = SightingsTopic(node, agent, losses) if runtime.has_sightings else None
        self._topics = AgentTopics(node, agent, losses)
        self._approval = ApprovalTopics(node, runtime, agent, losses, self._log_outcome)
        self._description = SafePublisher(
            node, String, topics.of_agent(agent, topics.ROBOT_DESCRIPTION), qos.LATCHED, losses
        )
        self._services = TriggerServices(
            node, agent, (*Command, *Answer), self._command, free=STOPS
        )
        # Before the action: a client that discovers the action can already send heartbeats.
        self._heartbeats = HeartbeatSubscription(
            node, safety_topic(agent), partial(self._on_silence, runtime)
        )
        self._server = PrimitiveServer(
            node,
            topics.of_agent(agent, topics.PRIMITIVE),
            on_goal=self._begin,
            on_wrong=self._refuse,
            on_cancel=self._cancel,
            now_s=runtime.now_s,
        )
        self._active: list[_ActiveGoal] = []
        # Commands that the robot is still carrying out, with the futures of their callers.
        self._orders: list[tuple[Order, Future[CommandReply]]] = []
        self._exposures = Exposures(sensing.camera_hz, sensing.still_camera_hz)
        # The world's revision at the last exposure; None where an agent was busy.
        self._exposed: int | None = None
        # Of a robot whose pictures come at their own times: the cameras whose next picture is due,
        # the stamps of their last ones, and those that wait for their frames to be published.
        self._awaited: set[str] = set()
        self._shown_s: dict[str, float] = {}
        self._taken: list[Observation] = []
        self._moved_s = -math.inf
        # Stamp of the newest pictures of `MEMORY_CAMERA`, or sightings, that were published.
        self.picture_s: float | None = None
        self._hand = Periodic(10.0)
        self._feedback = Periodic(5.0)

    # Sensing

    def tick(
        self, now_s: float, quiet: int | None, *, tf_wanted: bool, memory_looks: bool
    ) -> list[Link]:
        """Publishes what is due at this tick; returns the frames that moved.

        Args:
            now_s: on the world's clock.
            quiet: the world's revision where no agent was busy in this tick, else None.
            tf_wanted: whether frames are published at this tick.
            memory_looks: whether the memory would use a picture of this tick.
        """
        exposes = self._exposures.due(now_s, still=self._is_still(quiet))
        if exposes:
            self._exposed = quiet
        cameras = [
            name for name in self._cameras if exposes and self._is_watched(name, memory_looks)
        ]
        sees = exposes and self._wants_sightings(memory_looks=memory_looks)
        hand = self._hand.due(now_s)
        if self._runtime.has_own_pictures:
            self._awaited.update(cameras)
            moves = hand or tf_wanted or self._topics.has_subscribers
            return [*(self._sense([], sees=False) if moves else ()), *self._take_pictures()]
        if not (cameras or sees or hand or tf_wanted or self._topics.has_subscribers):
            return []
        return self._sense(cameras, sees=sees)

    def _take_pictures(self) -> list[Link]:
        """Takes the pictures that have come; returns the frames of their times.

        `show_pictures` publishes them, after these frames.
        """
        for camera in sorted(self._awaited):
            last_s = self._shown_s.get(camera, -math.inf)
            seen = self._runtime.picture_after(self.agent, camera, last_s)
            if seen is not None:
                self._awaited.discard(camera)
                self._shown_s[camera] = seen.stamp_s
                self._taken.append(seen)
        return [link for seen in self._taken for link in moving_links(seen)]

    def show_pictures(self) -> None:
        """Publishes what `tick` took, each picture once and with the stamp of its time."""
        for seen in self._taken:
            self._publish_pictures(seen)
        self._taken.clear()

    def _wants_sightings(self, *, memory_looks: bool) -> bool:
        # A single subscriber is the memory.
        count = 0 if self._sightings is None else self._sightings.subscriber_count
        return count > 1 or (count == 1 and memory_looks)

    def _is_watched(self, camera: str, memory_looks: bool) -> bool:
        topics = self._cameras[camera]
        only_remembered = (
            camera == MEMORY_CAMERA and not memory_looks and topics.has_only_memory_subscriber
        )
        return topics.has_subscribers and not only_remembered

    def _is_still(self, quiet: int | None) -> bool:
        return quiet is not None and quiet == self._exposed

    def until_exposure_s(self, now_s: float, quiet: int | None) -> float:
        """Seconds until the next exposure; `quiet` as in `tick`."""
        return self._exposures.until_due_s(now_s, still=self._is_still(quiet))

    @property
    def has_new_subscribers(self) -> bool:
        """Whether a subscriber joined after the last tick."""
        sees = self._sightings is not None and self._sightings.has_new_subscribers
        return (
            sees
            or self._topics.has_new_subscribers
            or any(topics.has_new_subscribers for topics in self._cameras.values())
        )

    def repeat(self) -> list[Link]:
        """Publishes the present state again while time is paused; returns all frames."""
        self._moved_s = -math.inf
        cameras = [name for name, topics in self._cameras.items() if topics.has_subscribers]
        return self._sense(
            [] if self._runtime.has_own_pictures else cameras,
            sees=self._wants_sightings(memory_looks=True),
        )

    def restart(self) -> None:
        """Resets all schedules for a newly loaded world."""
        for schedule in (self._exposures, self._hand, self._feedback):
            schedule.restart()
        # The first pictures are published with the world and the next ones whole periods later, at
        # the same times as in a run without ROS.
        self._exposures.due(self._runtime.now_s(), still=False)
        self._exposed = self.picture_s = None
        self._awaited.clear()
        self._shown_s.clear()
        self._taken.clear()
        self._describe()

    def _describe(self) -> None:
        """Publishes the body as URDF; a kind that config/agents.yaml lacks has none."""
        capabilities = self._runtime.backend.capabilities(self.agent)
        body = body_of(capabilities.kind)
        if body is not None:
            joints = self._runtime.sense(self.agent, ()).joints
            text = robot_description(self.agent, body, capabilities.cameras, joints)
            self._description.publish(String(data=text))

    def _sense(self, cameras: list[str], *, sees: bool) -> list[Link]:
        seen = self._runtime.sense(self.agent, cameras)
        if sees and self._sightings is not None:
            self._sightings.publish(seen.stamp_s, self._runtime.sightings(self.agent))
            self.picture_s = seen.stamp_s
        if self._runtime.has_own_pictures and seen.stamp_s <= self._moved_s:
            # Nothing new was heard of the robot.
            return []
        self._moved_s = seen.stamp_s
        self._topics.publish_motion(seen)
        self._topics.publish_hand(seen)
        self._publish_pictures(seen)
        return moving_links(seen)

    def _publish_pictures(self, seen: Observation) -> None:
        for camera, frame in seen.cameras.items():
            frame_id = optical_frame(self.agent, camera)
            self._cameras[camera].publish(seen.stamp_s, frame_id, frame)
            if camera == MEMORY_CAMERA:
                self.picture_s = seen.stamp_s

    # Permission to move

    def publish_permission(self, *, repeat: bool) -> DiagnosticStatus:
        """Publishes whether the agent may move, if that changed or `repeat`; returns the status."""
        gate = self._runtime.gate
        control, obstacles = gate.control(self.agent), gate.obstacles(self.agent)
        health, asked = gate.health(self.agent), gate.asked(self.agent)
        details = {
            "mode": str(gate.mode(self.agent)),
            "claimed": str(control.claimed),
            "powered": str(control.powered),
            "standing": str(control.standing),
            "estop": str(control.estop),
            "under_way": gate.under_way(self.agent),
            "owner": health.owner,
            "attended_by": ", ".join(gate.executives(self.agent)),
            "warns": "; ".join(gate.warnings(self.agent)),
            "asks": "" if asked is None else f"{asked.what}: {asked.why}",
            "asks_id": "" if asked is None else asked.question_id,
            "asks_pixel": ""
            if asked is None or asked.pixel is None
            else "{}, {}".format(*asked.pixel),
        }
        self._approval.show(asked)
        self._topics.publish_safety(obstacles, details, repeat=repeat)
        return safety_status(self.agent, obstacles, details)

    def publish_receipt(self, receipt: Receipt) -> None:
        """Publishes the receipt of a command."""
        details = {
            "stamp_s": f"{receipt.stamp_s:.3f}",
            "rule": "" if receipt.rule is None else str(int(receipt.rule)),
        }
        self._topics.publish_receipt(
            receipt.command, receipt.reason, details, allowed=receipt.allowed
        )

    def publish_battery(self) -> None:
        """Publishes the battery's state; a simulator without one reports it full."""
        share = self._runtime.gate.health(self.agent).battery
        if share is None:
            share = 1.0 if self._runtime.backend.simulated else math.nan
        self._topics.publish_battery(self._runtime.now_s(), share)

    def _command(self, command: str) -> CommandReply | Future[CommandReply]:
        if command in set(Answer):
            return self._log_outcome(command, self._runtime.answer(self.agent, Answer(command)))
        order = self._runtime.order(self.agent, Command(command))
        if order.outcome is not None:
            return self._log_outcome(command, order.outcome)
        self.publish_permission(repeat=False)
        waits: Future[CommandReply] = Future()
        self._orders.append((order, waits))
        return waits

    def _answer_orders(self) -> None:
        """Answers the callers whose commands have ended."""
        for order, waits in self._orders:
            if order.outcome is not None:
                waits.set_result(self._log_outcome(order.command, order.outcome))
        self._orders = [(o, waits) for o, waits in self._orders if not waits.done()]

    def _log_outcome(self, command: str, outcome: Outcome) -> CommandReply:
        self._node.get_logger().info(f"{self.agent}: {command}: {outcome.message}")
        self.publish_permission(repeat=False)
        return outcome.success, outcome.message

    # Heartbeats

    def take_heartbeats(self) -> None:
        """Processes the heartbeats that have arrived."""
        for message in self._heartbeats.take():
            heartbeat = Heartbeat(
                message.executive, message.sequence, stamp_seconds(message.stamp), message.leaving
            )
            self._runtime.gate.attend(self.agent, heartbeat)

    def _on_silence(self, runtime: Runtime, everyone: bool) -> None:
        # Heartbeats that arrived before the silence count first.
        self.take_heartbeats()
        runtime.gate.miss(self.agent, everyone=everyone)

    # Acting

    def settle(self, now_s: float) -> None:
        """Ends goals and commands whose jobs have ended, and sends feedback for the others."""
        self._answer_orders()
        if not self._active:
            return
        for active in self._active:
            status = active.job.status
            if status.result is not None:
                known = self.agent in self._runtime.agents
                seen = self._runtime.sense(self.agent, ()) if known else None
                if seen is not None:
                    base = seen.base
                    self._server.feedback(active.goal, status.phase, status.progress, now_s, base)
                self._server.finish(active.goal, status.result, now_s, seen)
        self._active = [p for p in self._active if not p.job.status.done]
        if self._active and self._feedback.due(now_s):
            base = self._runtime.sense(self.agent, ()).base
            for active in self._active:
                status = active.job.status
                self._server.feedback(active.goal, status.phase, status.progress, now_s, base)

    def watch_clients(self) -> None:
        """Stops goals whose client is gone: a lost client must not leave the agent moving."""
        if not self._active:
            return
        for active in self._active:
            reason = self._server.lost_client(active.goal)
            if reason:
                self._node.get_logger().warning(f"{self.agent}: {active.job.name}: {reason}")
                self._runtime.abandon(active.job, reason)

    def _begin(self, goal: Goal) -> None:
        self.take_heartbeats()
        job = self._runtime.begin(self.agent, read_goal(goal.request))
        self._active.append(_ActiveGoal(goal, job))

    def _refuse(self, goal: Goal, problem: OutOfBounds) -> None:
        job = self._runtime.refuse(self.agent, goal.request.name, out_of_bounds(problem))
        self._active.append(_ActiveGoal(goal, job))

    def _cancel(self, goal: Goal) -> None:
        for active in self._active:
            if active.goal == goal:
                self._runtime.cancel(active.job)

    def destroy(self) -> None:
        """Removes the agent's topics, services and action."""
        self._topics.destroy()
        self._approval.destroy()
        self._description.destroy()
        if self._sightings is not None:
            self._sightings.destroy()
        for camera in self._cameras.values():
            camera.destroy()
        self._services.destroy()
        self._heartbeats.destroy()
        self._server.destroy()


def read_goal(goal: ExecutePrimitive.Goal) -> Request:
    """A goal message as plain values."""
    return record_of(
        Request,
        goal,
        target_m=point_m(goal.target.point),
        frame=goal.target.header.frame_id,
        reference_m=point_m(goal.reference.point) if goal.has_reference else None,
        reference_frame=goal.reference.header.frame_id,
        drive=record_of(Drive, goal, duration_s=float(goal.drive_s)),
    )
