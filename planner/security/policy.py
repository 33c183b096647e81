"""What each identity may do (config/security/policy.yaml), and the DDS topics behind ROS names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cache, cached_property, lru_cache
from typing import Annotated, Self

from pydantic import Field, model_validator

from planner.world.errors import PlannerError
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


# Governance and permissions as XML, as DDS Security v1.1 defines it (9.4.1.2 and 9.4.1.3).

_SCHEMAS = "http://www.omg.org/spec/DDS-SECURITY/20170901"
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"\n'
    '     xsi:noNamespaceSchemaLocation="{schema}">\n'
)
# No participant without keys, everything encrypted, access control for every topic.
_GOVERNANCE = """\
  <domain_access_rules>
    <domain_rule>
      <domains>
        <id>{domain}</id>
      </domains>
      <allow_unauthenticated_participants>false</allow_unauthenticated_participants>
      <enable_join_access_control>true</enable_join_access_control>
      <discovery_protection_kind>ENCRYPT</discovery_protection_kind>
      <liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>
      <rtps_protection_kind>SIGN</rtps_protection_kind>
      <topic_access_rules>
        <topic_rule>
          <topic_expression>*</topic_expression>
          <enable_discovery_protection>true</enable_discovery_protection>
          <enable_liveliness_protection>true</enable_liveliness_protection>
          <enable_read_access_control>true</enable_read_access_control>
          <enable_write_access_control>true</enable_write_access_control>
          <metadata_protection_kind>ENCRYPT</metadata_protection_kind>
          <data_protection_kind>ENCRYPT</data_protection_kind>
        </topic_rule>
      </topic_access_rules>
    </domain_rule>
  </domain_access_rules>
</dds>
"""
_PERMISSIONS = """\
  <permissions>
    <grant name="{enclave}">
      <subject_name>CN={enclave}</subject_name>
      <validity>
        <not_before>{begins}</not_before>
        <not_after>{ends}</not_after>
      </validity>
      <allow_rule>
        <domains>
          <id>{domain}</id>
        </domains>
{criteria}      </allow_rule>
      <default>DENY</default>
    </grant>
  </permissions>
</dds>
"""


def governance(domain: int) -> str:
    """Return the governance document of one ROS domain."""
    schema = f"{_SCHEMAS}/omg_shared_ca_governance.xsd"
    return _HEAD.format(schema=schema) + _GOVERNANCE.format(domain=domain)


def permissions(enclave: str, rights: Rights, domain: int, begins: datetime, ends: datetime) -> str:
    """Return the permissions document of one enclave; anything not granted is denied.

    Args:
        enclave: its path, also the common name of its certificate.
        rights: what it may publish and subscribe.
        domain: the ROS domain.
        begins: start of its certificate's validity, UTC.
        ends: end of its certificate's validity, UTC.
    """
    criteria = _criteria("publish", rights.publish) + _criteria("subscribe", rights.subscribe)
    return _HEAD.format(schema=f"{_SCHEMAS}/omg_shared_ca_permissions.xsd") + _PERMISSIONS.format(
        enclave=enclave,
        begins=_date_time(begins),
        ends=_date_time(ends),
        domain=domain,
        criteria=criteria,
    )


def _criteria(kind: str, patterns: frozenset[str]) -> str:
    if not patterns:
        return ""
    topics = "".join(f"            <topic>{topic}</topic>\n" for topic in sorted(patterns))
    return f"        <{kind}>\n          <topics>\n{topics}          </topics>\n        </{kind}>\n"


def _date_time(moment: datetime) -> str:
    # Without a time zone, as ROS's own tool writes it; it means UTC.
    return moment.replace(tzinfo=None).isoformat(timespec="seconds")


# The identity under which a process joins ROS with SROS 2.
#
# ROS takes the identity of a process from `--enclave`, or for all processes from
# `ROS_SECURITY_ENCLAVE_OVERRIDE`, which takes precedence.

ENABLE = "ROS_SECURITY_ENABLE"
STRATEGY = "ROS_SECURITY_STRATEGY"
KEYSTORE = "ROS_SECURITY_KEYSTORE"
OVERRIDE = "ROS_SECURITY_ENCLAVE_OVERRIDE"
_NAMESPACE = "/planner"


def enclave_of(identity: str) -> str:
    """Return the path of an identity's enclave."""
    return f"{_NAMESPACE}/{identity}"


def is_secured(environment: Mapping[str, str]) -> bool:
    """Whether ROS security is on: only the word `true` counts, `True` or `1` have no effect."""
    return environment.get(ENABLE, "") == "true"


def is_enforced(environment: Mapping[str, str]) -> bool:
    """Whether a process without keys ends instead of running unprotected."""
    return is_secured(environment) and environment.get(STRATEGY, "") == "Enforce"


def enclave_arguments(environment: Mapping[str, str], identity: str) -> tuple[str, ...]:
    """Return the ROS arguments that set a node's identity; none without security."""
    return ("--enclave", enclave_of(identity)) if is_secured(environment) else ()


def clear_enclave_override(environment: MutableMapping[str, str]) -> None:
    """Remove the override that would give all started nodes the same identity."""
    if is_secured(environment):
        environment.pop(OVERRIDE, None)


def join_as(environment: MutableMapping[str, str], identity: str, namespace: str = "/") -> None:
    """Set a process's identity before it joins ROS, unless the environment already does.

    Raises:
        PlannerError: if the stack has a namespace and security is on.
    """
    refuse_namespace_with_keys(environment, namespace)
    if is_secured(environment) and not environment.get(OVERRIDE):
        environment[OVERRIDE] = enclave_of(identity)


def refuse_namespace_with_keys(environment: Mapping[str, str], namespace: str) -> None:
    """Refuse a namespace with security on: the policy has none, so every topic would be denied.

    Raises:
        PlannerError: if the stack has a namespace and security is on.
    """
    if is_secured(environment) and namespace != "/":
        raise PlannerError(
            f"namespace {namespace}: the permissions of config/security cover no namespace; "
            "leave out the namespace, or unset ROS_SECURITY_ENABLE"
        )


def domain_of(environment: Mapping[str, str]) -> int:
    """Return the ROS domain.

    Raises:
        PlannerError: if `ROS_DOMAIN_ID` is not a number.
    """
    text = environment.get("ROS_DOMAIN_ID", "") or "0"
    if not (text.isascii() and text.isdigit()):
        raise PlannerError(f"ROS_DOMAIN_ID: expected a whole number, got {text!r}")
    return int(text)
