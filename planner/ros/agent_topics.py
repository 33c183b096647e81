"""The standard topics of one agent's namespace."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from nav_msgs.msg import Odometry
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.task import Future
from sensor_msgs.msg import BatteryState, CameraInfo, Image, JointState
from std_msgs.msg import Bool, Header, String
from std_srvs.srv import Trigger

from planner.ros import conversions, qos
from planner.ros.clients import Callers
from planner.ros.conversions import header, pose_message
from planner.ros.guard import SafePublisher
from planner.ros.subscriptions import listen
from planner.world import topics
from planner.world.observation import CameraFrame, DepthImage, InstanceImage, Observation, RgbImage

Pixels: TypeAlias = RgbImage | DepthImage | InstanceImage


@dataclass(slots=True)
class _Sent:
    """The last published picture and its message."""

    pixels: Pixels
    message: Image


class CameraTopics:
    """The topics of one camera; equal stamps belong to one exposure."""

    def __init__(
        self,
        node: Node,
        agent: str,
        camera: str,
        losses: Counter[str],
        *,
        depth_encoding: str,
        ground_truth: bool,
    ) -> None:
        """Advertises them; instance ids only with ground truth."""
        self._depth_encoding = depth_encoding
        self._last: dict[SafePublisher, _Sent] = {}

        def publisher(kind: type, topic: str) -> SafePublisher:
            return SafePublisher(node, kind, topics.of_agent(agent, topic), qos.IMAGE, losses)

        self._image = publisher(Image, topics.colour_image(camera))
        self._image_info = publisher(CameraInfo, topics.colour_info(camera))
        self._depth = publisher(Image, topics.depth_image(camera))
        self._depth_info = publisher(CameraInfo, topics.depth_info(camera))
        self._instances = publisher(Image, topics.instances_image(camera)) if ground_truth else None

    @property
    def has_subscribers(self) -> bool:
        """Whether any topic has subscribers."""
        return any(publisher.has_subscribers for publisher in self._publishers)

    @property
    def has_only_memory_subscriber(self) -> bool:
        """Whether the only subscriber takes depth and one more picture, as a memory does."""
        others = self._image.subscriber_count + (
            self._instances.subscriber_count if self._instances else 0
        )
        infos = self._image_info.subscriber_count + self._depth_info.subscriber_count
        return self._depth.subscriber_count == 1 and others == 1 and infos == 0

    @property
    def has_new_subscribers(self) -> bool:
        """Whether a subscriber joined after the last exposure."""
        return any(publisher.has_new_subscribers for publisher in self._publishers)

    def publish(self, stamp_s: float, frame_id: str, frame: CameraFrame) -> None:
        """Publishes one exposure on the topics with subscribers."""
        head = header(stamp_s, frame_id)
        self._send(self._image, head, frame.rgb, conversions.rgb_message)
        depth = partial(conversions.depth_message, encoding=self._depth_encoding)
        self._send(self._depth, head, frame.depth_m, depth)
        if self._instances and frame.instances is not None:
            self._send(self._instances, head, frame.instances, conversions.instances_message)
        for info in (self._image_info, self._depth_info):
            if info.has_subscribers:
                info.publish(conversions.camera_info(head, frame.intrinsics))

    def destroy(self) -> None:
        """Removes the topics."""
        for publisher in self._publishers:
            publisher.destroy()

    def _send(
        self,
        publisher: SafePublisher,
        head: Header,
        pixels: Pixels,
        make: Callable[[Header, Any], Image],
    ) -> None:
        """Publishes a picture; an unchanged one reuses the last message with a new header."""
        if not publisher.has_subscribers:
            return
        last = self._last.get(publisher)
        # A read-only array is not refilled, so the same object has the same pixels.
        if last is None or last.pixels is not pixels or pixels.flags.writeable:
            last = self._last[publisher] = _Sent(pixels, make(head, pixels))
        last.message.header = head
        publisher.publish(last.message)

    @property
    def _publishers(self) -> list[SafePublisher]:
        found = [self._image, self._image_info, self._depth, self._depth_info]
        return [*found, self._instances] if self._instances else found


class AgentTopics:
    """Motion, joints, hand, battery and safety of one agent."""

    def __init__(self, node: Node, agent: str, losses: Counter[str]) -> None:
        """Advertises them under the agent's namespace."""
        self._agent = agent
        self._hand: tuple[float, bool] | None = None
        self._safety: tuple[object, ...] | None = None

        def publisher(kind: type, topic: str, profile: QoSProfile = qos.LATCHED) -> SafePublisher:
            return SafePublisher(node, kind, topics.of_agent(agent, topic), profile, losses)

        self._odometry = publisher(Odometry, topics.ODOMETRY, qos.STATE)
        self._joints = publisher(JointState, topics.JOINT_STATES, qos.STATE)
        self._gripper = publisher(JointState, topics.GRIPPER_STATE)
        self._battery = publisher(BatteryState, topics.BATTERY_STATE)
        self._safety_state = publisher(DiagnosticStatus, topics.SAFETY_STATE)
        self._motion_allowed = publisher(Bool, topics.MOTION_ALLOWED)
        self._receipts = publisher(DiagnosticStatus, topics.RECEIPTS, qos.STATE)

    @property
    def has_subscribers(self) -> bool:
        """Whether odometry or joint states have subscribers."""
        return self._odometry.has_subscribers or self._joints.has_subscribers

    @property
    def has_new_subscribers(self) -> bool:
        """Whether a subscriber joined after the last tick."""
        return self._odometry.has_new_subscribers or self._joints.has_new_subscribers

    def publish_motion(self, observation: Observation) -> None:
        """Odometry (twist in base_link) and joint positions."""
        if self._odometry.has_subscribers:
            message = Odometry(
                header=header(observation.stamp_s, f"{self._agent}/odom"),
                child_frame_id=f"{self._agent}/base_link",
            )
            message.pose.pose = pose_message(observation.odometry)
            message.twist.twist.linear.x = float(observation.linear_m_s)
            message.twist.twist.angular.z = float(observation.angular_rad_s)
            self._odometry.publish(message)
        if self._joints.has_subscribers:
            self._joints.publish(_joint_state(observation.stamp_s, observation.joints))

    def publish_hand(self, observation: Observation) -> None:
        """The gripper's opening, 0 closed to 1 open, and whether it holds, if that changed."""
        hand = (observation.gripper_opening, observation.holding)
        if hand != self._hand:
            self._hand = hand
            message = _joint_state(observation.stamp_s, {"gripper": observation.gripper_opening})
            message.effort = [float(observation.holding)]
            self._gripper.publish(message)

    def publish_battery(self, stamp_s: float, share: float) -> None:
        """The state of charge, 0 to 1, NaN if unknown; currents are not measured."""
        unknown = math.nan
        status = BatteryState.POWER_SUPPLY_STATUS_DISCHARGING
        if share >= 1.0:
            status = BatteryState.POWER_SUPPLY_STATUS_FULL
        elif math.isnan(share):
            status = BatteryState.POWER_SUPPLY_STATUS_UNKNOWN
        healthy = not math.isnan(share)
        self._battery.publish(
            BatteryState(
                header=header(stamp_s, f"{self._agent}/base_link"),
                voltage=unknown,
                current=unknown,
                temperature=unknown,
                charge=unknown,
                capacity=unknown,
                design_capacity=unknown,
                percentage=float(share),
                power_supply_status=status,
                power_supply_health=(
                    BatteryState.POWER_SUPPLY_HEALTH_GOOD
                    if healthy
                    else BatteryState.POWER_SUPPLY_HEALTH_UNKNOWN
                ),
                present=True,
            )
        )

    def publish_safety(
        self, obstacles: Sequence[str], details: Mapping[str, str], *, repeat: bool
    ) -> None:
        """Whether the agent may move, if that changed or `repeat`."""
        now = (tuple(obstacles), tuple(details.items()))
        if now == self._safety and not repeat:
            return
        self._safety = now
        self._motion_allowed.publish(Bool(data=not obstacles))
        self._safety_state.publish(safety_status(self._agent, obstacles, details))

    def publish_receipt(
        self, command: str, reason: str, details: Mapping[str, str], *, allowed: bool
    ) -> None:
        """The outcome of one command to the agent."""
        self._receipts.publish(
            DiagnosticStatus(
                level=DiagnosticStatus.OK if allowed else DiagnosticStatus.WARN,
                name=f"{self._agent}: {command}",
                message=reason,
                hardware_id=self._agent,
                values=[KeyValue(key=key, value=value) for key, value in details.items()],
            )
        )

    def destroy(self) -> None:
        """Removes the topics."""
        for publisher in (
            self._receipts,
            self._odometry,
            self._joints,
            self._gripper,
            self._battery,
            self._safety_state,
            self._motion_allowed,
        ):
            publisher.destroy()


