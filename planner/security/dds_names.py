"""The DDS topics behind ROS names, and patterns for them in DDS permissions.

Patterns match as POSIX fnmatch without flags does: `*` matches any text, slashes included, and
`?` one character.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

# The topic on which every ROS participant announces its nodes.
DISCOVERY = "ros_discovery_info"
_ACTION_SERVICES = ("send_goal", "cancel_goal", "get_result")
_ACTION_TOPICS = ("feedback", "status")


@dataclass(frozen=True, slots=True)
class Rights:
    """Patterns of DDS topics that a participant may publish and subscribe."""

    publish: frozenset[str] = frozenset()
    subscribe: frozenset[str] = frozenset()

    def __or__(self, other: Rights) -> Rights:
        return Rights(self.publish | other.publish, self.subscribe | other.subscribe)

    def reversed(self) -> Rights:
        """Return the rights of the opposite end."""
        return Rights(publish=self.subscribe, subscribe=self.publish)


def publication(name: str) -> Rights:
    """Return the rights for publishing a ROS topic."""
    return Rights(publish=frozenset({f"rt{name}"}))


def request(name: str) -> Rights:
    """Return the rights for calling a ROS service."""
    return Rights(frozenset({f"rq{name}Request"}), frozenset({f"rr{name}Reply"}))


def call(name: str) -> Rights:
    """Return the rights for sending goals to a ROS action."""
    rights = Rights(subscribe=frozenset(f"rt{name}/_action/{topic}" for topic in _ACTION_TOPICS))
    for service in _ACTION_SERVICES:
        rights |= request(f"{name}/_action/{service}")
    return rights


def execute(name: str) -> Rights:
    """Return the rights for serving a ROS action, with its service events."""
    rights = call(name).reversed()
    for service in _ACTION_SERVICES:
        rights |= publication(f"{name}/_action/{service}/_service_event")
    return rights | publication(f"{name}/_action/send_goal/_service_event").reversed()


def allows(patterns: frozenset[str], topic: str) -> bool:
    """Whether one of the patterns matches a topic."""
    return any(fnmatchcase(topic, pattern) for pattern in patterns)


@cache
def overlap(one: str, other: str) -> bool:
    """Whether some topic matches both patterns."""
    if not one or not other:
        return not (one + other).strip("*")
    if one[0] == "*":
        return overlap(one[1:], other) or overlap(one, other[1:])
    if other[0] == "*":
        return overlap(other, one)
    same = one[0] == other[0] or "?" in (one[0], other[0])
    return same and overlap(one[1:], other[1:])
