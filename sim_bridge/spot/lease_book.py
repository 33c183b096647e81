"""The owner of the body lease, judged by the lease itself rather than by the client's name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bosdyn.api import lease_pb2


@dataclass(frozen=True, slots=True)
class LeaseEntry:
    """The robot's entry for its body.

    Attributes:
        owner: the name that its owner gave; empty if there is none.
        epoch: changes when the robot is restarted.
        ours: whether the robot's newest lease descends from ours.
    """

    owner: str = ""
    epoch: str = ""
    ours: bool = False


def body_entry(resources: Iterable[Any], held: Any) -> LeaseEntry:
    """The body's entry in the answer of ListLeases.

    Args:
        resources: `bosdyn.api.LeaseResource` messages.
        held: our SDK lease, None without one.
    """
    for resource in resources:
        if resource.resource == "body":
            owner = str(resource.lease_owner.client_name)
            ours = bool(owner) and held is not None and _descends(resource.lease, held.lease_proto)
            return LeaseEntry(owner, str(resource.lease.epoch), ours)
    return LeaseEntry()


def overtaken(told: Any, held: Any) -> bool:
    """Whether a lease was refused for a newer one of ours, which has reached the robot before it.

    Args:
        told: `bosdyn.api.LeaseUseResult` of the refusal.
        held: our SDK lease, None without one.
    """
    if held is None or told.status != lease_pb2.LeaseUseResult.STATUS_OLDER:
        return False
    return _descends(told.latest_known_lease, held.lease_proto)


def _descends(newest: Any, given: Any) -> bool:
    """Whether a lease is the given one or a sublease of it; each new owner has a new root."""
    root = tuple(given.sequence)[:1]
    return newest.epoch == given.epoch and bool(root) and tuple(newest.sequence)[:1] == root
