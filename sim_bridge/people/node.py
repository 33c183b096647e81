"""`/people`: positions of persons, published by simulators, subscribed to with a real robot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from geometry_msgs.msg import PoseArray
from rclpy.node import Node

from planner.ros import qos
from planner.ros.conversions import header, point_m, pose_message
from planner.ros.guard import SafePublisher
from planner.ros.subscriptions import bounds_of
from planner.world import topics
from planner.world.geometry import Pose, Vec3
from planner.world.memory_wire import stamp_seconds
from sim_bridge.pacing import Periodic
from sim_bridge.runtime import Runtime
from sim_bridge.safety.verdicts import FRAME

TOPIC = topics.PEOPLE
RATE_HZ = 10.0


class PeopleTopic:
    """Publisher or subscriber of persons as poses in `map`, stamped with when they were seen."""

    def __init__(self, node: Node, runtime: Runtime, losses: Counter[str]) -> None:
        """Publishes with a simulator, subscribes with a real robot."""
        self._node, self._runtime = node, runtime
        self._bounds = bounds_of(PoseArray, f"/{TOPIC}")
        self._last_problem = ""
        self._due = Periodic(RATE_HZ)
        self._publisher: SafePublisher | None = None
        if runtime.backend.simulated:
            self._publisher = SafePublisher(node, PoseArray, TOPIC, qos.STATE, losses)
        else:
            node.create_subscription(PoseArray, TOPIC, self._on_people, qos.STATE_INPUT)

    def restart(self) -> None:
        """Resets the schedule for a newly loaded world."""
        self._due.restart()

    def tick(self, now_s: float) -> None:
        """Publishes the true positions, if due."""
        if self._publisher is not None and self._due.due(now_s) and self._publisher.has_subscribers:
            self._publisher.publish(
                people_message(now_s, self._runtime.gate.people.true_positions())
            )

    def _on_people(self, message: PoseArray) -> None:
        stamp_s = stamp_seconds(message.header.stamp)
        now_s = self._node.get_clock().now().nanoseconds * 1e-9
        people = self._runtime.gate.people
        problem = self._bounds.problem(message, now_s)
        why = (
            people.unusable(f"the report is out of bounds: {problem}")
            if problem
            else people.report(
                [point_m(pose.position) for pose in message.poses],
                frame=message.header.frame_id,
                # Without a stamp they were seen on receipt.
                age_s=now_s - stamp_s if stamp_s else 0.0,
            )
        )
        if why and why != self._last_problem:
            self._node.get_logger().warning(f"{TOPIC}: {why}")
        self._last_problem = why


def people_message(stamp_s: float, positions_m: Sequence[Vec3]) -> PoseArray:
    """Persons at these points of the map; orientations are unknown."""
    poses = [pose_message(Pose(point)) for point in positions_m]
    return PoseArray(header=header(stamp_s, FRAME), poses=poses)
