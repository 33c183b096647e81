"""The identity under which a process joins ROS with SROS 2.

ROS takes the identity of a process from `--enclave`, or for all processes from
`ROS_SECURITY_ENCLAVE_OVERRIDE`, which takes precedence.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from planner.world.errors import PlannerError

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
