"""Docking and undocking (rule 15): when they are allowed, and how they start."""

from __future__ import annotations

from enum import StrEnum

from sim_bridge.backend import Handle
from sim_bridge.control import NOT_STANDING
from sim_bridge.safety.guard import Guard
from sim_bridge.safety.health import Supervised
from sim_bridge.safety.watch import Severity


class HomeAction(StrEnum):
    """The two actions, as named in receipts."""

    DOCK = "dock"
    UNDOCK = "undock"


def why_not_home(guard: Guard, action: HomeAction, *, busy: bool) -> str:
    """Why an agent may not dock or undock now; empty if it may.

    Allowed with a low battery; for undocking it need not be standing.
    """
    rises = action is HomeAction.UNDOCK
    why = [text for text in guard.unready if not (rises and text == NOT_STANDING)]
    why += [concern.text for concern in guard.concerns if concern.severity is Severity.STOPS]
    if not why and busy:
        why = ["it does something else; stop it first"]
    return ", and ".join(why)


def begin_way(robot: Supervised, agent: str, action: HomeAction) -> Handle | None:
    """Starts docking or undocking, as a primitive; None without a dock."""
    return robot.undock(agent) if action is HomeAction.UNDOCK else robot.dock(agent)
