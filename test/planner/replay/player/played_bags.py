"""Small bags of texts, clocks and pictures, made for tests of playing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from planner.recorder.bag_writer import BagWriter, Topic

STORE = get_typestore(Stores.ROS2_JAZZY)
STRING, CLOCK, TF, IMAGE = (
    "std_msgs/msg/String",
    "rosgraph_msgs/msg/Clock",
    "tf2_msgs/msg/TFMessage",
    "sensor_msgs/msg/CompressedImage",
)
SECOND = 1_000_000_000
# Of the bags' first moment.
BEGIN_NS = 1_700_000_000 * SECOND
LATCHED = "- {reliability: reliable, durability: transient_local}\n"
BEST_EFFORT = "- {reliability: best_effort, durability: volatile}\n"


@dataclass(frozen=True)
class Said:
    """One message: on which topic, so many seconds after the beginning, with which content."""

    topic: str
    at_s: float
    data: bytes
    type_name: str = STRING
    qos: str = ""
    definition: str | None = None


def words(topic: str, at_s: float, text: str, qos: str = "", **more: Any) -> Said:
    return Said(topic, at_s, cdr(STRING, data=text), STRING, qos, **more)


def clock(at_s: float, world_s: float) -> Said:
    return Said("/clock", at_s, cdr(CLOCK, clock=_stamp(world_s)), CLOCK, BEST_EFFORT)


def transform(at_s: float, child: str) -> Said:
    vector = STORE.types["geometry_msgs/msg/Vector3"](x=0.0, y=0.0, z=0.0)
    turn = STORE.types["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0)
    link = STORE.types["geometry_msgs/msg/TransformStamped"](
        header=_header("map"),
        child_frame_id=child,
        transform=STORE.types["geometry_msgs/msg/Transform"](translation=vector, rotation=turn),
    )
    return Said("/tf_static", at_s, cdr(TF, transforms=[link]), TF, LATCHED)


def picture(topic: str, at_s: float, packed: bytes = b"none", kind: str = "png") -> Said:
    pixels = np.frombuffer(packed, np.uint8)
    return Said(topic, at_s, cdr(IMAGE, header=_header("lens"), format=kind, data=pixels), IMAGE)


def cdr(type_name: str, **fields: Any) -> bytes:
    return bytes(STORE.serialize_cdr(STORE.types[type_name](**fields), type_name))


def text_of(data: bytes) -> str:
    text: str = STORE.deserialize_cdr(data, STRING).data
    return text


def make_bag(folder: Path, said: Iterable[Said]) -> Path:
    """Writes messages in the order they are given in."""
    writer = BagWriter(folder)
    numbers: dict[str, int] = {}
    for message in said:
        if message.topic not in numbers:
            text = message.definition
            if text is None:
                text = STORE.generate_msgdef(message.type_name, ros_version=2)[0]
            topic = Topic(message.topic, message.type_name, text, message.qos)
            numbers[message.topic] = writer.add_topic(topic)
        stamp_ns = BEGIN_NS + round(message.at_s * SECOND)
        writer.write(numbers[message.topic], stamp_ns, stamp_ns, message.data)
    writer.close()
    return folder


def _stamp(seconds: float) -> Any:
    whole = int(seconds)
    nanoseconds = round((seconds - whole) * 1e9)
    return STORE.types["builtin_interfaces/msg/Time"](sec=whole, nanosec=nanoseconds)


def _header(frame: str) -> Any:
    return STORE.types["std_msgs/msg/Header"](stamp=_stamp(0.0), frame_id=frame)
