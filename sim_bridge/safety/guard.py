"""The safety gate's state for each agent and each requested primitive."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveResult, PrimitiveStatus
from sim_bridge.backend import Handle
from sim_bridge.control import NOT_STANDING, Command, Control
from sim_bridge.safety.approvals import Approvals
from sim_bridge.safety.attendance import Attendance
from sim_bridge.safety.orders import Order
from sim_bridge.safety.rules import Rule
from sim_bridge.safety.watch import Concern, Severity, Watch


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
    agent: str,
    rule: Rule,
    reason: str,
    text: str,
    code: PrimitiveCode = PrimitiveCode.NOT_ALLOWED,
) -> PrimitiveResult:
    """The result of a primitive that a rule of the gate refuses or ends."""
    sentence = f"{agent} may not move: {text}"
    return PrimitiveResult(code, sentence, {"reason": reason}, rule=int(rule))
