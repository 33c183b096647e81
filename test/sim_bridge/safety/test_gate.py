"""Each safety rule that the gate keeps, by number, before a world made of records."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.world.episode import AgentPlacement, Episode
from planner.world.geometry import Pose, Vec3
from planner.world.house import House
from planner.world.observation import Observation
from planner.world.primitive import (
    Capabilities,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    PrimitiveStatus,
)
from planner.world.state import WorldState
from planner.world.vocabulary import AgentKind
from sim_bridge.backend import Handle
from sim_bridge.control import Command, Outcome
from sim_bridge.safety.gate import Mode, SafetyGate
from sim_bridge.safety.health import Fault, Health, Lease, SpeedLimit, Supervised
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.safety.rules import KEEPERS, NOTICE, Keeper, Rule

ROBOT = "agent_0"
WALK = Primitive(PrimitiveName.NAVIGATE, (5.0, 0.0, 0.0))
PICK = Primitive(PrimitiveName.PICK, (1.0, 0.0, 0.5))
OPEN = Primitive(PrimitiveName.OPEN, (1.0, 0.0, 0.5))
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
        self.taken = 0
        self.cleared: list[str] = []
        self.limits: list[SpeedLimit] = []
        self.held = False
        self.closed = 0

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        self.agents = tuple(agent.uid for agent in episode.agents)

    def capabilities(self, agent: str) -> Capabilities:
        return Capabilities("robot", frozenset(PrimitiveName), ("hand",), 1.0, 0.3, False)

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        base = Pose(self.at)
        return Observation(
            self.time_s,
            agent,
            base,
            base,
            self.speed_m_s,
            0.0,
            Pose((0.3, 0.0, 0.7)),
            {},
            0.0 if self.held else 1.0,
            self.held,
            {},
        )

    def world_state(self) -> WorldState | None:
        return None

    def now_s(self) -> float:
        return self.time_s

    def start(self, agent: str, primitive: Primitive) -> Handle:
        handle = Handle(len(self.ends))
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

    def _end(self, code: PrimitiveCode) -> None:
        if self.running is not None:
            self.ends[self.running] = PrimitiveResult(code, code.name)
        self.running, self.speed_m_s = None, 0.0

    def cancel(self, handle: Handle) -> None:
        if self.running == handle:
            self._end(PrimitiveCode.CANCELED)

    def stop(self, agent: str) -> None:
        self._end(PrimitiveCode.STOPPED)

    def step(self, dt_s: float) -> None:
        self.time_s += dt_s
        self.at = (self.at[0] + self.speed_m_s * dt_s, self.at[1], 0.0)

    def close(self) -> None:
        self.closed += 1

    # Supervised

    def health(self, agent: str) -> Health:
        return self.condition

    def operate(self, agent: str, command: Command) -> Outcome:
        self.operated.append(command)
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

    def limit_speed(self, agent: str, limit: SpeedLimit) -> None:
        self.limits.append(limit)

    def clear_faults(self, agent: str, cause: str) -> None:
        self.cleared.append(cause)
        left = tuple(f for f in self.condition.faults if f.cause != cause)
        self.condition = replace(self.condition, faults=left)

    def take_lease(self, agent: str) -> Outcome:
        self.taken += 1
        self.condition = replace(self.condition, lease=Lease.OURS, owner="")
        return Outcome(True, "taken")


def options(**changes: object) -> SafetyOptions:
    return SafetyOptions.model_validate(changes)


def no_approval(**changes: object) -> SafetyOptions:
    return options(approval={"where": "never"}, **changes)


def made(
    safety: SafetyOptions | None = None,
    people: Callable[[], Sequence[Vec3]] = tuple,
    *,
    ready: bool = True,
) -> tuple[SafetyGate, Walker]:
    robot = Walker()
    gate = SafetyGate(robot, safety or no_approval(), people)
    gate.reset(HOUSE, EPISODE, 0)
    if ready:
        for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
            assert gate.command(ROBOT, command).success
        gate.step(0.1)
    return gate, robot


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
    assert found.evidence["rule"] == str(int(rule)), found
    assert not reason or found.evidence["reason"] == reason
    last = [r for r in gate.take_receipts() if not r.allowed][-1]
    assert (last.rule, last.agent) == (rule, ROBOT)
    assert last.reason == found.text


def test_the_walker_is_what_the_gate_supervises() -> None:
    assert isinstance(Walker(), Supervised)


def test_every_rule_has_a_keeper() -> None:
    assert set(KEEPERS) == set(Rule)
    assert len(Rule) == 20
    assert Keeper.GATE in KEEPERS.values()


# Rule 1: nothing goes on for ever.
def test_rule_1_no_primitive_is_longer_than_allowed() -> None:
    gate, _ = made(no_approval(motion={"longest_primitive_s": 60}))
    refused_by(gate, gate.start(ROBOT, replace(WALK, timeout_s=61.0)), Rule.COMMANDS_EXPIRE)
    assert gate.poll(gate.start(ROBOT, replace(WALK, timeout_s=60.0))).result is None


# Rule 4
def test_rule_4_an_emergency_stop_on_the_robot_stops_it() -> None:
    gate, robot = made()
    walk = gate.start(ROBOT, WALK)
    robot.condition = replace(robot.condition, estopped=True)
    gate.step(0.1)
    refused_by(gate, walk, Rule.ESTOP, "ESTOPPED")
    assert robot.speed_m_s == 0.0


# Rule 5
def test_rule_5_a_lease_is_taken_only_at_the_second_word_of_a_person_who_saw_the_name() -> None:
    gate, robot = made(ready=False)
    robot.condition = replace(robot.condition, lease=Lease.OTHERS, owner="tablet-7")
    gate.step(0.1)
    assert not gate.command(ROBOT, Command.CLAIM).success
    first = gate.take_lease(ROBOT)
    assert not first.success
    assert "tablet-7" in first.message
    let_pass(gate, 11)
    assert not gate.take_lease(ROBOT).success, "the first word is too long ago"
    assert robot.taken == 0
    assert gate.take_lease(ROBOT).success
    assert robot.taken == 1


# Rule 6
def test_rule_6_a_lost_lease_ends_everything_until_the_operator_claims_again() -> None:
    gate, robot = made()
    walk = gate.start(ROBOT, WALK)
    sent = len(robot.operated)
    robot.condition = replace(robot.condition, lease=Lease.OTHERS, owner="tablet-7")
    gate.step(0.1)
    refused_by(gate, walk, Rule.LEASE_LOST, "LEASE_LOST")
    assert gate.mode(ROBOT) is Mode.LOST
    # Free again: it stays silent all the same.
    robot.condition = replace(robot.condition, lease=Lease.FREE, owner="")
    let_pass(gate, 5)
    assert len(robot.operated) == sent
    assert result(gate, gate.start(ROBOT, WALK)).code is PrimitiveCode.NOT_ALLOWED
    assert gate.command(ROBOT, Command.CLAIM).success
    gate.step(0.1)
    assert gate.poll(gate.start(ROBOT, WALK)).result is None


def test_rule_6_a_robot_started_anew_counts_as_lost() -> None:
    gate, robot = made()
    robot.condition = replace(robot.condition, epoch="one")
    gate.step(0.1)
    walk = gate.start(ROBOT, WALK)
    robot.condition = replace(robot.condition, epoch="two")
    gate.step(0.1)
    refused_by(gate, walk, Rule.LEASE_LOST)


# Rule 7
def test_rule_7_a_lost_link_stops_and_must_be_good_for_a_while() -> None:
    gate, robot = made()
    walk = gate.start(ROBOT, WALK)
    robot.condition = replace(robot.condition, age_s=0.9)
    gate.step(0.1)
    assert gate.poll(walk).result is None
    robot.condition = replace(robot.condition, age_s=1.1)
    gate.step(0.1)
    refused_by(gate, walk, Rule.LINK_LOST, "COMMS_LOST")
    robot.condition = replace(robot.condition, age_s=0.0)
    gate.step(0.1)
    refused_by(gate, gate.start(ROBOT, WALK), Rule.LINK_LOST)
    let_pass(gate, 1.2)
    assert gate.poll(gate.start(ROBOT, WALK)).result is None


# Rule 8
def test_rule_8_who_asked_must_still_be_there_or_it_stops_and_sits_down() -> None:
    gate, robot = made()
    walk = gate.start(ROBOT, WALK)
    let_pass(gate, 3)
    assert gate.poll(walk).result is None
    let_pass(gate, 1.3, attended=False)
    refused_by(gate, walk, Rule.EXECUTIVE_LOST)
    assert Command.SIT not in robot.operated
    let_pass(gate, 10, attended=False)
    assert robot.operated.count(Command.SIT) == 1


# Rules 9 and 12
def test_rules_9_and_12_beside_a_person_it_walks_slowly_and_asks_before_it_reaches() -> None:
    near: list[Vec3] = []
    gate, robot = made(people=lambda: near, safety=options())
    assert robot.limits[-1] == SpeedLimit(0.5, 0.8)
    near.append((1.5, 0.5, 0.0))
    gate.step(0.1)
    assert robot.limits[-1] == SpeedLimit(0.25, 0.8)
    near.clear()
    robot.held = True
    gate.step(0.1)
    assert robot.limits[-1].linear_m_s == 0.25
    robot.held = False
    gate.start(ROBOT, PICK)
    assert gate.answer(ROBOT, approve=True, remember=True).success
    gate.stop(ROBOT)
    near.append((1.5, 0.5, 0.0))
    gate.start(ROBOT, PICK)
    asked = gate.asked(ROBOT)
    assert asked is not None
    assert "person" in asked.why


# Rule 11
ZONE = {"zones": [{"name": "stairs", "polygon_m": [[2, -1], [3, -1], [3, 1], [2, 1]]}]}


def test_rule_11_no_target_in_a_keep_out_zone_in_any_frame() -> None:
    gate, _ = made(no_approval(keep_out=ZONE))
    for frame in ("map", f"{ROBOT}/odom", f"{ROBOT}/base_link"):
        inside = Primitive(PrimitiveName.NAVIGATE, (2.5, 0.0, 0.0), frame)
        refused_by(gate, gate.start(ROBOT, inside), Rule.KEEP_OUT, "KEEP_OUT")


def test_rule_11_it_stops_outside_of_the_margin_even_if_nobody_tells_it_anything_more() -> None:
    gate, robot = made(no_approval(keep_out=ZONE))
    walk = gate.start(ROBOT, WALK)
    let_pass(gate, 8)
    refused_by(gate, walk, Rule.KEEP_OUT)
    x = robot.at[0]
    assert 0.5 < x <= 2.0 - 0.3 - 0.5


# Rule 14
def test_rule_14_hands_wait_for_the_operator() -> None:
    gate, robot = made(options())
    pick = gate.start(ROBOT, PICK)
    assert gate.poll(pick).phase == "waiting for approval"
    let_pass(gate, 1)
    assert robot.running is None
    assert result(gate, gate.start(ROBOT, WALK)).code is PrimitiveCode.BUSY
    assert robot.running is None
    assert gate.answer(ROBOT, approve=True, remember=True).success
    assert robot.running is not None
    gate.stop(ROBOT)
    again = gate.start(ROBOT, PICK)
    assert gate.poll(again).phase == "at it", "a pick was approved for good"
    gate.stop(ROBOT)
    opened = gate.start(ROBOT, OPEN)
    assert gate.answer(ROBOT, approve=True, remember=True).success
    gate.stop(ROBOT)
    opened = gate.start(ROBOT, OPEN)
    assert gate.poll(opened).phase == "waiting for approval", "doors are approved one by one"
    assert gate.answer(ROBOT, approve=False).success
    refused_by(gate, opened, Rule.APPROVAL, "REFUSED")
    assert not gate.answer(ROBOT, approve=True).success


def test_rule_14_no_answer_is_a_refusal_and_cancel_withdraws_the_question() -> None:
    gate, robot = made(options(approval={"timeout_s": 2}))
    pick = gate.start(ROBOT, PICK)
    let_pass(gate, 2.2)
    refused_by(gate, pick, Rule.APPROVAL, "NOT_APPROVED")
    pick = gate.start(ROBOT, PICK)
    gate.cancel(pick)
    assert result(gate, pick).code is PrimitiveCode.CANCELED
    assert gate.asked(ROBOT) is None
    pick = gate.start(ROBOT, PICK)
    gate.stop(ROBOT)
    assert result(gate, pick).code is PrimitiveCode.STOPPED
    assert robot.running is None


def test_rule_14_what_went_wrong_meanwhile_counts_when_the_operator_approves() -> None:
    gate, robot = made(options())
    pick = gate.start(ROBOT, PICK)
    robot.condition = replace(robot.condition, battery=0.18)
    gate.step(0.1)
    assert not gate.answer(ROBOT, approve=True).success
    refused_by(gate, pick, Rule.BATTERY)


# Rule 15
def test_rule_15_the_steps_of_an_emptying_battery() -> None:
    gate, robot = made()
    seen: list[str] = []
    for percent in range(40, 4, -1):
        robot.condition = replace(robot.condition, battery=percent / 100)
        gate.step(0.1)
        if gate.mode(ROBOT) is Mode.READY:
            walk = gate.start(ROBOT, WALK)
            assert gate.poll(walk).result is None
            gate.stop(ROBOT)
            what = "works"
        else:
            what = "rests" if Command.SIT in robot.operated else "begins nothing"
            if Command.POWER_OFF in robot.operated:
                what = "off"
        if not seen or seen[-1] != what:
            seen += [f"{percent}", what]
    assert seen == ["40", "works", "19", "begins nothing", "14", "rests", "9", "off"]


def test_rule_15_a_step_under_way_is_finished_and_a_last_one_is_stopped() -> None:
    gate, robot = made()
    walk = gate.start(ROBOT, WALK)
    robot.condition = replace(robot.condition, battery=0.12)
    let_pass(gate, 1)
    assert gate.poll(walk).result is None
    robot.condition = replace(robot.condition, battery=0.08)
    gate.step(0.1)
    refused_by(gate, walk, Rule.BATTERY, "BATTERY_EMPTY")


# Rule 16
def test_rule_16_faults_stop_and_only_a_lease_timeout_goes_away_by_claiming() -> None:
    gate, robot = made()
    walk = gate.start(ROBOT, WALK)
    fall, timeout = Fault("fall", "FALL", True), Fault("lease", "LEASE_TIMEOUT", True)
    robot.condition = replace(robot.condition, faults=(fall, timeout))
    gate.step(0.1)
    refused_by(gate, walk, Rule.FAULTS, "FAULT")
    assert robot.cleared == []
    assert gate.command(ROBOT, Command.CLAIM).success
    assert robot.cleared == ["LEASE_TIMEOUT"]
    gate.step(0.1)
    refused_by(gate, gate.start(ROBOT, WALK), Rule.FAULTS)
    robot.condition = replace(robot.condition, faults=(Fault("warm", "HEAT", False),))
    gate.step(0.1)
    assert gate.poll(gate.start(ROBOT, WALK)).result is None


# Rule 17
def test_rule_17_a_real_robot_does_nothing_before_each_step_was_asked_for() -> None:
    gate, robot = made(ready=False)
    modes = [gate.mode(ROBOT)]
    for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
        refused_by(gate, gate.start(ROBOT, WALK), Rule.CONSENT)
        assert gate.command(ROBOT, command).success
        gate.step(0.1)
        modes.append(gate.mode(ROBOT))
    assert modes == [Mode.OBSERVING, Mode.CLAIMED, Mode.POWERED, Mode.READY]
    assert robot.operated == [Command.CLAIM, Command.POWER_ON, Command.STAND]
    assert gate.poll(gate.start(ROBOT, WALK)).result is None


def test_rule_17_who_sat_down_or_lost_power_by_itself_is_not_ready() -> None:
    gate, robot = made()
    walk = gate.start(ROBOT, WALK)
    robot.condition = replace(robot.condition, powered=False, standing=False)
    gate.step(0.1)
    refused_by(gate, walk, Rule.CONSENT)
    assert Command.POWER_ON not in robot.operated[3:]


# Rule 18
def test_rule_18_closing_leaves_the_robot_sitting_with_its_motors_off_and_released() -> None:
    gate, robot = made()
    walk = gate.start(ROBOT, WALK)
    gate.close()
    gate.close()
    assert robot.operated[-3:] == [Command.SIT, Command.POWER_OFF, Command.RELEASE]
    assert result(gate, walk).code is PrimitiveCode.STOPPED
    assert robot.closed == 1


# Rule 19
def test_rule_19_there_is_no_way_past_the_named_skills() -> None:
    gate, robot = made()
    public = {name for name in dir(gate) if not name.startswith("_")}
    assert not {name for name in public if "velocity" in name or "twist" in name}
    sent = len(robot.ends)
    odd = replace(WALK, name="self_destruct")  # type: ignore[arg-type]
    gate.start(ROBOT, odd)
    assert len(robot.ends) == sent + 1, "the backend answers UNKNOWN_PRIMITIVE itself"


def test_rule_20_says_what_it_is() -> None:
    assert "no certified safety function" in NOTICE
    assert "tablet" in NOTICE


def test_stop_is_never_refused_and_leaves_a_receipt() -> None:
    gate, robot = made(ready=False)
    assert gate.command(ROBOT, Command.STOP).success
    robot.condition = replace(robot.condition, lease=Lease.OTHERS, age_s=9.0)
    gate.step(0.1)
    assert gate.command(ROBOT, Command.STOP).success
    assert [r.command for r in gate.take_receipts() if r.allowed] == ["stop", "stop"]


def test_what_the_robot_refuses_changes_nothing() -> None:
    gate, robot = made(ready=False)
    robot.condition = replace(robot.condition, lease=Lease.OTHERS, owner="tablet")
    assert not gate.command(ROBOT, Command.CLAIM).success
    assert not gate.control(ROBOT).claimed


def test_simulated_agents_may_do_everything_at_once() -> None:
    robot = Walker(simulated=True)
    robot.condition = Health()
    gate = SafetyGate(robot, options(), people=lambda: [(0.5, 0.0, 0.0)])
    gate.reset(HOUSE, EPISODE, 0)
    for primitive in (WALK, PICK, OPEN):
        handle = gate.start(ROBOT, primitive)
        let_pass(gate, 3, attended=False)
        assert gate.poll(handle).result is None
        gate.cancel(handle)
    assert robot.operated == []


FAULTS = st.sampled_from(
    [
        {"lease": Lease.OTHERS, "owner": "tablet"},
        {"lease": Lease.FREE},
        {"lease": Lease.OURS},
        {"age_s": 3.0},
        {"age_s": 0.0},
        {"estopped": True},
        {"estopped": False},
        {"powered": False, "standing": False},
        {"battery": 0.05},
        {"battery": 0.9},
        {"faults": (Fault("fall", "FALL", True),)},
        {"faults": ()},
        {"epoch": "two"},
    ]
)
DEEDS = st.one_of(
    FAULTS, st.sampled_from(list(Command)), st.sampled_from([WALK, PICK]), st.floats(0.1, 1.5)
)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(st.lists(DEEDS, max_size=25))
def test_who_may_not_move_does_not_move(deeds: list[object]) -> None:
    """F6.4: 1,000 random interleavings of faults and commands."""
    gate, robot = made()
    for deed in deeds:
        if isinstance(deed, dict):
            robot.condition = replace(robot.condition, **deed)
        elif isinstance(deed, Command):
            gate.command(ROBOT, deed)
        elif isinstance(deed, Primitive):
            gate.start(ROBOT, deed)
        elif isinstance(deed, float):
            robot.time_s += deed
        gate.attend(ROBOT)
        gate.step(0.1)
        if gate.obstacles(ROBOT) and any(
            word in text
            for text in gate.obstacles(ROBOT)
            for word in ("lease", "motors", "stop", "standing", "word", "fault")
        ):
            assert robot.speed_m_s == 0.0
        assert math.isfinite(robot.at[0])
        assert robot.taken == 0
