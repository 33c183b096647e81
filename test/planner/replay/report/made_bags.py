"""Bags made message by message, without ROS."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from message_types import STORE
from PIL import Image
from rosbags.interfaces import Nodetype

from planner.recorder.bag_writer import BagWriter, Topic
from planner.replay.storage import message_reader

START_NS = 1_700_000_000_000_000_000


_ZEROS = {"string": "", "bool": False, "float32": 0.0, "float64": 0.0}


def new(type_name: str, /, **fields: Any) -> Any:
    """A message; fields that are not named are empty or zero."""
    values = {}
    for name, (node, content) in STORE.fielddefs[type_name][1]:
        values[name] = fields.pop(name) if name in fields else _zero(node, content)
    assert not fields, f"{type_name} has no {sorted(fields)}"
    return STORE.types[type_name](**values)


def _zero(node: Nodetype, content: Any) -> Any:
    if node == Nodetype.NAME:
        return new(content)
    if node == Nodetype.BASE:
        return _ZEROS.get(content[0], 0)
    (inner, kind), length = content
    if inner == Nodetype.BASE and kind[0] != "string":
        return np.zeros(length, {"octet": "uint8"}.get(kind[0], kind[0]))
    return [_zero(inner, kind) for _ in range(length)]


def stamp(t_s: float) -> Any:
    whole = int(t_s)
    return new("builtin_interfaces/msg/Time", sec=whole, nanosec=round((t_s - whole) * 1e9))


def header(t_s: float, frame: str = "map") -> Any:
    return new("std_msgs/msg/Header", stamp=stamp(t_s), frame_id=frame)


def key_values(**pairs: str) -> list[Any]:
    return [new("diagnostic_msgs/msg/KeyValue", key=k, value=v) for k, v in pairs.items()]


def serialised(type_name: str, message: Any) -> bytes:
    return bytes(STORE.serialize_cdr(message, type_name))


def reader(type_name: str) -> Callable[[bytes | memoryview], Any]:
    return message_reader(type_name, STORE.generate_msgdef(type_name, ros_version=2)[0])


class Recording:
    """A bag in the making; times are seconds since its beginning."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = BagWriter(folder)
        self._topics: dict[str, int] = {}

    def say(self, topic: str, type_name: str, t_s: float, **fields: Any) -> Recording:
        """Writes a message as it was received; its header, if it has one, is of that time."""
        if "header" in dict(STORE.fielddefs[type_name][1]):
            fields.setdefault("header", header(t_s))
        return self.write(topic, type_name, t_s, serialised(type_name, new(type_name, **fields)))

    def write(self, topic: str, type_name: str, t_s: float, data: bytes) -> Recording:
        if topic not in self._topics:
            text = STORE.generate_msgdef(type_name, ros_version=2)[0]
            self._topics[topic] = self.writer.add_topic(Topic(topic, type_name, text, ""))
        at_ns = START_NS + round(t_s * 1e9)
        self.writer.write(self._topics[topic], at_ns, at_ns, data)
        return self

    def result(
        self,
        agent: str,
        call: str,
        t_s: float,
        *,
        code: int = 0,
        duration_s: float = math.nan,
        **more: str,
    ) -> Recording:
        return self.say(
            "/skills/results",
            "planner_msgs/msg/SkillReport",
            t_s,
            agent=agent,
            call=call,
            code=code,
            text="Successful execution!" if code == 0 else "Unexpected failure! - no.",
            duration_s=duration_s,
            evidence=key_values(**more),
        )

    @staticmethod
    def frame(parent: str, child: str, t_s: float, x: float, y: float, yaw: float = 0.0) -> Any:
        part = new("geometry_msgs/msg/TransformStamped", header=header(t_s, parent))
        part.child_frame_id = child
        part.transform.translation.x, part.transform.translation.y = x, y
        part.transform.rotation.z, part.transform.rotation.w = np.sin(yaw / 2), np.cos(yaw / 2)
        return part

    def frames(self, t_s: float, *parts: Any, topic: str = "/tf") -> Recording:
        return self.say(topic, "tf2_msgs/msg/TFMessage", t_s, transforms=list(parts))

    def clock(self, t_s: float, stamp_s: float | None = None) -> Recording:
        told = stamp(t_s if stamp_s is None else stamp_s)
        return self.say("/clock", "rosgraph_msgs/msg/Clock", t_s, clock=told)

    def picture(self, agent: str, t_s: float, side: int = 8) -> Recording:
        return self.say(
            f"/{agent}/camera/hand/image/compressed",
            "sensor_msgs/msg/CompressedImage",
            t_s,
            format="rgb8; jpeg compressed bgr8",
            data=np.frombuffer(jpeg(side), np.uint8),
        )

    def close(self) -> Path:
        self.writer.close()
        return self.folder


def jpeg(side: int = 8, colour: tuple[int, int, int] = (200, 40, 40)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (side, side), colour).save(out, "JPEG")
    return out.getvalue()
