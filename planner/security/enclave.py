"""Under which identity a process joins ROS, where SROS 2 is on.

ROS takes the identity of a process from `--enclave`, or for all processes alike from
`ROS_SECURITY_ENCLAVE_OVERRIDE`, which wins.
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


def secured(environment: Mapping[str, str]) -> bool:
    """Whether ROS uses keys: by this very word, `True` or `1` turn nothing on."""
    return environment.get(ENABLE, "") == "true"


def enforced(environment: Mapping[str, str]) -> bool:
    """Whether a process without keys ends instead of running unprotected."""
    return secured(environment) and environment.get(STRATEGY, "") == "Enforce"


def enclave_words(environment: Mapping[str, str], identity: str) -> tuple[str, ...]:
    """Return the ROS arguments that give a node its identity; none where no keys are used."""
    return ("--enclave", enclave_of(identity)) if secured(environment) else ()


def each_its_own(environment: MutableMapping[str, str]) -> None:
    """Take away what would give every node that is started the operator's identity, or another."""
    if secured(environment):
        environment.pop(OVERRIDE, None)


def act_as(environment: MutableMapping[str, str], identity: str, namespace: str = "/") -> None:
    """Give a process an identity before it joins ROS, unless the environment names one.

    Raises:
        PlannerError: where keys are used for a stack in a namespace.
    """
    refuse_namespace_with_keys(environment, namespace)
    if secured(environment) and not environment.get(OVERRIDE):
        environment[OVERRIDE] = enclave_of(identity)


def refuse_namespace_with_keys(environment: Mapping[str, str], namespace: str) -> None:
    """Refuse what would start and then be denied every topic: the policy names no namespace.

    Raises:
        PlannerError: where keys are used and the stack is in a namespace.
    """
    if secured(environment) and namespace != "/":
        raise PlannerError(
            f"namespace {namespace}: the permissions of config/security are for a stack in none; "
            "leave out the namespace, or unset ROS_SECURITY_ENABLE"
        )


def domain_of(environment: Mapping[str, str]) -> int:
    """Return the ROS domain.

    Raises:
        PlannerError: where `ROS_DOMAIN_ID` is no number.
    """
    text = environment.get("ROS_DOMAIN_ID", "") or "0"
    if not (text.isascii() and text.isdigit()):
        raise PlannerError(f"ROS_DOMAIN_ID: expected a whole number, got {text!r}")
    return int(text)
