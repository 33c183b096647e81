"""Subscribes to one camera of a robot of others, by the conventions of image_transport.

Colour comes raw (rgb8, bgr8, rgba8, bgra8, mono8) or compressed (JPEG, PNG), depth raw (16UC1,
32FC1) or compressed (`compressedDepth`, or a PNG of millimetres). Depth has to be registered to the
colour picture; it may be taken up to `PAIR_S` before or after.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from planner.ros import qos
from planner.world.errors import PlannerError
from planner.world.observation import CameraNews, Pixels, RobotPicture
from planner.world.picture_codec import Lens, decode_colour, decode_depth, lens_of
from planner.world.wire import frame_of, stamp_of

Transport: TypeAlias = Literal["raw", "compressed", "compressedDepth"]
# Seconds between a colour picture and the depth that belongs to it.
PAIR_S = 0.1
# Messages of each kind that wait for their counterpart.
_WAITING = 4
# Pictures that are kept until the frames of their time are known.
_KEPT = 8
# Seconds by which a stamp may be ahead: clocks that count as alike differ by half of it.
_AHEAD_S = 0.2
# Between looks for publishers, which may come, go, or offer something else.
_JOIN_S = 0.2
_DEPTH_OF_QUEUE = 4
_COLOUR, _DEPTH = "colour", "depth"


@dataclass(frozen=True, slots=True)
class CameraSource:
    """Where a camera's pictures are.

    Attributes:
        colour: topic of the raw colour picture; `colour_transport` appends its suffix.
        info: topic of its camera_info.
        depth: topic of the raw registered depth; `depth_transport` appends its suffix.
        rectified: whether the pictures are without distortion; None = if `colour` ends as
            `image_rect` or `image_rect_color` do.
        max_age_s: older pictures are not used.
    """

    colour: str
    info: str
    depth: str
    colour_transport: Transport = "raw"
    depth_transport: Transport = "raw"
    rectified: bool | None = None
    max_age_s: float = 2.0

    @property
    def is_rectified(self) -> bool:
        """Whether the pictures are without distortion."""
        return (
            "rect" in self.colour.rpartition("/")[2] if self.rectified is None else self.rectified
        )


class RobotCamera:
    """Pairs colour and depth by stamp; nothing is decoded before somebody asks for it."""

    def __init__(
        self,
        node: Node,
        source: CameraSource,
        now_s: Callable[[], float],
        age_s: Callable[[float, float], float],
        on_news: Callable[[CameraNews], None],
    ) -> None:
        """Subscribes.

        Args:
            node: subscribes.
            source: the camera's topics.
            now_s: a steady clock.
            age_s: how old a stamp of the robot's clock is at a time of the steady clock.
            on_news: gets what is known, after each message.
        """
        self._source, self._now_s, self._age_s, self._on_news = source, now_s, age_s, on_news
        self._news = CameraNews()
        self._info: bytes | None = None
        self._lens: Lens | None = None
        self._waiting: Mapping[str, OrderedDict[float, bytes]] = {
            _COLOUR: OrderedDict(),
            _DEPTH: OrderedDict(),
        }
        self._kinds = {
            _COLOUR: _message_type(source.colour_transport),
            _DEPTH: _message_type(source.depth_transport),
        }
        self._wanted: dict[str, tuple[Any, Callable[[bytes], None]]] = {
            with_suffix(source.colour, source.colour_transport): (
                self._kinds[_COLOUR],
                partial(self._take, _COLOUR),
            ),
            with_suffix(source.depth, source.depth_transport): (
                self._kinds[_DEPTH],
                partial(self._take, _DEPTH),
            ),
            source.info: (CameraInfo, self._on_info),
        }
        self._node = node
        self._subscriptions: dict[str, tuple[ReliabilityPolicy, Any]] = {}
        node.create_timer(_JOIN_S, self._join)

    def _join(self) -> None:
        """Subscribes as reliably as each topic's publishers offer.

        Of a picture that is sent with best effort a fragment is easily lost, and it then with its
        counterpart; a reliable reader would hear nothing of such a publisher.
        """
        for topic, (kind, take) in self._wanted.items():
            offers = [each.qos_profile for each in self._node.get_publishers_info_by_topic(topic)]
            reliability, subscription = self._subscriptions.get(topic, (None, None))
            profile = qos.matching(offers, _DEPTH_OF_QUEUE)
            if not offers or profile.reliability == reliability:
                continue
            if subscription is not None:
                self._node.destroy_subscription(subscription)
            # What was sent before is too old.
            profile.durability = DurabilityPolicy.VOLATILE
            made = self._node.create_subscription(kind, topic, take, profile, raw=True)
            self._subscriptions[topic] = (profile.reliability, made)

    def _tell(self, **news: Any) -> None:
        self._news = replace(self._news, **news)
        self._on_news(self._news)

    # Receiving

    def _on_info(self, data: bytes) -> None:
        """Reads the camera's model, which changes rarely."""
        # Everything but the header, which has the stamp.
        body = data[_info_starts(data) :]
        if body == self._info:
            return
        self._info = body
        try:
            message = deserialize_message(data, CameraInfo)
            self._lens = lens_of(message, rectified=self._source.is_rectified)
        except PlannerError as error:
            self._lens = None
            self._tell(problem=f"{self._source.info}: {error}")

    def _take(self, kind: str, data: bytes) -> None:
        topic = self._source.colour if kind == _COLOUR else self._source.depth
        heard_s = self._now_s()
        try:
            stamp_s = stamp_of(data)
        except ValueError as error:
            self._tell(problem=f"{topic}: {error}")
            return
        if kind == _COLOUR:
            self._tell(heard_s=heard_s)
        problem = self._stamp_problem(stamp_s, heard_s)
        if problem:
            self._tell(problem=f"{topic}: {problem}")
            return
        waiting = self._waiting[kind]
        waiting[stamp_s] = data
        while len(waiting) > _WAITING:
            waiting.popitem(last=False)
        self._pair()

    def _stamp_problem(self, stamp_s: float, heard_s: float) -> str:
        if stamp_s <= 0:
            return "its pictures have no stamp, so the robot's pose at that time is unknown"
        age_s = self._age_s(stamp_s, heard_s)
        if age_s > self._source.max_age_s:
            return (
                f"its pictures come {age_s:.1f} s after they were taken, more than "
                f"{self._source.max_age_s:g} s, and are not used"
            )
        if age_s < -_AHEAD_S:
            return (
                f"its pictures are stamped {-age_s:.1f} s ahead of the robot's odometry, and are "
                "not used; their clocks differ"
            )
        return ""

    # Pairing

    def _pair(self) -> None:
        """Uses the newest colour picture whose depth is known for certain."""
        colours, depths = self._waiting[_COLOUR], self._waiting[_DEPTH]
        if not colours:
            return
        for stamp_s in sorted(colours, reverse=True):
            depth_s = _nearest(depths, stamp_s)
            if depth_s is not None:
                self._use(stamp_s, colours[stamp_s], depths[depth_s])
                for old in [other for other in colours if other <= stamp_s]:
                    del colours[old]
                return
        oldest_s = min(colours)
        if len(colours) == _WAITING and not any(abs(d - oldest_s) <= PAIR_S for d in depths):
            self._tell(
                problem=f"{self._source.depth}: no depth within {PAIR_S:g} s of the pictures on "
                f"{self._source.colour}"
            )

    def _use(self, stamp_s: float, colour: bytes, depth: bytes) -> None:
        lens, source = self._lens, self._source
        if lens is None:
            if self._info is None:
                self._tell(problem=f"{source.info}: no camera_info has come")
            return
        try:
            frame, of_depth = frame_of(colour), frame_of(depth)
        except ValueError as error:
            self._tell(problem=f"{source.colour}: {error}")
            return
        if frame != of_depth:
            self._tell(
                problem=f"{source.depth} is in {of_depth!r} and its colour in {frame!r}; publish "
                "the registered depth"
            )
            return
        read = partial(_read, source, self._kinds, lens, colour, depth)
        known = [p for p in self._news.pictures if p.stamp_s < stamp_s]
        pictures = (*known, RobotPicture(stamp_s, frame, read))[-_KEPT:]
        self._tell(pictures=pictures, good_s=self._now_s(), problem="")


