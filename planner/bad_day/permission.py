"""When a robot may move, by its clients' records, and when it moved; both as samples in time."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType

# Samples of a robot's state, and the motions derived from them.

# Smaller changes between two steps are rounding.
_STILL_M, _STILL_RAD = 1e-4, 1e-4


@dataclass(frozen=True, slots=True)
class Sample:
    """The robot after one step; `at_s` is this machine's wall-clock time, `owner` of its lease."""

    at_s: float
    x_m: float
    y_m: float
    yaw_rad: float
    arm: tuple[float, float, float]
    powered: bool
    posture: str
    linear_m_s: float
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Motion:
    """A motion of base or arm; `metres` is the distance the base covered."""

    begins_s: float
    ends_s: float
    metres: float
    base: bool


def moving(samples: Sequence[Sample]) -> list[Motion]:
    """Every step in which base or arm moved, oldest first."""
    found: list[Motion] = []
    for before, after in pairwise(samples):
        metres = math.dist((before.x_m, before.y_m), (after.x_m, after.y_m))
        turned = abs(math.remainder(after.yaw_rad - before.yaw_rad, math.tau)) > _STILL_RAD
        base = metres > _STILL_M or turned
        arm = any(abs(a - b) > _STILL_RAD for a, b in zip(before.arm, after.arm, strict=True))
        if base or arm:
            found.append(Motion(before.at_s, after.at_s, metres, base))
    return found


def joined(steps: Sequence[Motion], gap_s: float = 0.1) -> list[Motion]:
    """Merges consecutive steps into one motion each."""
    found: list[Motion] = []
    for step in steps:
        last = found[-1] if found else None
        if last is not None and step.begins_s - last.ends_s <= gap_s:
            metres, base = last.metres + step.metres, last.base or step.base
            found[-1] = Motion(last.begins_s, step.ends_s, metres, base)
        else:
            found.append(step)
    return found


# Requests to the bridge and their outcomes, as JSON lines in the logs of its clients.

# Marks the lines of a client's log that are records.
RECORD_PREFIX = "@record "
# The outcome of a goal whose result never came.
GAVE_UP = "client gave up"


@dataclass(frozen=True, slots=True)
class Request:
    """One request; times are wall-clock time, `outcome` is empty until it has ended."""

    client: str
    number: int
    kind: str  # goal or service
    name: str
    sent_s: float
    ended_s: float | None = None
    outcome: str = ""
    success: bool = False

    def log_line(self) -> str:
        """The record as a line of a log."""
        return RECORD_PREFIX + json.dumps(asdict(self))


def read_records(log: str) -> list[Request]:
    """The requests in a client's log, each in its latest state."""
    found: dict[int, Request] = {}
    for line in log.splitlines():
        if line.startswith(RECORD_PREFIX):
            try:
                record = Request(**json.loads(line.removeprefix(RECORD_PREFIX)))
            except ValueError:
                # The client was killed while writing this line.
                continue
            found[record.number] = record
    return list(found.values())


def ended(request: Request, at_s: float, outcome: str, *, success: bool) -> Request:
    """The request with its outcome."""
    return replace(request, ended_s=at_s, outcome=outcome, success=success)


# Monotonic simulated time, for comparisons across restarts of the simulator's bridge.

# How far the stamps of two topics may differ, and the gap put between two worlds.
_BACK_S, _BETWEEN_WORLDS_S = 1.0, 100.0


class WorldTime:
    """Detects new worlds by their stamps: one well behind the newest begins another world."""

    def __init__(self) -> None:
        self._newest_s = self._earlier_worlds_s = 0.0

    def of(self, stamp_s: float) -> float:
        """Monotonic time of a stamp, seconds; different worlds are at least 99 s apart."""
        if stamp_s < self._newest_s - _BACK_S:
            self._earlier_worlds_s += self._newest_s + _BETWEEN_WORLDS_S
            self._newest_s = stamp_s
        self._newest_s = max(self._newest_s, stamp_s)
        return self._earlier_worlds_s + stamp_s


# Motion may go on for this long after the last sign of life of client, bridge or link, or after
# permission was revoked.
LIMIT_S = 0.7
# The arm completes its last command when the robot can no longer be reached: at most half a turn
# at motion.hand_turn_speed_rad_s (config/safety.yaml).
ARM_LIMIT_S = 3.2
# Time step of the emulator plus this machine's latency in delivering a signal.
SLACK_S = 0.15
# Services that end motion when they succeed, or while they are in progress.
ENDS = frozenset({"stop", "sit", "release", "power_off", "estop/gentle", "estop/hard"})


