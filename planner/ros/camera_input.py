"""Subscribes to one camera: groups pictures by exposure and drops old ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image

from planner.ros import images, qos
from planner.ros.checked_subscription import drop_bytes, listen, reader
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.observation import CameraFrame
from planner.world.serialized import stamp_of
from planner.world.wire import intrinsics_of

DEPTH, INSTANCES, COLOUR = "depth", "instances", "colour"
# Incomplete exposures that are kept; older ones are dropped.
_WAITING = 4


@dataclass(slots=True)
class Exposure:
    """The pictures of one instant and their camera info."""

    stamp_s: float
    frame_id: str
    camera_info: CameraInfo
    images: dict[str, Image] = field(default_factory=dict)


class CameraInput:
    """Groups pictures by stamp; those not due are not deserialised.

    `losses` counts unused pictures by reason.
    """

    def __init__(
        self,
        node: Node,
        agent: str,
        camera: str,
        kinds: Sequence[str],
        is_due: Callable[[float], bool],
        on_exposure: Callable[[Exposure], None],
    ) -> None:
        """Subscribes to the topics of `kinds`.

        Args:
            node: subscribes.
            agent: its namespace.
            camera: as in the topics' names.
            kinds: pictures of a complete exposure.
            is_due: whether the exposure at a stamp is needed.
            on_exposure: gets each complete one.
        """
        self._kinds = tuple(kinds)
        self._is_due = is_due
        self._on_exposure = on_exposure
        self.losses: Counter[str] = Counter()
        self._camera_info: CameraInfo | None = None
        self._waiting: dict[float, dict[str, bytes]] = {}
        names = {
            DEPTH: topics.of_agent(agent, topics.depth_image(camera)),
            INSTANCES: topics.of_agent(agent, topics.instances_image(camera)),
            COLOUR: topics.of_agent(agent, topics.colour_image(camera)),
        }
        self._node, self._names = node, names
        info = topics.of_agent(agent, topics.depth_info(camera))
        self._info: Any = listen(node, CameraInfo, info, self._on_info, qos.IMAGE_INPUT)
        self._readers = {kind: reader(node, Image, names[kind]) for kind in self._kinds}
        self._subscriptions: list[Any] = [
            node.create_subscription(
                Image, names[kind], self._taker(kind), qos.IMAGE_INPUT, raw=True
            )
            for kind in self._kinds
        ]

    def destroy(self) -> None:
        """Removes the subscriptions."""
        for subscription in (self._info, *self._subscriptions):
            if subscription is not None:
                self._node.destroy_subscription(subscription)
        self._info = None
        self._subscriptions.clear()

    def _on_info(self, message: CameraInfo) -> None:
        # Intrinsics do not change: the first message is enough.
        self._camera_info = message
        if self._info is not None:
            self._node.destroy_subscription(self._info)
            self._info = None

    def _taker(self, kind: str) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            self._take(kind, data)

        return take

    def _take(self, kind: str, data: bytes) -> None:
        try:
            stamp_s = stamp_of(data)
        except ValueError as error:
            drop_bytes(self._node, self._names[kind], str(error))
            return
        if self._camera_info is None:
            self.losses["pictures without camera_info"] += 1
            return
        if not self._is_due(stamp_s):
            return
        taken = self._waiting.setdefault(stamp_s, {})
        taken[kind] = data
        if len(taken) == len(self._kinds):
            # All incomplete exposures are older: drop them.
            self._waiting.clear()
            images = {kind: self._readers[kind](each) for kind, each in taken.items()}
            if None in images.values():
                self.losses["pictures out of bounds"] += 1
                return
            frame_id = images[kind].header.frame_id
            self._on_exposure(Exposure(stamp_s, frame_id, self._camera_info, images))
        elif len(self._waiting) > _WAITING:
            self._waiting.pop(next(iter(self._waiting)))
            self.losses["pictures without the others of their stamp"] += 1


def camera_frame(exposure: Exposure, optical: Pose) -> CameraFrame:
    """The pictures of an exposure as arrays; `optical` is the camera's pose in `map`.

    Raises:
        PlannerError: for an encoding that cannot be read, or pictures of different sizes.
    """
    depth_m = images.depth_array(exposure.images[DEPTH])
    instances = None
    if INSTANCES in exposure.images:
        instances = images.instance_array(exposure.images[INSTANCES])
        if depth_m.shape != instances.shape:
            raise PlannerError(f"depth is {depth_m.shape} and instances {instances.shape}")
    if COLOUR in exposure.images:
        rgb = images.rgb_array(exposure.images[COLOUR])
        if depth_m.shape != rgb.shape[:2]:
            raise PlannerError(f"depth is {depth_m.shape} and colours {rgb.shape}")
    else:
        # The privileged updater does not use colours: a black picture takes their place.
        rgb = np.broadcast_to(np.zeros(1, np.uint8), (*depth_m.shape, 3))
    return CameraFrame(
        rgb=rgb,
        depth_m=depth_m,
        instances=instances,
        intrinsics=intrinsics_of(exposure.camera_info),
        pose=optical,
    )