def _nearest(depths: Mapping[float, bytes], stamp_s: float) -> float | None:
    """The stamp of the depth that belongs to a colour picture; None if it may still come."""
    if stamp_s in depths:
        return stamp_s
    # A later depth may be nearer, as long as none after the colour picture has come.
    if not depths or max(depths) < stamp_s:
        return None
    nearest_s = min(depths, key=lambda other: abs(other - stamp_s))
    return nearest_s if abs(nearest_s - stamp_s) <= PAIR_S else None


def with_suffix(topic: str, transport: Transport) -> str:
    """The topic on which image_transport sends `topic`."""
    return topic if transport == "raw" else f"{topic}/{transport}"


def _message_type(transport: Transport) -> Any:
    return Image if transport == "raw" else CompressedImage


def _info_starts(data: bytes) -> int:
    try:
        return 16 + len(frame_of(data))
    except ValueError:
        return 0


def _read(
    source: CameraSource, kinds: Mapping[str, Any], lens: Lens, colour: bytes, depth: bytes
) -> Pixels:
    """Decodes a picture and its depth.

    Raises:
        PlannerError: naming the topic.
    """
    try:
        rgb = decode_colour(deserialize_message(colour, kinds[_COLOUR]))
    except PlannerError as error:
        raise PlannerError(f"{source.colour}: {error}") from None
    try:
        depth_m = decode_depth(deserialize_message(depth, kinds[_DEPTH]))
    except PlannerError as error:
        raise PlannerError(f"{source.depth}: {error}") from None
    try:
        rgb, depth_m = lens.straightened(rgb, depth_m)
    except PlannerError as error:
        raise PlannerError(f"{source.colour}: {error}") from None
    return Pixels(rgb, depth_m, lens.intrinsics)
