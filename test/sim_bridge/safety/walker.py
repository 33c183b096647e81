"""A world made of records, for tests of the gate: a robot that walks along x."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner.world.episode import AgentPlacement, Episode
from planner.world.geometry import Pose, Vec3
from planner.world.house import House
from planner.world.observation import CameraFrame, Intrinsics, Observation
from planner.world.primitive import (
    Capabilities,
    Drive,
    DriveLimits,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    PrimitiveStatus,
    all_primitives,
)
from planner.world.state import WorldState
from planner.world.vocabulary import AgentKind
from sim_bridge.backend import Handle
from sim_bridge.one_robot import Command, Control, Outcome
from sim_bridge.safety.approvals import Approvals, Attendance, Question
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.guard import Concern, Guard, Severity, Watch
from sim_bridge.safety.health import Health, Lease, SpeedLimit
from sim_bridge.safety.options import Rule, SafetyOptions
from sim_bridge.safety.order_executor import Reply

ROBOT = "agent_0"
WALK = Primitive(PrimitiveName.NAVIGATE, (5.0, 0.0, 0.0))
PICK = Primitive(PrimitiveName.PICK, (1.0, 0.0, 0.5))
CUP = replace(PICK, thing_class="cup")
KNIFE = replace(PICK, target_m=(1.1, 0.0, 0.5), thing_class="knife")
OPEN = Primitive(PrimitiveName.OPEN, (1.0, 0.0, 0.5))
DRIVE = Primitive(PrimitiveName.DRIVE, drive=Drive(0.5, forward_m_s=0.2))
LOOK = Primitive(PrimitiveName.LOOK, (1.0, 0.0, 0.5))
# A camera at the map's origin that looks along x: its x is the map's -y and its y the map's -z.
VIEW = CameraFrame(
    rgb=np.zeros((100, 100, 3), np.uint8),
    depth_m=np.where(np.arange(100)[:, None] < 90, 2.0, 0.0).repeat(100, axis=1).astype(np.float32),
    instances=None,
    intrinsics=Intrinsics(100, 100, 100.0, 100.0, 50.0, 50.0),
    pose=Pose((0.0, 0.0, 0.0), (-0.5, 0.5, -0.5, 0.5)),
)
HOUSE = House.model_validate(
    {
        "version": 1,
        "name": "hall",
        "rooms": [
            {
                "name": "hall_1",
                "class_name": "hallway",
                "polygon_m": [(-9, -9), (9, -9), (9, 9), (-9, 9)],
            }
        ],
    }
)
EPISODE = Episode(
    version=1,
    episode_id="hall",
    house="hall",
    instruction="",
    agents=(AgentPlacement(uid=ROBOT, kind=AgentKind.ROBOT),),
    objects=(),
)


class Walker:
    """A robot that walks along x at 0.5 m/s while it has something to do."""

    def __init__(self, *, simulated: bool = False) -> None:
        self.simulated = simulated
        self.agents: tuple[str, ...] = ()
        self.time_s = 0.0
        self.at: Vec3 = (0.0, 0.0, 0.0)
        self.speed_m_s = 0.0
        self.running: Handle | None = None
        self.ends: list[PrimitiveResult | None] = []
        self.condition = Health(lease=Lease.FREE, powered=False, standing=False, battery=1.0)
        self.operated: list[Command] = []
        self.taken = self.stowed = 0
        self.deaf: set[Command] = set()
        # What takes it some time, what of that was begun, and whether it has got there.
        self.slow: set[Command] = set()
        self.begun: list[Command] = []
        self.gets_there = False
        self.patience: list[float] = []
        self.sees = False
        self.told: list[Primitive] = []
        self.cleared: list[str] = []
        self.limits: list[SpeedLimit] = []
        self.held = False
        self.closed = 0
        self.has_dock = False
        self.home: list[str] = []
        self.paused = False

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        self.agents = tuple(agent.uid for agent in episode.agents)

    def _knows(self, agent: str) -> None:
        assert agent in self.agents, f"nobody is called {agent!r}"

    def capabilities(self, agent: str) -> Capabilities:
        self._knows(agent)
        limits = DriveLimits(2.0, 2.0, 1.0)
        able = frozenset(all_primitives())
        return Capabilities("robot", able, ("hand",), 1.0, 0.3, False, drive=limits)

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        self._knows(agent)
        base = Pose(self.at)
        return Observation(
            self.time_s,
            agent,
            base,
            base,
            0.0 if self.paused else self.speed_m_s,
            0.0,
            Pose((0.3, 0.0, 0.7)),
            {},
            0.0 if self.held else 1.0,
            self.held,
            {"hand": VIEW} if self.sees and "hand" in cameras else {},
        )

    def world_state(self) -> WorldState | None:
        return None

    def now_s(self) -> float:
        return self.time_s

    def start(self, agent: str, primitive: Primitive) -> Handle:
        handle = Handle(len(self.ends))
        self.told.append(primitive)
        if self.running is not None:
            self.ends.append(PrimitiveResult(PrimitiveCode.BUSY, "busy"))
        else:
            self.ends.append(None)
            self.running = handle
            self.speed_m_s = 0.5 if primitive.name is PrimitiveName.NAVIGATE else 0.0
        return handle

    def poll(self, handle: Handle) -> PrimitiveStatus:
        end = self.ends[handle]
        return PrimitiveStatus("at it" if end is None else "done", 0.0, end)

    def finish(self) -> None:
        """Has done what it does."""
        self._end(PrimitiveCode.SUCCESS)

    def _end(self, code: PrimitiveCode) -> None:
        if self.running is not None:
            self.ends[self.running] = PrimitiveResult(code, code.name)
        self.running, self.speed_m_s = None, 0.0

    def cancel(self, handle: Handle) -> None:
        if self.running == handle:
            self._end(PrimitiveCode.CANCELED)

    def stop(self, agent: str) -> None:
        self._knows(agent)
        self._end(PrimitiveCode.STOPPED)

    def step(self, dt_s: float) -> None:
        self.time_s += dt_s
        self.at = (self.at[0] + (0.0 if self.paused else self.speed_m_s) * dt_s, self.at[1], 0.0)

    def close(self) -> None:
        self.closed += 1

    # Supervised

    def health(self, agent: str) -> Health:
        self._knows(agent)
        return self.condition

    def obey(self, safety: SafetyOptions) -> None:
        self.safety = safety

    def stow(self, agent: str, within_s: float) -> Outcome:
        self._knows(agent)
        self.stowed += 1
        self.patience = [within_s]
        return Outcome(True, "stowed")

    def begin(self, agent: str, command: Command) -> Outcome | None:
        self._knows(agent)
        if command in self.slow:
            self.begun.append(command)
            return None
        return self.operate(agent, command)

    def ended(self, agent: str) -> Outcome | None:
        self._knows(agent)
        if not self.gets_there:
            return None
        return self.operate(agent, self.begun[-1])

    def operate(self, agent: str, command: Command, within_s: float = 15.0) -> Outcome:
        self._knows(agent)
        self.operated.append(command)
        self.patience.append(within_s)
        if command in self.deaf:
            return Outcome(False, "the robot does not answer")
        change = {
            Command.CLAIM: {"lease": Lease.OURS},
            Command.RELEASE: {"lease": Lease.FREE},
            Command.POWER_ON: {"powered": True},
            Command.POWER_OFF: {"powered": False, "standing": False},
            Command.STAND: {"standing": True},
            Command.SIT: {"standing": False},
        }.get(command, {})
        if command is Command.CLAIM and self.condition.lease is Lease.OTHERS:
            return Outcome(False, f"{self.condition.owner} holds the lease")
        self.condition = replace(self.condition, **change)
        return Outcome(True, f"{command} done")

    def pause(self, agent: str) -> None:
        self._knows(agent)
        self.paused = True

    def resume(self, agent: str) -> None:
        self._knows(agent)
        self.paused = False

    def limit_speed(self, agent: str, limit: SpeedLimit) -> None:
        self._knows(agent)
        self.limits.append(limit)

    def clear_faults(self, agent: str, cause: str) -> None:
        self._knows(agent)
        self.cleared.append(cause)
        left = tuple(f for f in self.condition.faults if f.cause != cause)
        self.condition = replace(self.condition, faults=left)

    def dock(self, agent: str) -> Handle | None:
        self._knows(agent)
        return self._home("dock")

    def undock(self, agent: str) -> Handle | None:
        self._knows(agent)
        return self._home("undock")

    def _home(self, deed: str) -> Handle | None:
        if not self.has_dock:
            return None
        self.home.append(deed)
        return self.start(ROBOT, WALK)

    def arrive(self, code: PrimitiveCode = PrimitiveCode.SUCCESS) -> None:
        """Ends what it does; on the dock, if that was the way to it."""
        on = code is PrimitiveCode.SUCCESS and self.home[-1:] == ["dock"]
        self.condition = replace(self.condition, docked=on, standing=not on)
        self._end(code)

    def take_lease(self, agent: str) -> Outcome:
        self._knows(agent)
        self.taken += 1
        self.condition = replace(self.condition, lease=Lease.OURS, owner="")
        return Outcome(True, "taken")


def options(**changes: object) -> SafetyOptions:
    return SafetyOptions.model_validate(changes)


# A keep-out zone.
ZONE = {"zones": [{"name": "stairs", "polygon_m": [[2, -1], [3, -1], [3, 1], [2, 1]]}]}


def no_approval(**changes: object) -> SafetyOptions:
    return options(approval={"where": "never"}, **changes)


def made(
    safety: SafetyOptions | None = None,
    people: Callable[[], Sequence[Vec3]] = tuple,
    *,
    ready: bool = True,
) -> tuple[SafetyGate, Walker]:
    robot = Walker()
    gate = SafetyGate(robot, safety or no_approval(), people, steady_s=robot.now_s)
    gate.reset(HOUSE, EPISODE, 0)
    gate.attend(ROBOT)
    if ready:
        for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
            assert gate.command(ROBOT, command).success
        gate.step(0.1)
    return gate, robot


def guarded(safety: SafetyOptions, *, ready: bool = True) -> Guard:
    """What the gate keeps of an agent that is not there."""
    approvals = Approvals(every_grasp=safety.approval.every_grasp)
    attendance = Attendance(safety.executive)
    return Guard(Control(ready=ready), Watch(safety), approvals, attendance, radius_m=0.3)


def stops(rule: Rule, reason: str, text: str) -> Concern:
    return Concern(rule, Severity.STOPS, reason, text)


def asked(gate: SafetyGate) -> Question:
    """What the operator is asked now."""
    found = gate.asked(ROBOT)
    assert found is not None, "nothing is asked"
    return found


def reply(gate: SafetyGate, **fields: Any) -> Outcome:
    """Answers what is asked now; yes, where nothing else is said."""
    given = Reply(**{"question_id": asked(gate).question_id, "approve": True, **fields})
    return gate.answers.answer(ROBOT, given)


def let_pass(gate: SafetyGate, seconds: float, *, attended: bool = True) -> None:
    for _ in range(round(seconds / 0.1)):
        if attended:
            gate.attend(ROBOT)
        gate.step(0.1)


def result(gate: SafetyGate, handle: Handle) -> PrimitiveResult:
    found = gate.poll(handle).result
    assert found is not None, gate.poll(handle)
    return found


def refused_by(gate: SafetyGate, handle: Handle, rule: Rule, reason: str = "") -> None:
    found = result(gate, handle)
    assert found.code is PrimitiveCode.NOT_ALLOWED, found
    assert found.rule == rule, found
    assert not reason or found.evidence["reason"] == reason
    last = [r for r in gate.take_receipts() if not r.allowed][-1]
    assert (last.rule, last.agent) == (rule, ROBOT)
    assert last.reason == found.text
