"""The poses of frames at the time of a picture, whatever the order of the messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rclpy.serialization import serialize_message
from tf2_msgs.msg import TFMessage

from planner.ros.conversions import transform_message
from planner.ros.frame_tree import FrameTree
from planner.world.geometry import Pose


class Topics:
    """Stands for a node: keeps the callbacks of its subscriptions."""

    def __init__(self) -> None:
        self.hear: dict[str, Callable[[Any], None]] = {}

    def create_subscription(
        self, _kind: type, topic: str, callback: Callable[[Any], None], *_args: Any, **_more: Any
    ) -> None:
        self.hear[topic] = callback


def links(stamp_s: float, x_m: float) -> bytes:
    link = transform_message(stamp_s, "map", "agent_0/base_link", Pose((x_m, 0.0, 0.0)))
    return serialize_message(TFMessage(transforms=[link]))


def test_the_pose_at_a_stamp_is_found_whatever_came_when() -> None:
    topics = Topics()
    heard: list[float | None] = []
    tree = FrameTree(topics, lambda: heard.append(tree.newest_s))
    for stamp_s in (1.0, 1.1, 1.3, 1.2):
        topics.hear["/tf"](links(stamp_s, stamp_s * 10))
    assert heard == pytest.approx([1.0, 1.1, 1.3, 1.2])
    for stamp_s in (1.2, 1.1, 1.3):
        pose = tree.pose("agent_0/base_link", stamp_s)
        assert pose is not None
        assert pose.position_m[0] == pytest.approx(stamp_s * 10)
    assert tree.pose("agent_0/base_link", 1.25) is None
    topics.hear["/tf"](links(1.25, 7.0))
    late = tree.pose("agent_0/base_link", 1.25)
    assert late is not None
    assert late.position_m[0] == pytest.approx(7.0)
    tree.forget()
    assert tree.newest_s is None
    assert tree.pose("agent_0/base_link", 1.2) is None
