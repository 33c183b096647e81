"""When the robot may move, as those know who asked: not by the bridge's word."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from planner.bad_day.motion import Motion, joined
from planner.bad_day.records import Asked

# Motion after the last sign of life of client, bridge or link, or after it was forbidden.
LIMIT_S = 0.7
# The arm ends by itself the motion that it was sent last, where nothing reaches the robot any more:
# half a turn, at motion.hand_turn_speed_rad_s (config/safety.yaml).
ARM_LIMIT_S = 3.2
# Steps of the emulator, and what this machine takes to send a signal.
SLACK_S = 0.15
# What ends motion where it is answered with success, or while it is under way.
ENDS = frozenset({"stop", "sit", "release", "power_off", "estop/gentle", "estop/hard"})


class Cause(StrEnum):
    """Why motion is not allowed any more; of the `UNREACHABLE` nobody can tell the robot."""

    GOAL_ENDED = "goal ended"
    OPERATOR = "operator"
    CLIENT_SILENT = "client silent"
    BRIDGE_SILENT = "bridge silent"
    LINK_SILENT = "link silent"
    LEASE_TAKEN = "lease taken"
    ESTOP = "emergency stop"


UNREACHABLE = frozenset({Cause.BRIDGE_SILENT, Cause.LINK_SILENT, Cause.LEASE_TAKEN})


@dataclass(frozen=True, slots=True)
class Silence:
    """A time in which nobody could move the robot; it ends goals where `ends_goals`."""

    begins_s: float
    ends_s: float
    cause: Cause
    ends_goals: bool
    # Whose goals; empty for everybody's.
    client: str = ""


def cut_short(silences: Iterable[Silence], now_s: float) -> list[Silence]:
    """The same silences where those that were to end later have ended now."""
    return [
        replace(each, ends_s=max(each.begins_s, now_s)) if now_s < each.ends_s < math.inf else each
        for each in silences
    ]


@dataclass(frozen=True, slots=True)
class SetBack:
    """The robot's clock, in which walks end, was set back by `seconds`."""

    at_s: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Allowed:
    """A time in which motion was allowed, and why no longer."""

    begins_s: float
    ends_s: float
    cause: Cause


def allowed(asked: Iterable[Asked], silences: Sequence[Silence]) -> list[Allowed]:
    """When motion was allowed: while somebody's goal was under way and nothing forbade it."""
    records = list(asked)
    forbids = list(silences)
    forbids += [
        Silence(one.sent_s, math.inf, Cause.OPERATOR, True)
        for one in records
        if one.kind == "service" and one.name in ENDS and one.success
    ]
    found: list[Allowed] = []
    for goal in records:
        if goal.kind == "goal":
            ends_s = math.inf if goal.ended_s is None else goal.ended_s
            found += _without(Allowed(goal.sent_s, ends_s, Cause.GOAL_ENDED), goal.client, forbids)
    return sorted(found, key=lambda each: each.begins_s)


def _without(whole: Allowed, client: str, forbids: Sequence[Silence]) -> list[Allowed]:
    pieces = [whole]
    mine = [each for each in forbids if each.client in ("", client)]
    for each in mine:
        if each.ends_goals:
            # Of goals that were given before; later ones are the client's own risk.
            if whole.begins_s < each.begins_s:
                pieces = [
                    Allowed(p.begins_s, each.begins_s, each.cause)
                    if p.begins_s < each.begins_s < p.ends_s
                    else p
                    for p in pieces
                    if p.begins_s < each.begins_s
                ]
            continue
        pieces = [piece for p in pieces for piece in _cut(p, each)]
    return pieces + _held_back(whole, mine)


def _held_back(whole: Allowed, forbids: Sequence[Silence]) -> list[Allowed]:
    """What was sent until another silence began, while the link was silent, and came after that.

    Its limit counts from when it was sent last: from the beginning of the other silence.
    """
    return [
        Allowed(other.begins_s, other.begins_s, other.cause)
        for link in forbids
        if link.cause is Cause.LINK_SILENT
        for other in forbids
        if other.cause in (Cause.BRIDGE_SILENT, Cause.CLIENT_SILENT)
        and link.begins_s <= other.begins_s <= link.ends_s <= other.ends_s
        and whole.begins_s <= other.begins_s <= whole.ends_s
    ]


