"""Onto the dock and off it again (rule 15): when it is allowed, and how it begins."""

from __future__ import annotations

from enum import StrEnum

from sim_bridge.backend import Handle
from sim_bridge.control import NOT_STANDING
from sim_bridge.safety.guard import Guard
from sim_bridge.safety.health import Supervised
from sim_bridge.safety.watch import Severity


class HomeAction(StrEnum):
    """The two ways, as receipts call them."""

    DOCK = "dock"
    UNDOCK = "undock"


def why_not_home(guard: Guard, deed: HomeAction, *, busy: bool) -> str:
    """Why the operator may not send an agent onto or off its dock now; empty where allowed.

    A battery that allows nothing new allows this; off the dock it gets up by itself.
    """
    rises = deed is HomeAction.UNDOCK
    why = [text for text in guard.unready if not (rises and text == NOT_STANDING)]
    why += [concern.text for concern in guard.concerns if concern.severity is Severity.STOPS]
    if not why and busy:
        why = ["it does something else; stop it first"]
    return ", and ".join(why)


def begin_way(robot: Supervised, agent: str, deed: HomeAction) -> Handle | None:
    """Begins the way, as a primitive of the robot; None where it has no dock."""
    return robot.undock(agent) if deed is HomeAction.UNDOCK else robot.dock(agent)
