"""`/people`: where persons are. Simulators tell it; before a real robot the gate listens to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from geometry_msgs.msg import PoseArray
from rclpy.node import Node

from planner.ros import qos
from planner.ros.conversions import header, point_m, pose_message, seconds
from planner.ros.message_bounds import bounds_of
from planner.ros.safe_publisher import SafePublisher
from planner.world import topics
from planner.world.geometry import Pose, Vec3
from sim_bridge.pacing import Every
from sim_bridge.runtime import Runtime
from sim_bridge.safety.people import FRAME

TOPIC = topics.PEOPLE
RATE_HZ = 10.0


class PeopleTopic:
    """One end of the topic: persons as poses in `map`, stamped with when they were seen."""

    def __init__(self, node: Node, runtime: Runtime, losses: Counter[str]) -> None:
        """Advertises the topic where the truth is known, listens to it where it is not."""
        self._node, self._runtime = node, runtime
        self._bounds = bounds_of(PoseArray, f"/{TOPIC}")
        self._told = ""
        self._due = Every(RATE_HZ)
        self._publisher: SafePublisher | None = None
        if runtime.backend.simulated:
            self._publisher = SafePublisher(node, PoseArray, TOPIC, qos.STATE, losses)
        else:
            node.create_subscription(PoseArray, TOPIC, self._heard, qos.STATE_INPUT)

    def restart(self) -> None:
        """Takes up a world whose time began anew."""
        self._due.restart()

    def tick(self, now_s: float) -> None:
        """Tells where persons are, if somebody listens and it is time."""
        if self._publisher is not None and self._due.due(now_s) and self._publisher.has_subscribers:
            self._publisher.publish(
                people_message(now_s, self._runtime.gate.people.true_positions())
            )

    def _heard(self, message: PoseArray) -> None:
        stamp_s = seconds(message.header.stamp)
        now_s = self._node.get_clock().now().nanoseconds * 1e-9
        people = self._runtime.gate.people
        problem = self._bounds.problem(message, now_s)
        why = (
            people.unusable(f"the report is out of bounds: {problem}")
            if problem
            else people.report(
                [point_m(pose.position) for pose in message.poses],
                frame=message.header.frame_id,
                # Without a stamp they were seen when they were told.
                age_s=now_s - stamp_s if stamp_s else 0.0,
            )
        )
        if why and why != self._told:
            self._node.get_logger().warning(f"{TOPIC}: {why}")
        self._told = why


def people_message(stamp_s: float, positions_m: Sequence[Vec3]) -> PoseArray:
    """Persons at these points of the map; which way they look is not told."""
    poses = [pose_message(Pose(point)) for point in positions_m]
    return PoseArray(header=header(stamp_s, FRAME), poses=poses)
