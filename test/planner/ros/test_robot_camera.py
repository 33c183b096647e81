"""A camera of others: encodings, transports, pairs of colour and depth, and what is refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from planner.ros.conversions import header
from planner.ros.robot_camera import CameraSource, RobotCamera
from planner.world.errors import PlannerError
from planner.world.observation import CameraNews

WIDTH, HEIGHT, OPTICAL = 6, 4, "optical"
RAW = CameraSource(colour="/c/image", info="/c/camera_info", depth="/d/image")
RED = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
RED[..., 0] = 200


@dataclass
class Topics:
    """Stands for a node: its publishers offer what `offers` says."""

    offers: dict[str, ReliabilityPolicy] = field(default_factory=dict)
    hear: dict[str, Callable[[bytes], None]] = field(default_factory=dict)
    profiles: dict[str, QoSProfile] = field(default_factory=dict)
    looks: Callable[[], None] = lambda: None

    def create_timer(self, _period_s: float, callback: Callable[[], None]) -> None:
        self.looks = callback

    def get_publishers_info_by_topic(self, topic: str) -> list[Any]:
        offered = self.offers.get(topic)
        if offered is None:
            return []
        return [SimpleNamespace(qos_profile=QoSProfile(depth=1, reliability=offered))]

    def create_subscription(
        self, _kind: type, topic: str, callback: Callable[[bytes], None], profile: Any, **_: Any
    ) -> str:
        self.hear[topic], self.profiles[topic] = callback, profile
        return topic

    def destroy_subscription(self, topic: str) -> None:
        del self.hear[topic]


class Heard:
    """A camera, and what became known of it; its clock stands at 100 s."""

    def __init__(self, source: CameraSource = RAW) -> None:
        self.topics, self.news = Topics(), CameraNews()
        names = [source.colour, source.info, source.depth]
        names += [f"{source.colour}/compressed", f"{source.depth}/compressedDepth"]
        self.topics.offers = dict.fromkeys(names, ReliabilityPolicy.RELIABLE)
        RobotCamera(self.topics, source, lambda: 100.0, lambda s, at: at - s, self._take)  # type: ignore[arg-type]
        self.topics.looks()
        self.say(
            source.info,
            CameraInfo(
                header=header(100.0, OPTICAL),
                width=WIDTH,
                height=HEIGHT,
                k=[5.0, 0.0, 3.0, 0.0, 5.0, 2.0, 0.0, 0.0, 1.0],
                p=[5.0, 0.0, 3.0, 0.0, 0.0, 5.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            ),
        )

    def _take(self, news: CameraNews) -> None:
        self.news = news

    def say(self, topic: str, message: Any) -> None:
        self.topics.hear[topic](serialize_message(message))

    def see(self, stamp_s: float, encoding: str = "rgb8", pixels: Any = RED) -> None:
        self.say(RAW.colour, image(stamp_s, encoding, pixels))

    def measure(self, stamp_s: float, encoding: str = "16UC1", frame: str = OPTICAL) -> None:
        value = 1500 if encoding == "16UC1" else 1.5
        kind = np.uint16 if encoding == "16UC1" else np.float32
        self.say(RAW.depth, image(stamp_s, encoding, np.full((HEIGHT, WIDTH), value, kind), frame))

    @property
    def stamps_s(self) -> list[float]:
        return [pytest.approx(picture.stamp_s) for picture in self.news.pictures]


def image(stamp_s: float, encoding: str, pixels: Any, frame: str = OPTICAL) -> Image:
    pixels = np.ascontiguousarray(pixels)
    return Image(
        header=header(stamp_s, frame),
        height=HEIGHT,
        width=WIDTH,
        encoding=encoding,
        step=pixels.strides[0],
        data=pixels.tobytes(),
    )


@pytest.mark.parametrize("depth", ["16UC1", "32FC1"])
@pytest.mark.parametrize(
    ("encoding", "pixels", "expected"),
    [
        ("rgb8", RED, [200, 0, 0]),
        ("bgr8", RED[..., ::-1], [200, 0, 0]),
        ("rgba8", np.dstack([RED, RED[..., :1]]), [200, 0, 0]),
        ("bgra8", np.dstack([RED[..., ::-1], RED[..., :1]]), [200, 0, 0]),
        ("mono8", RED[..., 0], [200, 200, 200]),
    ],
)
def test_every_usual_encoding_is_read(
    encoding: str, pixels: Any, expected: list[int], depth: str
) -> None:
    heard = Heard()
    heard.measure(99.9, depth)
    heard.see(99.9, encoding, pixels)
    (picture,) = heard.news.pictures
    shown = picture.pixels()
    assert shown.rgb.shape == (HEIGHT, WIDTH, 3)
    assert shown.rgb[1, 2].tolist() == expected
    assert shown.depth_m[1, 2] == pytest.approx(1.5)
    assert (picture.frame, shown.intrinsics.width_px) == (OPTICAL, WIDTH)
    assert heard.news.problem == ""


@pytest.mark.parametrize("kind", ["16UC1", "32FC1"])
def test_compressed_pictures_are_read(kind: str) -> None:
    heard = Heard(CameraSource(RAW.colour, RAW.info, RAW.depth, "compressed", "compressedDepth"))
    head = header(99.9, OPTICAL)
    jpeg = cv2.imencode(".jpg", RED[..., ::-1])[1].tobytes()
    # image_transport's depth: whole millimetres, or whole numbers q with depth = a / (q - b).
    a, b = 100.0, 50.0
    number = 1500 if kind == "16UC1" else round(a / 1.5 + b)
    png = cv2.imencode(".png", np.full((HEIGHT, WIDTH), number, np.uint16))[1].tobytes()
    packed = struct.pack("<iff", 0, a, b) + png
    heard.say(
        f"{RAW.depth}/compressedDepth",
        CompressedImage(header=head, format=f"{kind}; compressedDepth png", data=packed),
    )
    heard.say(
        f"{RAW.colour}/compressed",
        CompressedImage(header=head, format="bgr8; jpeg compressed bgr8", data=jpeg),
    )
    (picture,) = heard.news.pictures
    assert picture.pixels().rgb[1, 2, 0] == pytest.approx(200, abs=5)
    assert picture.pixels().depth_m[1, 2] == pytest.approx(1.5, abs=0.02)


def test_colour_and_depth_of_one_time_belong_together_in_any_order() -> None:
    heard = Heard()
    heard.see(99.5)
    heard.see(99.6)
    assert heard.news.pictures == ()
    heard.measure(99.5)
    assert heard.stamps_s == [99.5]
    heard.measure(99.6)
    assert heard.stamps_s == [99.5, 99.6]
    heard.measure(99.6)
    assert heard.stamps_s == [99.5, 99.6], "each picture once"


def test_the_nearest_depth_is_taken_once_a_later_one_has_come() -> None:
    heard = Heard()
    heard.measure(99.40)
    heard.see(99.45)
    assert heard.news.pictures == (), "a nearer one may still come"
    heard.measure(99.52)
    assert heard.stamps_s == [99.45]


def test_depth_that_stays_away_is_said() -> None:
    heard = Heard()
    for stamp_s in (99.0, 99.2, 99.4, 99.6):
        heard.see(stamp_s)
    assert heard.news.pictures == ()
    assert "/d/image: no depth within 0.1 s of the pictures on /c/image" in heard.news.problem
    assert heard.news.heard_s == 100.0


@pytest.mark.parametrize(
    ("stamp_s", "words"),
    [
        (97.5, "come 2.5 s after they were taken, more than 2 s, and are not used"),
        (100.4, "stamped 0.4 s ahead of the robot's odometry"),
        (0.0, "have no stamp"),
    ],
)
def test_pictures_of_another_time_are_not_used(stamp_s: float, words: str) -> None:
    heard = Heard()
    heard.measure(stamp_s)
    heard.see(stamp_s)
    assert heard.news.pictures == ()
    assert words in heard.news.problem


def test_depth_of_another_frame_is_said() -> None:
    heard = Heard()
    heard.measure(99.9, frame="depth_optical")
    heard.see(99.9)
    assert heard.news.pictures == ()
    assert "is in 'depth_optical' and its colour in 'optical'" in heard.news.problem


def test_a_picture_that_cannot_be_read_names_its_topic() -> None:
    heard = Heard()
    heard.measure(99.9)
    heard.see(99.9, "yuv422", RED)
    with pytest.raises(PlannerError, match="/c/image: pictures in 'yuv422' are not read"):
        heard.news.pictures[-1].pixels()


def test_a_reader_asks_for_what_is_offered_and_asks_again_when_that_changes() -> None:
    heard = Heard()
    topics = heard.topics
    assert topics.profiles[RAW.colour].reliability == ReliabilityPolicy.RELIABLE
    topics.offers[RAW.colour] = ReliabilityPolicy.BEST_EFFORT
    topics.looks()
    assert topics.profiles[RAW.colour].reliability == ReliabilityPolicy.BEST_EFFORT
    heard.measure(99.9)
    heard.see(99.9)
    assert heard.stamps_s == [99.9]