# Success and message of a command.
CommandReply: TypeAlias = tuple[bool, str]


class TriggerServices:
    """The Trigger services of one agent; a pending call does not block the others."""

    def __init__(
        self,
        node: Node,
        agent: str,
        commands: Sequence[str],
        on_command: Callable[[str], CommandReply | Future[CommandReply]],
        *,
        free: Collection[str] = (),
    ) -> None:
        """Serves /AGENT/COMMAND for each; `on_command` replies at once or by a future.

        Anybody may call those that are `free`; the others as `planner.ros.clients` says.
        """
        self._node = node
        self._callers: dict[str, Callers] = {}
        group = ReentrantCallbackGroup()

        def serve(command: str) -> Callable[..., Any]:
            async def answer(
                _request: Trigger.Request, response: Trigger.Response
            ) -> Trigger.Response:
                callers = self._callers.get(command)
                if callers is not None and (refusal := callers.refusal()):
                    response.message = refusal
                    return response
                reply = on_command(command)
                if isinstance(reply, Future):
                    reply = await reply or (False, "")
                response.success, response.message = reply
                return response

            return answer

        self._services = [
            node.create_service(
                Trigger, topics.of_agent(agent, command), serve(command), callback_group=group
            )
            for command in commands
        ]
        for command, service in zip(commands, self._services, strict=True):
            if command not in free:
                name = topics.of_agent(agent, command)
                self._callers[command] = Callers(node, service, Trigger.Event, name)

    def destroy(self) -> None:
        """Removes the services."""
        for callers in self._callers.values():
            callers.destroy()
        for service in self._services:
            self._node.destroy_service(service)