class Cause(StrEnum):
    """Why motion is no longer permitted; with those in `UNREACHABLE` no stop reaches the robot."""

    GOAL_ENDED = "goal ended"
    OPERATOR = "operator"
    CLIENT_SILENT = "client silent"
    BRIDGE_SILENT = "bridge silent"
    LINK_SILENT = "link silent"
    LEASE_TAKEN = "lease taken"
    ESTOP = "emergency stop"


UNREACHABLE = frozenset({Cause.BRIDGE_SILENT, Cause.LINK_SILENT, Cause.LEASE_TAKEN})


@dataclass(frozen=True, slots=True)
class Revocation:
    """An interval without permission to move; `ends_goals` says whether it also ends goals."""

    begins_s: float
    ends_s: float
    cause: Cause
    ends_goals: bool
    # The client whose goals it affects; empty for all clients.
    client: str = ""


def truncated(revocations: Iterable[Revocation], now_s: float) -> list[Revocation]:
    """The revocations, with those that would end later ending now."""
    return [
        replace(each, ends_s=max(each.begins_s, now_s)) if now_s < each.ends_s < math.inf else each
        for each in revocations
    ]


@dataclass(frozen=True, slots=True)
class ClockSetBack:
    """The robot's clock, by which walks expire, was set back by `seconds`."""

    at_s: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Permission:
    """An interval in which motion was permitted, and why it ended."""

    begins_s: float
    ends_s: float
    cause: Cause


def permissions(requests: Iterable[Request], revocations: Sequence[Revocation]) -> list[Permission]:
    """When motion was permitted: while a goal was active and nothing revoked the permission."""
    records = list(requests)
    revocations = list(revocations)
    revocations += [
        Revocation(one.sent_s, math.inf, Cause.OPERATOR, True)
        for one in records
        if one.kind == "service" and one.name in ENDS and one.success
    ]
    found: list[Permission] = []
    for goal in records:
        if goal.kind == "goal":
            ends_s = math.inf if goal.ended_s is None else goal.ended_s
            found += _subtract(
                Permission(goal.sent_s, ends_s, Cause.GOAL_ENDED), goal.client, revocations
            )
    return sorted(found, key=lambda each: each.begins_s)


def _subtract(
    whole: Permission, client: str, revocations: Sequence[Revocation]
) -> list[Permission]:
    pieces = [whole]
    relevant = [each for each in revocations if each.client in ("", client)]
    for each in relevant:
        if each.ends_goals:
            # It ends earlier goals only; a later one is permitted again.
            if whole.begins_s < each.begins_s:
                pieces = [
                    Permission(p.begins_s, each.begins_s, each.cause)
                    if p.begins_s < each.begins_s < p.ends_s
                    else p
                    for p in pieces
                    if p.begins_s < each.begins_s
                ]
            continue
        pieces = [piece for p in pieces for piece in _cut(p, each)]
    return pieces + _delayed_commands(whole, relevant)


def _delayed_commands(whole: Permission, revocations: Sequence[Revocation]) -> list[Permission]:
    """Permissions for commands that a silent link delivered after bridge or client fell silent.

    Their limit counts from the last time they can have been sent: the start of the other silence.
    """
    return [
        Permission(other.begins_s, other.begins_s, other.cause)
        for link in revocations
        if link.cause is Cause.LINK_SILENT
        for other in revocations
        if other.cause in (Cause.BRIDGE_SILENT, Cause.CLIENT_SILENT)
        and link.begins_s <= other.begins_s <= link.ends_s <= other.ends_s
        and whole.begins_s <= other.begins_s <= whole.ends_s
    ]


def _cut(piece: Permission, revocation: Revocation) -> list[Permission]:
    if revocation.ends_s <= piece.begins_s or revocation.begins_s >= piece.ends_s:
        return [piece]
    found = []
    if piece.begins_s < revocation.begins_s:
        found.append(Permission(piece.begins_s, revocation.begins_s, revocation.cause))
    if revocation.ends_s < piece.ends_s:
        found.append(Permission(revocation.ends_s, piece.ends_s, piece.cause))
    elif revocation.cause is Cause.LINK_SILENT and piece.ends_s < math.inf:
        # For commands that the link still held when the goal ended, the limit counts from that end.
        found.append(Permission(piece.ends_s, piece.ends_s, piece.cause))
    return found


