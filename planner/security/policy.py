"""What each identity may do (config/security/policy.yaml), and the DDS topics behind ROS names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache
from typing import Annotated, Self

from pydantic import Field, model_validator

from planner.world.files import FileModel, read_model
from planner.world.share import config_dir

# The DDS topics behind ROS names, and patterns for them in DDS permissions.
#
# Patterns match as POSIX fnmatch without flags does: `*` matches any text, slashes included, and
# `?` one character.

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


OPERATOR, VIEWER = "operator", "viewer"

# No other characters: names go into XML, and not every middleware supports brackets in patterns.
Name = Annotated[str, Field(pattern=r"^(/[A-Za-z0-9_*?]+)+$")]
NodePattern = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+\*?$")]
Identity = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class _Reserved(FileModel):
    publish: tuple[Name, ...] = ()
    request: tuple[Name, ...] = ()


class Listed(FileModel):
    """The permissions of one identity, by ROS names."""

    nodes: tuple[NodePattern, ...] = ()
    publish: tuple[Name, ...] = ()
    subscribe: tuple[Name, ...] = ()
    reply: tuple[Name, ...] = ()
    request: tuple[Name, ...] = ()
    execute: tuple[Name, ...] = ()
    call: tuple[Name, ...] = ()

    def rights(self) -> Rights:
        """Return the DDS topics that these permissions cover."""
        parameters = tuple(f"/{node}/*" for node in self.nodes)
        return (
            _together(publication, self.publish)
            | _together(publication, self.subscribe).reversed()
            | _together(request, self.request)
            | _together(request, (*self.reply, *parameters)).reversed()
            | _together(call, self.call)
            | _together(execute, self.execute)
        )


class Policy(FileModel):
    """The whole file.

    Attributes:
        operator_only: what only the operator's identity may do.
        everyone: what every identity may do in addition.
        identities: what each may do.
    """

    operator_only: _Reserved
    everyone: Listed
    identities: Mapping[Identity, Listed]

    @model_validator(mode="after")
    def _reserved_stays_reserved(self) -> Self:
        if OPERATOR not in self.identities:
            raise ValueError(f"there is no identity {OPERATOR}")
        reserved = self._reserved_rights.publish
        for name, rights in self.rights.items():
            if name == OPERATOR:
                continue
            for pattern in rights.publish:
                if any(overlap(pattern, topic) for topic in reserved):
                    raise ValueError(
                        f"{name} may publish {pattern}, which is reserved for the operator"
                    )
        return self

    @cached_property
    def rights(self) -> Mapping[str, Rights]:
        """The rights of each identity, in DDS topics."""
        shared = self.everyone.rights() | Rights(frozenset({DISCOVERY}), frozenset({DISCOVERY}))
        return {
            name: listed.rights()
            | shared
            | (self._reserved_rights if name == OPERATOR else Rights())
            for name, listed in self.identities.items()
        }

    @property
    def _reserved_rights(self) -> Rights:
        return _together(publication, self.operator_only.publish) | _together(
            request, self.operator_only.request
        )


def _together(rule: Callable[[str], Rights], names: Iterable[str]) -> Rights:
    rights = Rights()
    for name in names:
        rights |= rule(name)
    return rights


@lru_cache(maxsize=1)
def shipped_policy() -> Policy:
    """Return the policy of config/security.

    Raises:
        FileError: if it cannot be read, or grants others what is reserved for the operator.
    """
    return read_model(config_dir() / "security" / "policy.yaml", Policy)
