"""State of keepalive policies and e-stop endpoints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Policy:
    """A keepalive policy: actions and their delays after the last check-in.

    Attributes:
        leases: epoch and sequence of each associated lease.
        motors_off_s: when the robot sits down and its motors are switched off.
        stale_s: when the lease becomes stale.
    """

    number: int
    name: str
    client: str
    last_s: float
    motors_off_s: float | None
    message: object
    leases: tuple[tuple[str, tuple[int, ...]], ...] = ()
    stale_s: float | None = None


@dataclass(slots=True)
class Endpoint:
    """An emergency-stop endpoint and its last check-in."""

    message: object
    timeout_s: float
    last_s: float
    challenge: int
    level: int = 1
