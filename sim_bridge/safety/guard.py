"""The gate's state for each agent: primitives, orders, and checks while it may move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from shapely.geometry import LineString, Point

from planner.world.geometry import Pose, Vec3
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveResult, PrimitiveStatus
from sim_bridge.backend import Handle
from sim_bridge.one_robot import NOT_STANDING, Command, Control, Outcome
from sim_bridge.safety.approvals import Approvals, Attendance
from sim_bridge.safety.health import Health, Lease, SpeedLimit
from sim_bridge.safety.options import Rule, SafetyOptions, Zone

# The operator's commands for motors and posture, which take a robot some seconds.
#
# They do not block: a stop is processed meanwhile.

ESTOPS = frozenset({Command.ESTOP_GENTLE, Command.ESTOP_HARD})
# After these the gate allows no motion, even if the robot did not get them.
HOLDS_IN_ANY_CASE = ESTOPS | {Command.STOP}
# Commands that reduce motion replace the running one.
_CALMS = HOLDS_IN_ANY_CASE | {Command.SIT, Command.POWER_OFF}


@dataclass(slots=True, eq=False)
class Order:
    """A command; `outcome` is set once it has ended.

    Attributes:
        command: the request.
        rule: of its receipt if it fails.
        agreed: what the rules say, before the robot gets it.
        outcome: of the whole command.
    """

    command: Command
    rule: Rule
    agreed: Outcome
    outcome: Outcome | None = None


def meanwhile(under_way: Command, command: Command) -> Outcome | None:
    """The answer to a command while another is running; None if it replaces that one."""
    if command is Command.ESTOP_HARD:
        return None
    if under_way in ESTOPS:
        holds = command in (Command.STOP, Command.ESTOP_GENTLE)
        return Outcome(holds, f"{under_way} is under way{', which stops it' if holds else ''}")
    if command in _CALMS:
        return None
    text = f"{command} is refused: {under_way} is under way; wait for its end, or stop it"
    return Outcome(False, text)


# Continuous checks while an agent may move: rules 6 to 9, 11, 15 and 16.
#
# Pure: state and time are arguments.


class Severity(StrEnum):
    """Effect of a concern."""

    WARNS = "warns"
    REFUSES = "refuses"
    STOPS = "stops"


@dataclass(frozen=True, slots=True)
class Concern:
    """A reason not to move; `reason` is a stable identifier for programs."""

    rule: Rule
    severity: Severity
    reason: str
    text: str


class Watch:
    """State between checks: since when the link is good, and the lease epoch."""

    def __init__(self, options: SafetyOptions) -> None:
        self._options = options
        # The link is trusted from the first message on; after a loss it must be stable for a while.
        self._good_after_s = -math.inf
        self._epoch = ""
        self._lost: Concern | None = None

    def claimed(self) -> None:
        """Clears a lost lease: the operator has just claimed the agent."""
        self._lost = None
        self._epoch = ""

    def look(self, health: Health, now_s: float) -> list[Concern]:
        """The current concerns."""
        found = [*self._lease(health), *self._link(health, now_s)]
        found += battery_concerns(health.battery, self._options)
        found += [
            Concern(
                Rule.FAULTS,
                Severity.STOPS if fault.blocks else Severity.WARNS,
                "FAULT",
                f"the robot reports the fault {fault.name} ({fault.cause})",
            )
            for fault in health.faults
        ]
        if health.estopped:
            text = "an emergency stop is engaged on the robot; release it where it was pressed"
            found.append(Concern(Rule.ESTOP, Severity.STOPS, "ESTOPPED", text))
        return found

    def _lease(self, health: Health) -> list[Concern]:
        if health.lease is Lease.OTHERS:
            who = health.owner or "somebody else"
            text = f"{who} holds the lease; claim the agent again when it is free"
            self._lost = Concern(Rule.LEASE_LOST, Severity.STOPS, "LEASE_LOST", text)
        elif self._epoch and health.epoch and health.epoch != self._epoch:
            text = "the robot was restarted; claim it again"
            self._lost = Concern(Rule.LEASE_LOST, Severity.STOPS, "LEASE_LOST", text)
        if health.lease is Lease.OURS and self._lost is None and health.epoch:
            self._epoch = health.epoch
        return [] if self._lost is None else [self._lost]

    def _link(self, health: Health, now_s: float) -> list[Concern]:
        link = self._options.link
        if health.age_s > link.stale_after_s:
            self._good_after_s = math.inf
            text = f"no answer from the robot for {health.age_s:.1f} s"
            return [Concern(Rule.LINK_LOST, Severity.STOPS, "COMMS_LOST", text)]
        if math.isinf(self._good_after_s) and self._good_after_s > 0:
            self._good_after_s = now_s + link.good_for_s
        if now_s >= self._good_after_s:
            return []
        text = "the link to the robot is good again only just now"
        return [Concern(Rule.LINK_LOST, Severity.REFUSES, "COMMS_LOST", text)]


def battery_concerns(battery: float | None, options: SafetyOptions) -> list[Concern]:
    """Rule 15."""
    if battery is None:
        return []
    steps = options.battery
    text = f"the battery has {battery:.0%}"
    if battery < steps.sit_and_power_off:
        what = (Severity.STOPS, "BATTERY_EMPTY", f"{text}: it sits down and switches off")
    elif battery < steps.finish_and_dock:
        what = (Severity.REFUSES, "BATTERY_DOCK", f"{text}: it ends what it does and rests")
    elif battery < steps.no_new_task:
        what = (Severity.REFUSES, "BATTERY_LOW", f"{text}: it begins nothing new")
    elif battery < steps.warn:
        what = (Severity.WARNS, "BATTERY_WARN", text)
    else:
        return []
    return [Concern(Rule.BATTERY, *what)]


def zone_at(point_m: Vec3, zones: Sequence[Zone]) -> Zone | None:
    """The keep-out zone that contains a target, if any."""
    here = Point(point_m[0], point_m[1])
    return next((zone for zone in zones if zone.shape.covers(here)), None)


def zone_ahead(
    base: Pose, speed_m_s: float, options: SafetyOptions, radius_m: float = 0.0, late_s: float = 0.0
) -> Zone | None:
    """The keep-out zone that an agent is in or can no longer stop before (rule 11).

    The margin counts from the edge of a body of this radius. `late_s` is the total latency of
    state and command.
    """
    x, y, _ = base.position_m
    ahead_m = options.motion.stopping_m(abs(speed_m_s)) + abs(speed_m_s) * late_s + 1e-6
    way = math.copysign(ahead_m, speed_m_s or 1.0)
    end = (x + way * math.cos(base.yaw_rad), y + way * math.sin(base.yaw_rad))
    line, keep_m = LineString([(x, y), end]), options.keep_out.margin_m + radius_m
    zones = options.keep_out.zones
    return next((zone for zone in zones if line.distance(zone.shape) < keep_m), None)


def speed_limit(options: SafetyOptions, *, careful: bool) -> SpeedLimit:
    """Rule 9: speed limit; `careful` near people and while carrying."""
    motion = options.motion
    limit_m_s = motion.careful_speed_m_s if careful else motion.speed_m_s
    return SpeedLimit(min(limit_m_s, motion.hard_cap_m_s), motion.turn_speed_rad_s)


class Mode(StrEnum):
    """What an agent is allowed to do, in one word (SPOT-F6.2)."""

    OBSERVING = "observing"
    CLAIMED = "claimed"
    POWERED = "powered"
    READY = "ready"
    PAUSED = "paused"
    LOST = "lost"


@dataclass(slots=True)
class Entry:
    """A requested primitive; `end` is its status if the gate ended it."""

    agent: str
    primitive: Primitive
    inner: Handle | None
    end: PrimitiveStatus | None = None
    # Name in receipts if it is not a requested primitive.
    action: str = ""

    @property
    def name(self) -> str:
        """Its name in receipts."""
        return self.action or str(self.primitive.name)


@dataclass(slots=True)
class Guard:
    """The gate's state for one agent."""

    control: Control
    watch: Watch
    approvals: Approvals
    attendance: Attendance
    radius_m: float = 0.0
    # The running primitive; None once its end was seen.
    current: Handle | None = None
    # Whether its motion is paused because its executive is silent.
    held: bool = False
    # The primitive that the operator approved with a person near.
    approved: Handle | None = None
    concerns: list[Concern] = field(default_factory=list)
    # The lease owner's name as shown to the operator, and when.
    shown: tuple[str, float] | None = None
    # Docking or undocking, until its end is recorded.
    home: Handle | None = None
    # The command for motors or posture that the robot is carrying out.
    order: Order | None = None
    # Commands already given to bring it to rest, until a person lets it stand again.
    rested: set[Command] = field(default_factory=set)
    # Whether the low battery has sent it to the dock already.
    sent_home: bool = False

    @property
    def blocking(self) -> Concern | None:
        """The first concern that keeps the agent from moving."""
        return next((c for c in self.concerns if c.severity is not Severity.WARNS), None)

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Why the agent may not move, in the order in which to clear them; empty if it may."""
        wrong = [c.text for c in self.concerns if c.severity is not Severity.WARNS]
        return (*self.unready, *wrong)

    @property
    def unready(self) -> tuple[str, ...]:
        """What the operator has not done yet, or the robot is still doing."""
        under_way = [] if self.order is None else [f"{self.order.command} is under way"]
        return (*self.control.obstacles, *under_way)

    @property
    def hindrances(self) -> tuple[str, ...]:
        """What ends its motion; while docking or undocking it stands up and sits by itself."""
        if self.home is None or self.current != self.home:
            return self.control.obstacles
        return tuple(text for text in self.control.obstacles if text != NOT_STANDING)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Problems that do not keep it from moving."""
        return tuple(c.text for c in self.concerns if c.severity is Severity.WARNS)

    @property
    def mode(self) -> Mode:
        """What the agent is allowed to do, in one word."""
        stops = {c.rule for c in self.concerns if c.severity is Severity.STOPS}
        if stops & {Rule.LEASE_LOST, Rule.LINK_LOST}:
            return Mode.LOST
        if not self.control.claimed:
            return Mode.OBSERVING
        if not self.control.powered:
            return Mode.CLAIMED
        if not self.control.standing:
            return Mode.POWERED
        return Mode.PAUSED if self.obstacles or self.held else Mode.READY


def not_allowed(
    agent: str, rule: Rule, reason: str, text: str, code: PrimitiveCode = PrimitiveCode.NOT_ALLOWED
) -> PrimitiveResult:
    """The result of a primitive that a rule of the gate refuses or ends."""
    sentence = f"{agent} may not move: {text}"
    return PrimitiveResult(code, sentence, {"reason": reason}, rule=int(rule))
