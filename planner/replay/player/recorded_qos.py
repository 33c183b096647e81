"""The quality of service of a topic as recorded in a bag."""

from __future__ import annotations

from dataclasses import dataclass

from planner.world.errors import FileError
from planner.world.files import parse_yaml

_MAX_CHARS = 1 << 16
_TF_STATIC = "/tf_static"
# rosbag2 up to Iron wrote the numbers of rmw's enumerations.
_BEST_EFFORT: set[object] = {"best_effort", 2}
_LATCHED: set[object] = {"transient_local", 1}


@dataclass(frozen=True, slots=True)
class RecordedQos:
    """What a topic's publishers offered.

    Attributes:
        reliable: whether lost messages were sent again.
        latched: whether late joiners got earlier messages (transient local).
    """

    reliable: bool = True
    latched: bool = False


def recorded_qos(topic: str, profiles: str) -> RecordedQos:
    """The quality of service on a topic, all of its publishers taken together.

    The strongest offer counts, because every reader of a weaker one matches it too.

    Args:
        topic: its name.
        profiles: rosbag2's YAML list of the offered profiles; "" if not recorded. An invalid list
            counts as none: reliable, and latched only for `/tf_static`.
    """
    offered = _profiles(profiles)
    if not offered:
        return RecordedQos(latched=topic == _TF_STATIC)
    return RecordedQos(
        reliable=not all(_is_one_of(p.get("reliability"), _BEST_EFFORT) for p in offered),
        latched=any(_is_one_of(profile.get("durability"), _LATCHED) for profile in offered),
    )


def _is_one_of(value: object, known: set[object]) -> bool:
    return isinstance(value, str | int) and value in known


def _profiles(text: str) -> list[dict[object, object]]:
    if not text or len(text) > _MAX_CHARS:
        return []
    try:
        found = parse_yaml(text, "")
    except FileError:
        return []
    if not isinstance(found, list):
        return []
    return [profile for profile in found if isinstance(profile, dict)]
