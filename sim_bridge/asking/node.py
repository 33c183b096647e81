"""What the operator of an agent is asked, as picture and place, and another place as the answer."""

from __future__ import annotations

from collections import Counter

import numpy as np
from geometry_msgs.msg import PointStamped
from rclpy.node import Node
from sensor_msgs.msg import Image

from planner.ros import images, qos
from planner.ros.conversions import header, point_m, point_message
from planner.ros.message_bounds import bounds_of
from planner.ros.outlet import Outlet
from planner.world.observation import RgbImage
from sim_bridge.control import Outcome
from sim_bridge.frames import optical_frame
from sim_bridge.runtime import Runtime
from sim_bridge.safety.approvals import Asked
from sim_bridge.safety.rules import Rule

APPROVE_AT = "safety/approve_at"
_CROSS_PX = 12
_CROSS_RGB = (255, 0, 0)


class AskingTopics:
    """`safety/asks/image`, `safety/asks/target` and `safety/approve_at` of one agent."""

    def __init__(self, node: Node, runtime: Runtime, agent: str, losses: Counter[str]) -> None:
        """Advertises and listens under the agent's namespace."""
        self._node, self._runtime, self._agent = node, runtime, agent
        self._bounds = bounds_of(PointStamped, APPROVE_AT)
        self._shown: Asked | None = None
        topic = f"/{agent}/safety"
        self._image = Outlet(node, Image, f"{topic}/asks/image", qos.LATCHED, losses)
        self._target = Outlet(node, PointStamped, f"{topic}/asks/target", qos.LATCHED, losses)
        self._answers = node.create_subscription(
            PointStamped, f"{topic}/approve_at", self._answer, qos.COMMAND
        )

    def show(self, asked: Asked | None) -> None:
        """Publishes what a new question is about; what was answered stays latched."""
        if asked is self._shown:
            return
        self._shown = asked
        if asked is None:
            return
        now_s = self._runtime.now_s()
        point = point_message(asked.target_m)
        self._target.publish(PointStamped(header=header(now_s, "map"), point=point))
        if asked.view is not None:
            head = header(now_s, optical_frame(self._agent, "hand"))
            self._image.publish(images.rgb_message(head, marked(asked.view.rgb, asked.pixel)))

    def _answer(self, message: PointStamped) -> None:
        problem = self._bounds.problem(message, self._runtime.now_s())
        gate, frame = self._runtime.gate, message.header.frame_id
        if problem:
            outcome = Outcome(False, f"{APPROVE_AT} is out of bounds: {problem}")
            gate.refused(self._agent, APPROVE_AT, outcome.message, Rule.APPROVAL)
        else:
            outcome = gate.answers.answer_at(self._agent, point_m(message.point), frame)
        # A line of the log has one severity for good, so there are two.
        if outcome.success:
            self._node.get_logger().info(f"{self._agent}: {outcome.message}")
        else:
            self._node.get_logger().warning(f"{self._agent}: {outcome.message}")

    def destroy(self) -> None:
        """Takes the topics away."""
        self._image.destroy()
        self._target.destroy()
        self._node.destroy_subscription(self._answers)


def marked(rgb: RgbImage, pixel: tuple[int, int] | None) -> RgbImage:
    """A copy of a picture with a cross at a pixel (column, row)."""
    shown = np.array(rgb)
    if pixel is not None:
        u, v = pixel
        shown[v, max(0, u - _CROSS_PX) : u + _CROSS_PX + 1] = _CROSS_RGB
        shown[max(0, v - _CROSS_PX) : v + _CROSS_PX + 1, u] = _CROSS_RGB
    return shown