def _cut(piece: Allowed, silence: Silence) -> list[Allowed]:
    if silence.ends_s <= piece.begins_s or silence.begins_s >= piece.ends_s:
        return [piece]
    found = []
    if piece.begins_s < silence.begins_s:
        found.append(Allowed(piece.begins_s, silence.begins_s, silence.cause))
    if silence.ends_s < piece.ends_s:
        found.append(Allowed(silence.ends_s, piece.ends_s, piece.cause))
    elif silence.cause is Cause.LINK_SILENT and piece.ends_s < math.inf:
        # What the link still held of a goal that ended meanwhile has its limit from that end on.
        found.append(Allowed(piece.ends_s, piece.ends_s, piece.cause))
    return found


@dataclass(frozen=True, slots=True)
class Trespass:
    """A motion beyond what was allowed."""

    motion: Motion
    # How long after the last permission it went on, and why that ended; None: there was none.
    after_s: float
    cause: Cause | None

    def __str__(self) -> str:
        why = "without any permission" if self.cause is None else f"after: {self.cause}"
        way = f"{self.motion.metres:.2f} m" if self.motion.base else "of the arm"
        return f"motion {self.after_s:.2f} s {why}, {way}"


def trespasses(
    steps: Sequence[Motion],
    permitted: Sequence[Allowed],
    limit_s: float,
    set_back: Sequence[SetBack] = (),
    unknown_s: float = 0.0,
) -> tuple[list[Trespass], dict[str, float]]:
    """Motions beyond permission and limit; and the longest by their kind, within it or not.

    Args:
        steps: what moved.
        permitted: when it might.
        limit_s: for how much longer.
        set_back: steps back of the robot's clock.
        unknown_s: how soon after one a bridge can have ended the walk that lives longer for it.
    """
    longest: dict[str, float] = {}
    beyond: list[Motion] = []
    for step in steps:
        after_s, cause = _after(step.ends_s, permitted)
        if cause is not None and 0 < after_s < math.inf:
            kind = f"{'walks' if step.base else 'arm moves'} after: {cause}"
            longest[kind] = max(longest.get(kind, 0.0), after_s)
        if after_s <= limit_s or (not step.base and _finishes(step, permitted)):
            continue
        if not any(_outlives(step, permitted, limit_s, each, unknown_s) for each in set_back):
            beyond.append(step)
    found = []
    for motion in joined(beyond):
        after_s, cause = _after(motion.ends_s, permitted)
        found.append(Trespass(motion, min(after_s, motion.ends_s - motion.begins_s + 60), cause))
    return found, longest


def _finishes(step: Motion, permitted: Sequence[Allowed]) -> bool:
    """Whether it may be what an arm was sent last before nothing reached the robot any more."""
    unreachable = [each for each in permitted if each.cause in UNREACHABLE]
    return _after(step.ends_s, unreachable)[0] <= ARM_LIMIT_S


def _outlives(
    step: Motion, permitted: Sequence[Allowed], limit_s: float, back: SetBack, unknown_s: float
) -> bool:
    """Whether it may be a walk sent before anybody could know of the step back.

    Nothing reached the robot any more before an answer could tell of it and a stop could come.
    """
    cut_off = [
        each
        for each in permitted
        if each.cause in UNREACHABLE and 0.0 <= each.ends_s - back.at_s <= unknown_s
    ]
    return step.base and _after(step.ends_s, cut_off)[0] <= limit_s + back.seconds


def _after(at_s: float, permitted: Sequence[Allowed]) -> tuple[float, Cause | None]:
    """How long a moment is after the last permission, 0 within one."""
    best, cause = math.inf, None
    for each in permitted:
        if each.begins_s - 0.05 <= at_s:
            after_s = max(0.0, at_s - each.ends_s)
            if after_s < best:
                best, cause = after_s, each.cause
    return best, cause