def safety_status(
    agent: str, obstacles: Sequence[str], details: Mapping[str, str]
) -> DiagnosticStatus:
    """Whether an agent may move and why not, as a diagnostic."""
    return DiagnosticStatus(
        level=DiagnosticStatus.WARN if obstacles else DiagnosticStatus.OK,
        name=f"{agent}: motion",
        message="; ".join(obstacles) or "motion allowed",
        hardware_id=agent,
        values=[KeyValue(key=key, value=value) for key, value in details.items()],
    )


def _joint_state(stamp_s: float, joints: Mapping[str, float]) -> JointState:
    return JointState(
        header=header(stamp_s, ""),
        name=list(joints),
        position=[float(position) for position in joints.values()],
    )


# What agents say to each other: a topic of each agent, on which it speaks and all listen.

_BOUNDS = f"/{topics.SAYS}"


class TeamTalk:
    """Publishes and subscribes for the agents that it is told of."""

    def __init__(self, node: Node, hear: Callable[[str, str], None]) -> None:
        """`hear` receives an agent and its text, in the executor's thread."""
        self._node, self._on_message = node, hear
        self._publishers: dict[str, Any] = {}

    def add(self, agent: str) -> None:
        """Creates an agent's topic; the second time has no effect."""
        if agent in self._publishers:
            return

        def take(message: String) -> None:
            self._on_message(agent, message.data)

        topic = topics.of_agent(agent, topics.SAYS)
        self._publishers[agent] = self._node.create_publisher(String, topic, qos.EVENTS)
        listen(self._node, String, topic, take, qos.EVENTS, _BOUNDS)

    def say(self, agent: str, text: str) -> None:
        """Publishes what an agent says, in the executor's thread."""
        self.add(agent)
        self._publishers[agent].publish(String(data=text))
