"""What backends of one real robot share: its agent, control, routines, clock and frames."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3
from planner.world.primitive import PrimitiveCode, PrimitiveResult
from planner.world.state import WorldState
from sim_bridge.backend import Handle


class OneRobot:
    """The base of backends of one robot; `_agent` is its name once an episode is loaded."""

    def __init__(self) -> None:
        self._agent = ""

    @property
    def agents(self) -> tuple[str, ...]:
        """The one robot, once an episode is loaded."""
        return (self._agent,) if self._agent else ()

    def world_state(self) -> WorldState | None:
        """None: ground truth of a real world is unknown."""
        return None

    def dock(self, agent: str) -> Handle | None:
        """None: no dock is known here."""
        self._check_agent(agent)
        return None

    def undock(self, agent: str) -> Handle | None:
        """None: no dock is known here."""
        self._check_agent(agent)
        return None

    def _check_agent(self, agent: str) -> None:
        if not agent or agent != self._agent:
            raise PlannerError(f"there is no agent {agent!r}; there are {', '.join(self.agents)}")

    def _check_step(self, dt_s: float) -> None:
        if not (math.isfinite(dt_s) and dt_s > 0):
            raise PlannerError(f"expected a step of a finite time above 0, got {dt_s}")
        if not self._agent:
            raise PlannerError("no episode is loaded")

    @staticmethod
    def _check_team(episode: Episode) -> None:
        if len(episode.agents) != 1:
            many = len(episode.agents)
            raise PlannerError(f"{episode.title}: one robot is one agent, not {many}")


# Primitives of real robots as generators: each step does a little, none waits for the robot.

# Phase and progress.
Stage = tuple[str, float]
Routine = Generator[Stage, None, PrimitiveResult]
Motion = Generator[Stage, None, None]
Check = Generator[Stage, None, bool]


class Ended(Exception):  # noqa: N818 - an end, not always an error
    """Ends a routine with a result."""

    def __init__(self, code: PrimitiveCode, text: str, **evidence: str) -> None:
        super().__init__(text)
        self.result = PrimitiveResult(code, text, evidence)


def success(text: str, position_m: Vec3 | None = None, /, **evidence: str) -> PrimitiveResult:
    """The result of a successful routine."""
    return PrimitiveResult(PrimitiveCode.SUCCESS, text, evidence, position_m)


# How far the clock that stamps a robot's messages is from ours.
#
# Messages that are sent when they are stamped arrive a little after their stamp. The smallest
# difference of the last seconds is therefore that of the clocks, up to the shortest way.

# Seconds of differences that are looked at.
_WINDOW_S = 10.0
# Clocks that are kept alike (NTP, chrony) differ by less: stamps are then used as they are.
ALIKE_S = 0.1
# A stamp further back than this is of a clock that was set back.
_SET_BACK_S = 0.5


class ClockShift:
    """What is added to a robot's stamp to get a time of our clock.

    Attributes:
        shift_s: 0 while the clocks are alike; it changes only by steps of more than `ALIKE_S`.
    """

    def __init__(self) -> None:
        self.shift_s = 0.0
        self._differences: deque[tuple[float, float]] = deque()
        self._newest_s = float("-inf")

    def hear(self, stamp_s: float, at_s: float) -> None:
        """Learns from a message that was sent at once.

        Args:
            stamp_s: on the robot's clock.
            at_s: its receipt on our clock.
        """
        if stamp_s < self._newest_s - _SET_BACK_S:
            self._differences.clear()
        self._newest_s = stamp_s
        self._differences.append((at_s, at_s - stamp_s))
        while self._differences[0][0] < at_s - _WINDOW_S:
            self._differences.popleft()
        least_s = min(difference for _, difference in self._differences)
        if abs(least_s - self.shift_s) > ALIKE_S:
            self.shift_s = least_s if abs(least_s) > ALIKE_S else 0.0


# Where the frames of a robot of others were at a time of its clock, from /tf and odometry.
#
# A driver or an estimator may be in another thread than the one that asks: all calls are safe then.

# Seconds of a frame's past that are kept.
KEPT_S = 5.0
# Samples of one frame that are kept at most, whatever its rate.
_MAX_SAMPLES = 2000
_HERE = Pose((0.0, 0.0, 0.0))


class PoseHistory:
    """The poses of one frame in its parent during the last `KEPT_S`, by stamp."""

    def __init__(self) -> None:
        self._stamps_s: list[float] = []
        self._poses: list[Pose] = []
        self._lock = threading.Lock()

    def add(self, stamp_s: float, pose: Pose) -> None:
        """Adds a sample; the second one of a stamp replaces the first.

        A stamp that is more than `KEPT_S` before the newest is of a clock that was set back: what
        was known is forgotten.
        """
        with self._lock:
            stamps_s = self._stamps_s
            if stamps_s and stamp_s < stamps_s[-1] - KEPT_S:
                stamps_s.clear()
                self._poses.clear()
            at = bisect_left(stamps_s, stamp_s)
            if at < len(stamps_s) and stamps_s[at] == stamp_s:
                self._poses[at] = pose
                return
            stamps_s.insert(at, stamp_s)
            self._poses.insert(at, pose)
            old = bisect_left(stamps_s, stamps_s[-1] - KEPT_S)
            old = max(old, len(stamps_s) - _MAX_SAMPLES)
            del stamps_s[:old], self._poses[:old]

    @property
    def newest_s(self) -> float | None:
        """The newest stamp; None before any."""
        with self._lock:
            return self._stamps_s[-1] if self._stamps_s else None

    def at(self, stamp_s: float | None, hold_s: float = 0.0) -> Pose | None:
        """The pose at a time, interpolated between the samples around it.

        Args:
            stamp_s: of the robot's clock; None = the newest sample.
            hold_s: for how long after the newest sample that one holds.

        Returns:
            None for a time before the samples, or more than `hold_s` after them.
        """
        with self._lock:
            if not self._stamps_s:
                return None
            if stamp_s is None:
                return self._poses[-1]
            after = bisect_right(self._stamps_s, stamp_s)
            if after == 0:
                return None
            before_s, before = self._stamps_s[after - 1], self._poses[after - 1]
            if after == len(self._stamps_s):
                return before if stamp_s <= before_s + hold_s else None
            share = (stamp_s - before_s) / (self._stamps_s[after] - before_s)
            return before.toward(self._poses[after], share)


class FrameHistory:
    """A tree of frames: those of /tf with their past, and fixed ones of /tf_static."""

    def __init__(self, fixed: Mapping[str, tuple[str, Pose]] | None = None) -> None:
        """`fixed`: by frame, its parent and its pose in it."""
        self._fixed = dict(fixed or {})
        self._moving: dict[str, tuple[str, PoseHistory]] = {}

    def fix(self, parent: str, child: str, pose: Pose) -> None:
        """Adds a link of /tf_static."""
        self._fixed[child] = (parent, pose)

    def move(self, parent: str, child: str, stamp_s: float, pose: Pose) -> None:
        """Adds a link of /tf; a frame that gets another parent loses its past."""
        known = self._moving.get(child)
        if known is None or known[0] != parent:
            known = self._moving[child] = (parent, PoseHistory())
        known[1].add(stamp_s, pose)

    def pose_in(
        self, parent: str, child: str, at_s: float | None = None, hold_s: float = 0.0
    ) -> Pose | None:
        """A frame in another one at a time; `at_s` and `hold_s` as in `PoseHistory.at`.

        Returns:
            None if they are not connected, or a link between them is not known for that time.
        """
        way, other = self._ancestors(parent), self._ancestors(child)
        shared = next((name for name in other if name in way), None)
        if shared is None:
            return None
        up, down = (self._in_ancestor(names, shared, at_s, hold_s) for names in (way, other))
        return None if up is None or down is None else up.inverse().compose(down)

    def newest_s(self, frame: str) -> float | None:
        """The newest stamp of a frame of /tf; None for a fixed or an unknown one."""
        known = None if frame in self._fixed else self._moving.get(frame)
        return None if known is None else known[1].newest_s

    def connects(self, parent: str, child: str) -> bool:
        """Whether any links, of whatever time, connect two frames."""
        return not set(self._ancestors(parent)).isdisjoint(self._ancestors(child))

    def _ancestors(self, frame: str) -> list[str]:
        """A frame, its parent, and so on; a ring is followed once."""
        names = [frame]
        while (parent := self._parent(names[-1])) is not None and parent not in names:
            names.append(parent)
        return names

    def _parent(self, frame: str) -> str | None:
        known = self._fixed.get(frame) or self._moving.get(frame)
        return None if known is None else known[0]

    def _in_ancestor(
        self, names: list[str], ancestor: str, at_s: float | None, hold_s: float
    ) -> Pose | None:
        pose = _HERE
        for name in names[: names.index(ancestor)]:
            fixed = self._fixed.get(name)
            link = self._moving[name][1].at(at_s, hold_s) if fixed is None else fixed[1]
            if link is None:
                return None
            pose = link.compose(pose)
        return pose


# Who may move an agent: claim, power, posture and emergency stop, as on a Spot.
#
# Pure: the bridge turns service calls into `Command`s and does what an `Outcome` says.

NOT_STANDING = "it is not standing"


class Command(StrEnum):
    """The Trigger services of an agent; values are their names."""

    CLAIM = "claim"
    RELEASE = "release"
    POWER_ON = "power_on"
    POWER_OFF = "power_off"
    STAND = "stand"
    SIT = "sit"
    STOP = "stop"
    ESTOP_GENTLE = "estop/gentle"
    ESTOP_HARD = "estop/hard"
    ESTOP_RELEASE = "estop/release"


class Estop(StrEnum):
    """The emergency stop: gentle lets the agent sit down before the motors are cut."""

    NONE = "none"
    GENTLE = "gentle"
    HARD = "hard"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Answer to a command; `stops` says that the agent must stop moving now."""

    success: bool
    message: str
    stops: bool = False


