"""Bringing a robot to rest: at shutdown (18), with an empty battery (15), unattended (8)."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator

from sim_bridge.control import Command, Outcome
from sim_bridge.safety.health import Supervised
from sim_bridge.safety.rules import Rule

_LEAST_S = 0.5


def put_to_rest(robot: Supervised, agent: str, within_s: float) -> Iterator[tuple[str, Outcome]]:
    """Folds the arm, sits, powers off and returns the lease; reports each step's outcome.

    A step that fails or is late does not delay the next; steps that are not done in the end the
    robot does by itself (rules 1 and 3).
    """
    ends_s, share_s = time.monotonic() + within_s, within_s / 4

    def left_s() -> float:
        return max(_LEAST_S, min(share_s, ends_s - time.monotonic()))

    yield "stow", robot.stow(agent, left_s())
    for command in (Command.SIT, Command.POWER_OFF, Command.RELEASE):
        yield command, robot.operate(agent, command, left_s())


def what_rests(
    reasons: Collection[str], *, idle: bool, alone: bool, docked: bool
) -> tuple[tuple[Command, ...], Rule]:
    """What is done about an agent whose battery runs out, or that is unattended."""
    if docked:
        return (), Rule.BATTERY
    if "BATTERY_EMPTY" in reasons:
        return (Command.SIT, Command.POWER_OFF), Rule.BATTERY
    if "BATTERY_DOCK" in reasons and idle:
        return (Command.SIT,), Rule.BATTERY
    return ((Command.SIT,) if alone else ()), Rule.EXECUTIVE_LOST
