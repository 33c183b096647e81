"""Quality of service and message definitions, as both ends of a topic and bags need them."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rclpy.duration import Duration
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSProfile,
    ReliabilityPolicy,
)

from planner.world.errors import PlannerError


def _profile(
    depth: int,
    reliability: ReliabilityPolicy = ReliabilityPolicy.RELIABLE,
    durability: DurabilityPolicy = DurabilityPolicy.VOLATILE,
) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST, depth=depth, reliability=reliability, durability=durability
    )


# Offered with images and their camera_info. Reliable, because viewers often require it; a short
# history, because old pictures are useless and a slow reader must not hold up the writer.
IMAGE = _profile(5)

# For readers of cameras: matches reliable and best-effort publishers, and skips late frames.
IMAGE_INPUT = _profile(2, ReliabilityPolicy.BEST_EFFORT)

# Odometry, joint states, progress: deep enough that a recorder delayed by a busy machine still
# receives everything.
STATE = _profile(1000)

# As STATE, for a reader that needs only the newest.
STATE_INPUT = _profile(1, ReliabilityPolicy.BEST_EFFORT)

# The newest message is kept for late joiners: snapshots, safety state, battery, results.
LATCHED = _profile(1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Ground truth: latched, and deep enough that a reader that is busy for a moment misses no state: a
# fast world publishes 600 a second. A late joiner with a depth of one gets the newest.
TRUTH = _profile(1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# A loaded world: a few stay for a reader that is busy while others are loaded. Each has the text
# of a house, 150 kB of a shipped one, so a long history grows for as long as worlds are loaded.
WORLDS = _profile(10, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# As TRUTH, for an evaluator: the queue for states that arrive while it is busy.
TRUTH_INPUT = _profile(4000, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Streams in which every message counts, such as memory updates and traces.
EVENTS = _profile(100)

# As EVENTS, for a reader that also needs the beginning, which a latching writer keeps.
EVENTS_FROM_START = _profile(100, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# tf2's own convention for /tf and /tf_static.
TF = _profile(1000)
TF_STATIC = _profile(1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

# Nodes need only the newest time, and request no more; a recorder needs every one.
CLOCK = _profile(1000)

# Goals and result requests: as many as may arrive at once, each of which gets an answer. Above the
# middleware's default depth of ten they would be lost silently.
REQUESTS = _profile(1000)

# Executives send heartbeats at 10 Hz. Both ends set the same deadline and lease, after which the
# middleware reports the silence; liveliness is manual, so only a message asserts it.
SILENT_AFTER_S = 0.3


def _heartbeat(depth: int) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.VOLATILE,
        deadline=Duration(seconds=SILENT_AFTER_S),
        liveliness=LivelinessPolicy.MANUAL_BY_TOPIC,
        liveliness_lease_duration=Duration(seconds=SILENT_AFTER_S),
    )


HEARTBEAT = _heartbeat(1)

# For a reader: with a depth of one, two executives in step would hide each other.
HEARTBEAT_INPUT = _heartbeat(64)

DIAGNOSTICS = _profile(50)


# QoS that matches the offered profiles, and their record in rosbag2's form.


def is_latched(offered: Sequence[QoSProfile]) -> bool:
    """Whether every publisher is transient local."""
    return all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in offered)


def matching(offered: Sequence[QoSProfile], depth: int) -> QoSProfile:
    """Reliable and transient local if every publisher is."""
    reliable = all(profile.reliability == ReliabilityPolicy.RELIABLE for profile in offered)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=(
            DurabilityPolicy.TRANSIENT_LOCAL if is_latched(offered) else DurabilityPolicy.VOLATILE
        ),
    )


def as_yaml(offered: Sequence[QoSProfile]) -> str:
    """The offered profiles in the form that rosbag2 keeps."""
    never = {"sec": 9223372036, "nsec": 854775807}
    profiles = [
        {
            "history": "unknown",
            "depth": 0,
            "reliability": profile.reliability.name.lower(),
            "durability": profile.durability.name.lower(),
            "deadline": never,
            "lifespan": never,
            "liveliness": "automatic",
            "liveliness_lease_duration": never,
            "avoid_ros_namespace_conventions": False,
        }
        for profile in offered
    ]
    return str(yaml.safe_dump(profiles, sort_keys=False))


# Message types by name, and the text of their definitions as bags carry it.

_SEPARATOR = "=" * 80
_FIELD = re.compile(r"^\s*([A-Za-z][A-Za-z0-9_/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]")
_BUILTIN = frozenset(("bool", "byte", "char", "float32", "float64", "string", "wstring")) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def message_class(type_name: str) -> Any:
    """The Python class of a type such as `sensor_msgs/msg/Image`.

    Raises:
        PlannerError: if its package is not installed.
    """
    package, kind, name = type_name.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.{kind}"), name)
    except (ImportError, AttributeError):
        raise PlannerError(f"the message type {type_name} is not installed") from None


@cache
def definition(type_name: str) -> str:
    """The definition's text followed by those of all messages in it (`ros2msg`).

    Raises:
        PlannerError: if a definition is not installed.
    """
    texts: dict[str, str] = {}
    _collect(type_name, texts)
    first = texts.pop(type_name)
    others = [f"{_SEPARATOR}\nMSG: {_short(name)}\n{text}" for name, text in texts.items()]
    return "\n".join([first, *others])


def _share(package: str) -> Path:
    try:
        return Path(get_package_share_directory(package))
    except (PackageNotFoundError, OSError):
        # ROS from PyPI needs no sourced workspace: everything lies in Python's own prefix.
        return Path(sys.prefix) / "share" / package


def _short(type_name: str) -> str:
    package, _, name = type_name.split("/")
    return f"{package}/{name}"


def _collect(type_name: str, texts: dict[str, str]) -> None:
    if type_name in texts:
        return
    package, kind, name = type_name.split("/")
    try:
        text = (_share(package) / kind / f"{name}.msg").read_text(encoding="utf-8")
    except OSError:
        raise PlannerError(f"the definition of {type_name} is not installed") from None
    texts[type_name] = text
    for line in text.splitlines():
        match = _FIELD.match(line.split("#")[0])
        if match is None or match.group(1) in _BUILTIN:
            continue
        field = match.group(1)
        inner = field if "/" in field else f"{package}/{field}"
        inner_package, inner_name = inner.split("/")[0], inner.split("/")[-1]
        _collect(f"{inner_package}/msg/{inner_name}", texts)
