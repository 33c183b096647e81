"""What the robot does by itself when a client falls silent: keepalive policies, stop endpoints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Policy:
    """A keepalive policy: what happens how long after the last check-in.

    Attributes:
        leases: epoch and sequence of each lease that the policy is tied to.
        motors_off_s: when the robot sits down and its motors go off.
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
    """An emergency-stop endpoint and when it last said that all is well."""

    message: object
    timeout_s: float
    last_s: float
    challenge: int
    level: int = 1
