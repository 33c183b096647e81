"""Poses of frames in `map` at the time of a picture, from /tf."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rclpy.node import Node
from tf2_msgs.msg import TFMessage

from planner.ros import qos
from planner.ros.checked_subscription import drop_bytes, listen, reader
from planner.world import topics
from planner.world.frame_links import FrameLinks, is_ours
from planner.world.serialized import first_stamp_of


class FrameTree(FrameLinks):
    """Subscribes to /tf and /tf_static."""

    def __init__(self, node: Node, on_change: Callable[[], None]) -> None:
        """Subscribes to both topics; `on_change` is called after each message on /tf."""
        read = reader(node, TFMessage, topics.TF)

        def links(data: bytes) -> Iterable[Any]:
            message = read(data)
            return [] if message is None else list(message.transforms)

        super().__init__(links)
        self._on_change, self._node = on_change, node
        node.create_subscription(TFMessage, topics.TF, self._on_links, qos.TF, raw=True)
        listen(node, TFMessage, topics.TF_STATIC, self._on_static_links, qos.TF_STATIC)

    def _on_links(self, data: bytes) -> None:
        try:
            stamp_s = first_stamp_of(data)
            is_used = stamp_s is not None and is_ours(data)
        except ValueError as error:
            drop_bytes(self._node, topics.TF, str(error))
            return
        if stamp_s is not None and is_used:
            self.add(stamp_s, data)
            self._on_change()

    def _on_static_links(self, message: TFMessage) -> None:
        self.add_static(message.transforms)
