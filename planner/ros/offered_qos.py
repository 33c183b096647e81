"""QoS that matches the offered profiles, and their record in rosbag2's form."""

from __future__ import annotations

from collections.abc import Sequence

import yaml
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


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
