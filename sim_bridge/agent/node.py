"""The ROS side of one agent: its topics, its Trigger services and its `primitive` action."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import partial

from diagnostic_msgs.msg import DiagnosticStatus
from planner_msgs.action import ExecutePrimitive
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import String

from planner.ros import qos
from planner.ros.agent_topics import (
    AgentTopics,
    CameraTopics,
    Told,
    TriggerServices,
    safety_status,
)
from planner.ros.conversions import point_m, seconds
from planner.ros.goal_server import Goal
from planner.ros.heartbeat import HeartbeatSubscription, safety_topic
from planner.ros.primitive_server import PrimitiveServer
from planner.ros.safe_publisher import SafePublisher
from planner.world import topics
from planner.world.agents import body_of
from planner.world.bounds import OutOfBounds
from sim_bridge.approval_topics.node import ApprovalTopics
from sim_bridge.control import Command, Outcome
from sim_bridge.frames import Link, moving_links, optical_frame
from sim_bridge.pacing import Every, Exposures
from sim_bridge.requests import Request, out_of_bounds
from sim_bridge.robot_description import robot_description
from sim_bridge.runtime import Job, Runtime
from sim_bridge.safety.approvals import Answer
from sim_bridge.safety.attendance import Beat
from sim_bridge.safety.health import Receipt
from sim_bridge.safety.orders import Order

# The camera that the memory looks through.
REMEMBERED = "hand"


@dataclass(frozen=True, slots=True)
class Sensing:
    """What agents publish: which cameras, how often in simulated time, depth how encoded.

    `still_camera_hz` is how often while pictures would all be the same.
    """

    cameras: tuple[str, ...]
    camera_hz: float
    still_camera_hz: float
    depth_encoding: str


@dataclass(slots=True)
class _Pursuit:
    """A client's goal and the job that it became."""

    goal: Goal
    job: Job


