"""One bridge per ROS domain and namespace: two would command the same agents."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Mapping

from planner.network import is_loopback_only
from planner.world.errors import PlannerError

# DDS derives its UDP ports from the domain id; higher ids have no valid ports.
MAX_DOMAIN_ID = 232


def domain_id(environment: Mapping[str, str]) -> int:
    """Return the ROS domain of processes in this environment.

    Raises:
        PlannerError: for an invalid id.
    """
    text = environment.get("ROS_DOMAIN_ID") or "0"
    if not (text.isascii() and text.isdigit()) or int(text) > MAX_DOMAIN_ID:
        raise PlannerError(f"ROS_DOMAIN_ID: expected 0 to {MAX_DOMAIN_ID}, got {text!r}")
    return int(text)


def lock_is_exact(environment: Mapping[str, str]) -> bool:
    """Whether every bridge that can be discovered in this environment is covered by the lock."""
    return is_loopback_only(environment)


class DomainLock:
    """Holds a namespace of a ROS domain on this machine until closed or until the process ends.

    An abstract socket, because the kernel frees it even after `kill -9`, and
    because its scope is the network namespace, which is DDS's scope too. A
    bridge on another machine is found through the ROS graph instead.
    """

    def __init__(self, domain_id: int, namespace: str = "/") -> None:
        """Acquires the lock.

        Args:
            domain_id: the ROS domain.
            namespace: full name of the bridge's ROS namespace.

        Raises:
            PlannerError: if another bridge holds it.
        """
        place = namespace.strip("/")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(f"\0planner-bridge-{domain_id}{place and _short(place)}")
        except OSError as error:
            self._socket.close()
            raise PlannerError(
                f"another bridge runs in ROS domain {domain_id}"
                f"{place and f', namespace /{place},'} on this machine; stop it, "
                "or give this one a ROS_DOMAIN_ID of its own"
            ) from error

    def close(self) -> None:
        """Releases the lock; safe to call twice."""
        self._socket.close()


def _short(place: str) -> str:
    # Socket names have at most 107 bytes; a namespace may have more.
    return f"-{hashlib.sha256(place.encode()).hexdigest()[:32]}"
