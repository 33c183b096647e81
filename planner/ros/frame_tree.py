"""Poses of frames in `map` at the time of a picture, from /tf."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rclpy.node import Node
from rclpy.serialization import deserialize_message
from tf2_msgs.msg import TFMessage

from planner.ros import qos
from planner.world import topics
from planner.world.frame_links import FrameLinks, is_ours
from planner.world.serialized import first_stamp_of


class FrameTree(FrameLinks):
    """Subscribes to /tf and /tf_static."""

    def __init__(self, node: Node, on_change: Callable[[], None]) -> None:
        """Subscribes to both topics; `on_change` is called after each message on /tf."""
        super().__init__(_links)
        self._on_change = on_change
        node.create_subscription(TFMessage, topics.TF, self._on_links, qos.TF, raw=True)
        node.create_subscription(TFMessage, topics.TF_STATIC, self._on_static_links, qos.TF_STATIC)

    def _on_links(self, data: bytes) -> None:
        stamp_s = first_stamp_of(data)
        if stamp_s is not None and is_ours(data):
            self.add(stamp_s, data)
            self._on_change()

    def _on_static_links(self, message: TFMessage) -> None:
        self.add_static(message.transforms)


def _links(data: bytes) -> Iterable[Any]:
    return list(deserialize_message(data, TFMessage).transforms)