@dataclass(frozen=True, slots=True)
class UnpermittedMotion:
    """A motion without permission."""

    motion: Motion
    # How long after the last permission it lasted, and why that ended; None: there was none.
    after_s: float
    cause: Cause | None

    def __str__(self) -> str:
        why = "without any permission" if self.cause is None else f"after: {self.cause}"
        way = f"{self.motion.metres:.2f} m" if self.motion.base else "of the arm"
        return f"motion {self.after_s:.2f} s {why}, {way}"


def cut_off_s(
    silent: Revocation, revocations: Iterable[Revocation], limit_s: float
) -> float | None:
    """When the robot became unreachable before a silent client's motion had to be stopped.

    The bridge could not stop the arm then, as it may only pause a motion that early.
    """
    if silent.cause is not Cause.CLIENT_SILENT:
        return None
    found = [
        each.begins_s
        for each in revocations
        if each.cause in UNREACHABLE and 0.0 <= each.begins_s - silent.begins_s <= limit_s
    ]
    return min(found, default=None)


def unpermitted_motions(
    steps: Sequence[Motion],
    granted: Sequence[Permission],
    limit_s: float,
    set_back: Sequence[ClockSetBack] = (),
    unknown_s: float = 0.0,
    cut_off: Sequence[float] = (),
    longer_s: Mapping[Cause, float] = MappingProxyType({}),
) -> tuple[list[UnpermittedMotion], dict[str, float]]:
    """Motions beyond permission and limit, and the longest overrun of each kind, permitted or not.

    Args:
        steps: the motions.
        granted: when motion was permitted.
        limit_s: for how long motion may go on after that.
        set_back: when the robot's clock was set back.
        unknown_s: for how long after that the bridge cannot know of it.
        cut_off: see `cut_off_s`.
        longer_s: added to the limit, by the cause that ended the permission.
    """
    longest: dict[str, float] = {}
    beyond: list[Motion] = []
    for step in steps:
        after_s, cause = _since_permission(step.ends_s, granted)
        if cause is not None and 0 < after_s < math.inf:
            kind = f"{'walks' if step.base else 'arm moves'} after: {cause}"
            longest[kind] = max(longest.get(kind, 0.0), after_s)
        allowed_s = limit_s + (0.0 if cause is None else longer_s.get(cause, 0.0))
        if after_s <= allowed_s or (not step.base and _is_last_arm_command(step, granted, cut_off)):
            continue
        if not any(
            _is_walk_before_clock_step(step, granted, limit_s, each, unknown_s) for each in set_back
        ):
            beyond.append(step)
    found = []
    for motion in joined(beyond):
        after_s, cause = _since_permission(motion.ends_s, granted)
        found.append(
            UnpermittedMotion(motion, min(after_s, motion.ends_s - motion.begins_s + 60), cause)
        )
    return found, longest


def _is_last_arm_command(
    step: Motion, granted: Sequence[Permission], cut_off: Sequence[float]
) -> bool:
    """Whether it may be the arm's last command from before the robot became unreachable."""
    unreachable = [each for each in granted if each.cause in UNREACHABLE]
    unreachable += [Permission(at_s, at_s, Cause.BRIDGE_SILENT) for at_s in cut_off]
    return _since_permission(step.ends_s, unreachable)[0] <= ARM_LIMIT_S


def _is_walk_before_clock_step(
    step: Motion,
    granted: Sequence[Permission],
    limit_s: float,
    back: ClockSetBack,
    unknown_s: float,
) -> bool:
    """Whether it may be a walk sent before the bridge could know that the clock was set back.

    The robot became unreachable before an answer could show the step and a stop could arrive.
    """
    cut_off = [
        each
        for each in granted
        if each.cause in UNREACHABLE and 0.0 <= each.ends_s - back.at_s <= unknown_s
    ]
    return step.base and _since_permission(step.ends_s, cut_off)[0] <= limit_s + back.seconds


def _since_permission(at_s: float, granted: Sequence[Permission]) -> tuple[float, Cause | None]:
    """Seconds since the last permission, 0 within one, and why that permission ended."""
    best, cause = math.inf, None
    for each in granted:
        if each.begins_s - 0.05 <= at_s:
            after_s = max(0.0, at_s - each.ends_s)
            if after_s < best:
                best, cause = after_s, each.cause
    return best, cause
