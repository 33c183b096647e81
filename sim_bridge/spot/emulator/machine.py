"""The emulated robot without its protocol: motors, posture, leases, stops and motions.

Time is injected; only `advance` changes anything over time. The rules are those of the SDK's
documentation: commands end at their end time, a lease whose owner falls silent only goes stale,
emergency stops and keepalive policies act by themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from shapely.geometry import Polygon

from planner.world.geometry import Pose
from sim_bridge.spot.emulator.house_world import (
    ArmDrift,
    Docking,
    Grasp,
    GraspState,
    Handle,
    HouseWorld,
    Pull,
    Reach,
    Walk,
)
from sim_bridge.spot.emulator.recorded_graph import FIDUCIAL, FIDUCIAL_IN_MAP, Marker

# The emulator's time, injected so that a run can be stepped and repeated.


class Clock(Protocol):
    """A monotonic clock."""

    def now_s(self) -> float:
        """The current time."""


class SteppedClock:
    """Advances only when stepped."""

    def __init__(self, start_s: float = 1000.0) -> None:
        # A small start: floats near it represent nanoseconds exactly.
        self._now_s = start_s

    def now_s(self) -> float:
        """The current time."""
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Advances the time."""
        self._now_s += seconds


class WallClock:
    """The machine's time of day, as the SDK uses it."""

    def now_s(self) -> float:
        """The current time."""
        return time.time()


# State of keepalive policies and e-stop endpoints.


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


# The body lease: epochs, sequences and staleness, as in the SDK's documentation.

# A lease unused for this long is stale: it is still valid, but any client may acquire it.
STALE_S = 3.0


@dataclass(slots=True)
class LeaseBook:
    """The body's lease; a new epoch invalidates every old lease."""

    epoch: str = "epoch-1"
    root: int = 0
    owner: str = ""
    latest: tuple[int, ...] = ()
    retained_s: float = 0.0
    # A keepalive policy marked it as stale; the next use makes it fresh again.
    forsaken: bool = False

    def give(self, client: str, now_s: float) -> None:
        """Makes a client the owner."""
        self.root += 1
        self.owner, self.latest = client, (self.root,)
        self.retain(now_s)

    def retain(self, now_s: float) -> None:
        """The owner used it."""
        self.retained_s, self.forsaken = now_s, False

    def stale(self, now_s: float) -> bool:
        """Whether another client may acquire it although it has an owner."""
        return bool(self.owner) and (self.forsaken or now_s - self.retained_s > STALE_S)

    def owns(self, epoch: str, sequence: tuple[int, ...]) -> bool:
        """Whether a lease is the owner's, a sublease or a superlease of it."""
        return bool(self.owner) and epoch == self.epoch and sequence[:1] == (self.root,)

    def check(self, epoch: str, sequence: tuple[int, ...]) -> str:
        """OK, or the SDK's status for an invalid lease."""
        if epoch != self.epoch:
            return "STATUS_WRONG_EPOCH"
        if not sequence:
            return "STATUS_INVALID_LEASE"
        if not self.owner or sequence[0] < self.root:
            return "STATUS_REVOKED" if sequence[0] == self.root else "STATUS_OLDER"
        if sequence < self.latest:
            return "STATUS_OLDER"
        self.latest = sequence
        return "STATUS_OK"


# Durations; invented, as no robot was measured.
POWERING_S = 1.5
POSTURE_S = 1.0
GRASP_S = 2.0
GRIPPER_S = 0.5
JOINT_S = 3.0
DOCK_S = 5.0
SETTLE_S = 2.0
MAX_STEP_S = 0.05
# Vertical range of the hand around its usual height in velocity commands.
MAX_LIFT_M, MIN_LIFT_M = 0.5, 0.5
# Levels of an emergency stop, numbered as in the SDK.
CUT, SETTLE, FREE = 1, 2, 4


class Motors(StrEnum):
    """Motor power."""

    OFF = "off"
    POWERING_ON = "powering on"
    ON = "on"


class Posture(StrEnum):
    """The posture."""

    SITTING = "sitting"
    STANDING_UP = "standing up"
    STANDING = "standing"
    SITTING_DOWN = "sitting down"