class AgentInterface:
    """One agent's names in the ROS graph and what stands behind them."""

    def __init__(
        self, node: Node, runtime: Runtime, agent: str, sensing: Sensing, losses: Counter[str]
    ) -> None:
        """Advertises them; messages that cannot be sent are counted in `losses`."""
        self.agent = agent
        self._node = node
        self._runtime = runtime
        can = runtime.backend.capabilities(agent)
        self._cameras = {
            camera: CameraTopics(
                node,
                agent,
                camera,
                losses,
                depth_encoding=sensing.depth_encoding,
                ground_truth=can.ground_truth,
            )
            for camera in sensing.cameras
            if camera in can.cameras
        }
        self._topics = AgentTopics(node, agent, losses)
        self._asking = ApprovalTopics(node, runtime, agent, losses, self._tell)
        self._description = SafePublisher(
            node, String, topics.of_agent(agent, topics.ROBOT_DESCRIPTION), qos.LATCHED, losses
        )
        self._services = TriggerServices(node, agent, (*Command, *Answer), self._command)
        # Before the action: who finds that has found this, and its first goal is attended.
        self._heartbeats = HeartbeatSubscription(
            node, safety_topic(agent), partial(self._miss, runtime)
        )
        self._server = PrimitiveServer(
            node,
            topics.of_agent(agent, topics.PRIMITIVE),
            on_goal=self._begin,
            on_wrong=self._refuse,
            on_cancel=self._cancel,
            now_s=runtime.now_s,
        )
        self._pursuits: list[_Pursuit] = []
        # What the robot is still at, and who waits for the answer.
        self._orders: list[tuple[Order, Future[Told]]] = []
        self._exposures = Exposures(sensing.camera_hz, sensing.still_camera_hz)
        # The world's revision at the last exposure, None where something moved even so.
        self._exposed: int | None = None
        # The stamp of the newest pictures that a tick sent of the camera that is remembered from.
        self.shown_s: float | None = None
        self._hand = Every(10.0)
        self._feedback = Every(5.0)

    # Sensing

    def tick(
        self, now_s: float, quiet: int | None, *, tf_wanted: bool, remembers: bool
    ) -> list[Link]:
        """Publishes what is due at this tick; returns the frames that moved, where wanted.

        Args:
            now_s: on the world's clock.
            quiet: the world's revision where no agent was busy in this tick, else None.
            tf_wanted: whether frames are told at this tick.
            remembers: whether the memory would look at a picture of this tick.
        """
        exposes = self._exposures.due(now_s, still=self._stands(quiet))
        if exposes:
            self._exposed = quiet
        cameras = [name for name in self._cameras if exposes and self._is_watched(name, remembers)]
        hand = self._hand.due(now_s)
        if not (cameras or hand or tf_wanted or self._topics.has_subscribers):
            return []
        return self._sense(cameras)

    def _is_watched(self, camera: str, remembers: bool) -> bool:
        topics = self._cameras[camera]
        only_remembered = (
            camera == REMEMBERED and not remembers and topics.has_only_memory_subscriber
        )
        return topics.has_subscribers and not only_remembered

    def _stands(self, quiet: int | None) -> bool:
        return quiet is not None and quiet == self._exposed

    def exposure_left_s(self, now_s: float, quiet: int | None) -> float:
        """Seconds until the next exposure; `quiet` as in `tick`."""
        return self._exposures.left_s(now_s, still=self._stands(quiet))

    @property
    def has_new_subscribers(self) -> bool:
        """Whether somebody came to listen after the last tick."""
        return self._topics.has_new_subscribers or any(
            topics.has_new_subscribers for topics in self._cameras.values()
        )

    def repeat(self) -> list[Link]:
        """Publishes what somebody listens to, while time stands; returns all frames."""
        return self._sense(
            [name for name, topics in self._cameras.items() if topics.has_subscribers]
        )

    def restart(self) -> None:
        """Takes up a world whose time began anew."""
        for schedule in (self._exposures, self._hand, self._feedback):
            schedule.restart()
        # The pictures of its beginning are sent with it, the next ones whole periods later: a run
        # without ROS has them at the same moments.
        self._exposures.due(self._runtime.now_s(), still=False)
        self._exposed = self.shown_s = None
        self._describe()

    def _describe(self) -> None:
        """Publishes the body as URDF; a kind that config/agents.yaml lacks has none."""
        can = self._runtime.backend.capabilities(self.agent)
        body = body_of(can.kind)
        if body is not None:
            joints = self._runtime.sense(self.agent, ()).joints
            text = robot_description(self.agent, body, can.cameras, joints)
            self._description.publish(String(data=text))

    def _sense(self, cameras: list[str]) -> list[Link]:
        seen = self._runtime.sense(self.agent, cameras)
        self._topics.publish_motion(seen)
        self._topics.publish_hand(seen)
        for camera, frame in seen.cameras.items():
            frame_id = optical_frame(self.agent, camera)
            self._cameras[camera].publish(seen.stamp_s, frame_id, frame)
            if camera == REMEMBERED:
                self.shown_s = seen.stamp_s
        return moving_links(seen)

    # Permission to move

    def announce(self, *, repeat: bool) -> DiagnosticStatus:
        """Publishes whether the agent may move where that changed; returns it in any case."""
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
        self._asking.show(asked)
        self._topics.publish_safety(obstacles, details, repeat=repeat)
        return safety_status(self.agent, obstacles, details)

    def publish_receipt(self, receipt: Receipt) -> None:
        """Publishes what became of a command."""
        details = {
            "stamp_s": f"{receipt.stamp_s:.3f}",
            "rule": "" if receipt.rule is None else str(int(receipt.rule)),
        }
        self._topics.publish_receipt(
            receipt.command, receipt.reason, details, allowed=receipt.allowed
        )

    def announce_battery(self) -> None:
        """Publishes the battery's state: as a robot tells it, full in a simulator without one."""
        share = self._runtime.gate.health(self.agent).battery
        if share is None:
            share = 1.0 if self._runtime.backend.simulated else math.nan
        self._topics.publish_battery(self._runtime.now_s(), share)

    def _command(self, command: str) -> Told | Future[Told]:
        if command in set(Answer):
            return self._tell(command, self._runtime.answer(self.agent, Answer(command)))
        order = self._runtime.order(self.agent, Command(command))
        if order.outcome is not None:
            return self._tell(command, order.outcome)
        self.announce(repeat=False)
        waits: Future[Told] = Future()
        self._orders.append((order, waits))
        return waits

    def _answer_orders(self) -> None:
        """Answers those whose order the robot has carried out, or something else ended."""
        for order, waits in self._orders:
            if order.outcome is not None:
                waits.set_result(self._tell(order.command, order.outcome))
        self._orders = [(o, waits) for o, waits in self._orders if not waits.done()]

    def _tell(self, command: str, outcome: Outcome) -> Told:
        self._node.get_logger().info(f"{self.agent}: {command}: {outcome.message}")
        self.announce(repeat=False)
        return outcome.success, outcome.message

    # Who attends

    def listen(self) -> None:
        """Takes up the heartbeats that have come."""
        for message in self._heartbeats.take():
            beat = Beat(
                message.executive, message.sequence, seconds(message.stamp), message.leaving
            )
            self._runtime.gate.attend(self.agent, beat)

    def _miss(self, runtime: Runtime, everyone: bool) -> None:
        # What has come before counts before the silence after it.
        self.listen()
        runtime.gate.miss(self.agent, everyone=everyone)

    # Acting

    def settle(self, now_s: float) -> None:
        """Ends the goals whose jobs ended, and tells the clients of others how they stand.

        Answers the operator's words that the robot has carried out, too.
        """
        self._answer_orders()
        if not self._pursuits:
            return
        for pursuit in self._pursuits:
            status = pursuit.job.status
            if status.result is not None:
                if self.agent in self._runtime.agents:
                    # Whoever goes on from here needs to know where the body stands now.
                    base = self._runtime.sense(self.agent, ()).base
                    self._server.feedback(pursuit.goal, status.phase, status.progress, now_s, base)
                self._server.finish(pursuit.goal, status.result)
        self._pursuits = [p for p in self._pursuits if not p.job.status.done]
        if self._pursuits and self._feedback.due(now_s):
            base = self._runtime.sense(self.agent, ()).base
            for pursuit in self._pursuits:
                status = pursuit.job.status
                self._server.feedback(pursuit.goal, status.phase, status.progress, now_s, base)

    def watch_clients(self) -> None:
        """Stops what nobody waits for any more: a lost client must not leave it moving."""
        if not self._pursuits:
            return
        for pursuit in self._pursuits:
            reason = self._server.lost_client(pursuit.goal)
            if reason:
                self._node.get_logger().warning(f"{self.agent}: {pursuit.job.name}: {reason}")
                self._runtime.abandon(pursuit.job, reason)

    def _begin(self, goal: Goal) -> None:
        self.listen()
        job = self._runtime.begin(self.agent, read_goal(goal.request))
        self._pursuits.append(_Pursuit(goal, job))

    def _refuse(self, goal: Goal, problem: OutOfBounds) -> None:
        job = self._runtime.refuse(self.agent, goal.request.name, out_of_bounds(problem))
        self._pursuits.append(_Pursuit(goal, job))

    def _cancel(self, goal: Goal) -> None:
        for pursuit in self._pursuits:
            if pursuit.goal == goal:
                self._runtime.cancel(pursuit.job)

    def destroy(self) -> None:
        """Takes the agent's names out of the graph."""
        self._topics.destroy()
        self._asking.destroy()
        self._description.destroy()
        for camera in self._cameras.values():
            camera.destroy()
        self._services.destroy()
        self._heartbeats.destroy()
        self._server.destroy()


def read_goal(goal: ExecutePrimitive.Goal) -> Request:
    """A goal message as plain values."""
    return Request(
        name=goal.name,
        target_m=point_m(goal.target.point),
        frame=goal.target.header.frame_id,
        relation=goal.relation,
        reference_m=point_m(goal.reference.point) if goal.has_reference else None,
        reference_frame=goal.reference.header.frame_id,
        heading_rad=float(goal.heading_rad),
        standoff_m=float(goal.standoff_m),
        pan_rad=tuple(float(angle) for angle in goal.pan_rad),
        tilt_rad=tuple(float(angle) for angle in goal.tilt_rad),
        timeout_s=float(goal.timeout_s),
        tolerance_m=float(goal.tolerance_m),
        thing_class=goal.thing_class,
    )