@dataclass(frozen=True, slots=True)
class _Effect:
    """The state after a command; None = unchanged."""

    text: str
    stops: bool = False
    claimed: bool | None = None
    powered: bool | None = None
    standing: bool | None = None
    estop: Estop | None = None


_EFFECTS: Mapping[Command, _Effect] = {
    Command.CLAIM: _Effect("claimed", claimed=True),
    Command.RELEASE: _Effect("stopped, released", stops=True, claimed=False),
    Command.POWER_ON: _Effect("motors on", powered=True),
    Command.POWER_OFF: _Effect("stopped, motors off", stops=True, powered=False, standing=False),
    Command.STAND: _Effect("standing", standing=True),
    Command.SIT: _Effect("stopped, sitting", stops=True, standing=False),
    Command.STOP: _Effect("stopped", stops=True),
    Command.ESTOP_GENTLE: _Effect(
        "stopped, sitting, motors off", True, powered=False, standing=False, estop=Estop.GENTLE
    ),
    Command.ESTOP_HARD: _Effect(
        "motors cut", stops=True, powered=False, standing=False, estop=Estop.HARD
    ),
    Command.ESTOP_RELEASE: _Effect(
        "no emergency stop; power on and stand to move", estop=Estop.NONE
    ),
}

# Anybody may stop an agent, claimed or not.
STOPS = frozenset({Command.STOP, Command.ESTOP_GENTLE, Command.ESTOP_HARD})
_ALWAYS = STOPS | {Command.ESTOP_RELEASE, Command.CLAIM}