@dataclass(slots=True)
class Mishaps:
    """Pending faults of the fault script."""

    grasps: int = 0
    places: int = 0
    # Things that perception misses, and until when.
    overlooked: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Machine:
    """The state that the services read and change; guarded by one lock outside."""

    world: HouseWorld
    clock: Clock
    motors: Motors = Motors.OFF
    posture: Posture = Posture.SITTING
    battery_percent: float = 88.0
    skew_s: float = 0.0
    estopped_by_hand: bool = False
    lease: LeaseBook = field(default_factory=LeaseBook)
    policies: dict[int, Policy] = field(default_factory=dict)
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    estop_config: object = None
    behavior_faults: dict[int, str] = field(default_factory=dict)
    service_faults: dict[str, object] = field(default_factory=dict)
    # No-go regions from clients: the message, the region, and its expiry.
    no_go: dict[int, tuple[object, Polygon, float]] = field(default_factory=dict)
    mishaps: Mishaps = field(default_factory=Mishaps)
    walk: Walk | None = None
    reach: Reach | None = None
    grasp: Grasp | None = None
    held_handle: Handle | None = None
    pull: Pull | None = None
    # Markers that the robot sees, wherever it is.
    markers: list[Marker] = field(default_factory=lambda: [Marker(FIDUCIAL, FIDUCIAL_IN_MAP)])
    # Docks by number, with their positions in the map; and the dock that the robot is on, 0 for
    # none.
    docks: dict[int, tuple[float, float]] = field(default_factory=dict)
    docked: int = 0
    docking: Docking | None = None
    gripper: float = 0.0
    gripper_goal: float = 0.0
    # What clients reported about the held object: it can be carried, also with the arm stowed; and
    # whether anything is held at all, if overridden.
    carriable: bool = False
    stowable: bool = False
    holding_said: bool | None = None
    # The arm's goal in `base_link`, and its joints; None: by pan and tilt.
    arm_hand: Pose | None = None
    arm_joints_rad: tuple[float, ...] | None = None
    arm_drift: ArmDrift | None = None
    stowed: bool = True
    numbers: int = 0
    changes_s: float = 0.0
    last_s: float = field(init=False)
    # The gripper's goal in the map.
    tool: tuple[float, float, float] | None = None
    on_step: Callable[[float], None] | None = None

    def __post_init__(self) -> None:
        self.last_s = self.clock.now_s()

    @property
    def now_s(self) -> float:
        """The emulator's time; the robot's own clock is `skew_s` ahead."""
        return self.clock.now_s()

    def next_number(self) -> int:
        """A number for a command, a policy or a fault."""
        self.numbers += 1
        return self.numbers

    @property
    def stop_level(self) -> int:
        """The current stop level: the highest of manual stop and endpoints.

        An endpoint that fell silent counts as one that lets the robot sit down first.
        """
        levels = [
            min(end.level, SETTLE if self.last_s - end.last_s > end.timeout_s else FREE)
            for end in self.endpoints.values()
        ]
        return CUT if self.estopped_by_hand else min(levels, default=FREE)

    @property
    def estopped(self) -> bool:
        """Whether the motors are off or soon will be: by hand, or by an endpoint."""
        return self.stop_level != FREE

    # Effects of commands

    def power(self, *, on: bool) -> None:
        """Switches the motors."""
        if on and self.motors is Motors.OFF:
            self.motors, self.changes_s = Motors.POWERING_ON, self.last_s + POWERING_S
        elif not on:
            self.cut()

    def cut(self) -> None:
        """Cuts motor power; the robot sinks to the ground."""
        self.halt()
        self.motors, self.posture = Motors.OFF, Posture.SITTING
        if self.world.agent.holding is not None and not self.carriable:
            self.world.release(self.world.base.compose(self.world.hand()).position_m)

    def pose(self, *, stand: bool) -> None:
        """Stands up or sits down."""
        self.halt()
        wanted = Posture.STANDING if stand else Posture.SITTING
        if self.posture is not wanted:
            self.posture = Posture.STANDING_UP if stand else Posture.SITTING_DOWN
            self.changes_s = self.last_s + POSTURE_S

    def halt(self) -> None:
        """Ends every motion; posture and motors are unchanged."""
        if self.walk is not None:
            self.walk.ended = True
        if self.grasp is not None and self.grasp.state in (GraspState.WALKING, GraspState.MOVING):
            self.grasp.state = GraspState.FAILED
        self.walk = self.reach = self.pull = self.docking = self.arm_drift = None
        self.world.halt()

    def reboot(self) -> None:
        """Acts as switched off and on again: a new epoch, no owner, motors off."""
        self.cut()
        number = int(self.lease.epoch.rpartition("-")[2]) + 1
        self.lease = LeaseBook(epoch=f"epoch-{number}")
        self.policies.clear()
        self.endpoints.clear()
        self.estop_config = None

    # Time

    def advance(self) -> None:
        """Advances all motions to the current time."""
        now_s = self.clock.now_s()
        while self.last_s < now_s - 1e-12:
            dt_s = min(MAX_STEP_S, now_s - self.last_s)
            if now_s - self.last_s - dt_s < 1e-9:
                dt_s = now_s - self.last_s
            self.last_s = min(now_s, self.last_s + dt_s)
            self._step(dt_s)

    def _step(self, dt_s: float) -> None:
        self._watch_for_silence()
        if self.no_go:
            self.no_go = {n: kept for n, kept in self.no_go.items() if kept[2] >= self.last_s}
            self.world.no_go = [region for _, region, _ in self.no_go.values()]
        if self.motors is not Motors.OFF:
            self._obey_stop(self.stop_level)
        if self.last_s >= self.changes_s:
            self._settle_changes()
        if self.walk is not None and self.posture is Posture.STANDING:
            self._walk(self.walk, dt_s)
        if self.reach is not None:
            self._reach(self.reach, dt_s)
        if self.arm_drift is not None:
            self._drift_arm(self.arm_drift, dt_s)
        opening = self.gripper_goal - self.gripper
        most = dt_s / GRIPPER_S
        self.gripper += max(-most, min(most, opening))
        if self.grasp is not None:
            self._grasp(self.grasp)
        if self.pull is not None:
            self._pull(self.pull)
        if self.docking is not None:
            self._dock(self.docking)
        if self.on_step is not None:
            self.on_step(dt_s)

    def give_lease(self, client: str) -> None:
        """Makes a client the lease's owner; removes policies of earlier leases."""
        self.lease.give(client, self.now_s)
        self.drop_tied_policies()

    def return_lease(self) -> None:
        """Removes the lease's owner, and the policies associated with it."""
        self.lease.owner = ""
        self.drop_tied_policies()

    def drop_tied_policies(self) -> None:
        """Removes each policy with a lease that is no longer valid."""
        book = self.lease
        self.policies = {
            number: policy
            for number, policy in self.policies.items()
            if all(book.owns(epoch, sequence) for epoch, sequence in policy.leases)
        }

    def _watch_for_silence(self) -> None:
        for policy in list(self.policies.values()):
            silent_s = self.last_s - policy.last_s
            if policy.stale_s is not None and silent_s > policy.stale_s:
                self.lease.forsaken = True
            if policy.motors_off_s is None or self.motors is Motors.OFF:
                continue
            if silent_s > policy.motors_off_s:
                if self.walk is not None or self.posture is Posture.STANDING:
                    self.pose(stand=False)
                elif self.posture is Posture.SITTING:
                    self.cut()

    def _obey_stop(self, level: int) -> None:
        if level == CUT or (level == SETTLE and self.posture is Posture.SITTING):
            self.cut()
        elif level == SETTLE and self.posture is not Posture.SITTING_DOWN:
            self.pose(stand=False)

    def _settle_changes(self) -> None:
        if self.motors is Motors.POWERING_ON:
            self.motors = Motors.ON
        if self.posture is Posture.STANDING_UP:
            self.posture = Posture.STANDING
        elif self.posture is Posture.SITTING_DOWN:
            self.posture = Posture.SITTING

    def _walk(self, walk: Walk, dt_s: float) -> None:
        if self.last_s > walk.ends_s + 1e-9:
            walk.ended = True
            self.walk = None
            self.world.halt()
        elif walk.goal is not None:
            there = self.world.walk(walk.goal, walk.speed_m_s, walk.turn_rad_s, dt_s)
            if there and walk.further:
                walk.goal, walk.further = walk.further[0], walk.further[1:]
                return
            walk.arrived = there
            agent = self.world.agent
            walk.blocked = not there and agent.linear_m_s == agent.angular_rad_s == 0.0
            if there:
                self.world.halt()
        else:
            self.world.drift(*walk.velocity, dt_s)

    def _reach(self, reach: Reach, dt_s: float) -> None:
        there = self.world.swing(reach.pan_rad, reach.tilt_rad, reach.lift_m, dt_s)
        if there and not reach.done and self.last_s >= reach.not_before_s:
            reach.done = not reach.stalled
            if reach.done:
                self.arm_hand, self.arm_joints_rad = reach.hand, reach.joints_rad
                self.stowed = reach.stows

    def _drift_arm(self, drift: ArmDrift, dt_s: float) -> None:
        if self.last_s > drift.ends_s:
            self.arm_drift = None
            return
        agent = self.world.agent
        lift_m = self.world.lift_m + drift.up_m_s * dt_s
        self.world.swing(
            agent.pan_rad + drift.around_rad_s * dt_s,
            agent.tilt_rad,
            max(-MIN_LIFT_M, min(MAX_LIFT_M, lift_m)),
            dt_s,
        )

    def _grasp(self, grasp: Grasp) -> None:
        if grasp.state is GraspState.WALKING:
            self._approach(grasp)
        if grasp.state is not GraspState.MOVING or self.last_s < grasp.ready_s:
            return
        if grasp.handle is not None:
            self.held_handle, grasp.state = grasp.handle, GraspState.SUCCEEDED
            self.gripper = self.gripper_goal = 0.1
            return
        slips = self.mishaps.grasps > 0
        self.mishaps.grasps -= slips
        why = self.world.take(grasp.instance, slips=slips)
        grasp.state = GraspState.FAILED if why else GraspState.SUCCEEDED
        self.gripper = self.gripper_goal = 0.0 if why else 0.2
        self.carriable = self.stowable = False

    def _approach(self, grasp: Grasp) -> None:
        """The walk of a grasp; if an obstacle blocks it, the grasp continues from there."""
        walk = grasp.walk
        standing = self.posture is Posture.STANDING
        if walk is not None and not (walk.arrived or walk.ended or (standing and walk.blocked)):
            return
        if self.walk is walk:
            self.walk = None
            self.world.halt()
        grasp.ready_s = self.last_s + GRASP_S
        grasp.state = GraspState.MOVING if grasp.takes else GraspState.DONE

    def _pull(self, pull: Pull) -> None:
        if self.held_handle is None:
            pull.lost = True
            return
        share = max(0.0, min(1.0, (self.last_s - pull.since_s) / JOINT_S))
        self.world.move_joint(pull.handle, pull.start + (pull.goal - pull.start) * share)

    def _dock(self, docking: Docking) -> None:
        if self.last_s > docking.ends_s + 1e-9:
            self.docking = None
        elif docking.since_s is None:
            docking.since_s = self.last_s
        elif self.last_s - docking.since_s >= DOCK_S:
            self.docked, docking.done, self.docking = docking.station, True, None
            self.posture = Posture.SITTING if docking.station else Posture.STANDING

    @property
    def holds(self) -> bool:
        """Whether the robot believes that its gripper holds something."""
        if self.holding_said is not None:
            return self.holding_said
        return self.world.agent.holding is not None or self.held_handle is not None

    def move_gripper(self, fraction: float) -> None:
        """Opens or closes the claw; a held thing falls when it opens."""
        self.gripper_goal = fraction
        if fraction < 0.5:
            return
        self.holding_said = None
        self.held_handle = self.pull = None
        if self.world.agent.holding is not None:
            sticks = self.mishaps.places > 0
            self.mishaps.places -= sticks
            if sticks or self.world.sticks():
                self.gripper_goal = self.gripper
                return
            self.world.release(self.tool_point())
            self.carriable = self.stowable = False

    def tool_point(self) -> tuple[float, float, float]:
        """The gripper's position in the map: its goal, else the hand's position."""
        if self.tool is not None:
            return self.tool
        return self.world.base.compose(self.world.hand()).position_m