class Control:
    """The state of one agent. Simulated agents start claimed, powered and standing."""

    def __init__(self, *, ready: bool) -> None:
        self.claimed = ready
        self.powered = ready
        self.standing = ready
        self.estop = Estop.NONE

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Why it may not move, in the order in which to clear them; empty if it may."""
        found = []
        if self.estop is not Estop.NONE:
            found.append(f"the {self.estop} emergency stop is engaged")
        if not self.claimed:
            found.append("it is not claimed")
        if not self.powered:
            found.append("its motors are off")
        if not self.standing:
            found.append(NOT_STANDING)
        return tuple(found)

    def apply(self, command: Command) -> Outcome:
        """Carries out a command, or refuses it and changes nothing."""
        refusal = self._refusal(command)
        if refusal:
            return Outcome(False, f"{command} is refused: {refusal}")
        effect = _EFFECTS[command]
        for name in ("claimed", "powered", "standing", "estop"):
            value = getattr(effect, name)
            if value is not None:
                setattr(self, name, value)
        return Outcome(True, effect.text, effect.stops)

    def _refusal(self, command: Command) -> str:
        if command not in _ALWAYS and not self.claimed:
            return "claim the agent first"
        if command in (Command.POWER_ON, Command.STAND) and self.estop is not Estop.NONE:
            return f"release the {self.estop} emergency stop first"
        if command is Command.STAND and not self.powered:
            return "power it on first"
        if command is Command.ESTOP_GENTLE and self.estop is Estop.HARD:
            return "the hard emergency stop is engaged already"
        return ""
