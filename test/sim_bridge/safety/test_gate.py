"""Each safety rule that the gate keeps, by number, before a world made of records."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cases import cases
from walker import (
    CUP,
    DRIVE,
    EPISODE,
    HOUSE,
    LOOK,
    OPEN,
    PICK,
    ROBOT,
    WALK,
    ZONE,
    Walker,
    asked,
    let_pass,
    made,
    no_approval,
    options,
    refused_by,
    reply,
    result,
)

from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.primitive import (
    Drive,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
)
from sim_bridge.backend import BACKENDS
from sim_bridge.one_robot import Command
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.guard import Mode
from sim_bridge.safety.health import Fault, Health, Lease, SpeedLimit, Supervised
from sim_bridge.safety.options import KEEPERS, Keeper, Rule, notice


def test_the_walker_is_what_the_gate_supervises() -> None:
    assert isinstance(Walker(), Supervised)


def test_a_robot_that_cannot_be_supervised_is_refused_with_what_it_lacks() -> None:
    class Headstrong(Walker):
        pause = None  # type: ignore[assignment]

    with pytest.raises(PlannerError, match=r"Headstrong .* lacks pause \(sim_bridge/safety"):
        SafetyGate(Headstrong())


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


def test_rule_4_a_stop_that_the_robot_did_not_hear_still_holds_here_and_says_so() -> None:
    for command in (Command.ESTOP_HARD, Command.ESTOP_GENTLE):
        gate, robot = made()
        robot.deaf = {command}
        walk = gate.start(ROBOT, WALK)
        told = gate.command(ROBOT, command)
        assert not told.success
        assert "does not answer" in told.message
        assert robot.speed_m_s == 0.0
        assert result(gate, walk).code is PrimitiveCode.STOPPED
        gate.step(0.1)
        refused_by(gate, gate.start(ROBOT, WALK), Rule.CONSENT)
        assert not gate.command(ROBOT, Command.POWER_ON).success


# Rule 5
def test_rule_5_a_lease_is_taken_only_when_a_person_who_saw_the_name_confirms() -> None:
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


def test_rule_6_a_robot_started_again_counts_as_lost() -> None:
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
def test_rule_8_without_its_executive_it_stops_and_sits_down() -> None:
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
    gate.start(ROBOT, CUP)
    assert reply(gate, remember_kind=True).success
    gate.stop(ROBOT)
    near.append((1.5, 0.5, 0.0))
    gate.start(ROBOT, CUP)
    assert "person" in asked(gate).why


def test_rule_12_a_person_who_comes_near_stops_an_arm_that_nobody_approved() -> None:
    near: list[Vec3] = []
    gate, _ = made(people=lambda: near, safety=options())
    for primitive, waits in ((LOOK, False), (CUP, True)):
        near.clear()
        running = gate.start(ROBOT, primitive)
        if waits:
            assert reply(gate, remember_kind=True).success
            gate.stop(ROBOT)
            running = gate.start(ROBOT, primitive)
        gate.attend(ROBOT)
        gate.step(0.1)
        assert gate.poll(running).result is None
        near.append((1.5, 0.5, 0.0))
        gate.step(0.1)
        refused_by(gate, running, Rule.ARM, "PERSON_NEAR")
    # With the operator's word it goes on beside a person, looking as well.
    running = gate.start(ROBOT, LOOK)
    assert asked(gate).why == "a person is near"
    assert reply(gate).success
    gate.step(0.1)
    assert gate.poll(running).result is None


def test_rules_9_and_12_persons_are_where_somebody_reports_them_and_silence_counts_as_one() -> None:
    gate, robot = made(safety=options())
    slow, fast = SpeedLimit(0.25, 0.8), SpeedLimit(0.5, 0.8)
    assert gate.people.report([(1.0, 0.0, 0.0)]) == ""
    gate.step(0.1)
    assert robot.limits[-1] == slow
    assert gate.warnings(ROBOT) == ()
    assert gate.people.report([(5.0, 0.0, 0.0)]) == ""
    gate.step(0.1)
    assert robot.limits[-1] == fast
    # Who reported and fell silent may miss somebody: that is told, and care taken.
    let_pass(gate, 1.3)
    assert robot.limits[-1] == slow
    assert "start the tracker again" in gate.warnings(ROBOT)[0]
    look = gate.start(ROBOT, LOOK)
    assert gate.poll(look).phase == "waiting for approval"
    gate.stop(ROBOT)
    assert gate.people.report([]) == ""
    gate.step(0.1)
    assert robot.limits[-1] == fast
    gate.reset(HOUSE, EPISODE, 0)
    assert gate.people.unknown == ""


@pytest.mark.parametrize(
    ("frame", "age_s", "x", "words"),
    [
        ("odom", 0.0, 9.0, "in the frame 'odom'; report them in 'map'"),
        ("", 0.0, 9.0, "in the frame ''"),
        ("map", 1.5, 9.0, "1.5 s old, more than 1 s .people.seen_for_s.; set the tracker's clock"),
        ("map", -5.0, 9.0, "5.0 s ahead of time"),
        ("map", math.nan, 9.0, "people.seen_for_s"),
        ("map", 0.0, math.nan, "a place that is not a number"),
    ],
)
def test_a_report_of_persons_that_cannot_be_used_is_reported_and_counts_as_a_person(
    frame: str, age_s: float, x: float, words: str
) -> None:
    gate, robot = made(safety=options())
    look = gate.start(ROBOT, LOOK)
    told = gate.people.report([(x, 0.0, 0.0)], frame=frame, age_s=age_s)
    assert re.search(words, told)
    gate.attend(ROBOT)
    gate.step(0.1)
    assert robot.limits[-1].linear_m_s == 0.25
    assert gate.warnings(ROBOT) == (told,)
    refused_by(gate, look, Rule.ARM, "PERSON_NEAR")


# Rule 11


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
    assert 0.4 < x <= 2.0 - 0.3 - 0.3 - 0.5 * 0.6, "margin, body, and 0.6 s on its own"


# Rule 15
def test_rule_15_the_steps_of_an_emptying_battery() -> None:
    gate, robot = made()
    seen: list[str] = []
    for percent in range(40, 4, -1):
        robot.condition = replace(robot.condition, battery=percent / 100)
        gate.attend(ROBOT)
        gate.step(0.1)
        assert (f"the battery has {percent}%" in gate.warnings(ROBOT)) == (20 <= percent < 30)
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


def test_rule_17_a_robot_that_sat_down_or_lost_power_by_itself_is_not_ready() -> None:
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
    assert robot.stowed == 1
    assert robot.operated[-3:] == [Command.SIT, Command.POWER_OFF, Command.RELEASE]
    assert result(gate, walk).code is PrimitiveCode.STOPPED
    assert robot.closed == 1


def test_rule_18_a_step_that_fails_delays_no_other_and_all_end_within_their_time() -> None:
    gate, robot = made(no_approval(shutdown_s=8.0))
    robot.deaf = {Command.SIT, Command.POWER_OFF}
    gate.take_receipts()
    gate.close()
    assert robot.operated[-3:] == [Command.SIT, Command.POWER_OFF, Command.RELEASE]
    assert sum(robot.patience) <= 8.0
    told = {receipt.command: receipt.allowed for receipt in gate.take_receipts()}
    assert told == {"stow": True, "sit": False, "power_off": False, "release": True}


# Rule 19
def test_rule_19_there_is_no_way_past_the_named_skills() -> None:
    gate, robot = made()
    public = {name for name in dir(gate) if not name.startswith("_")}
    assert not {name for name in public if "velocity" in name or "twist" in name}
    sent = len(robot.ends)
    odd = replace(WALK, name="self_destruct")  # type: ignore[arg-type]
    gate.start(ROBOT, odd)
    assert len(robot.ends) == sent + 1, "the backend answers UNKNOWN_PRIMITIVE itself"


def test_rule_19_velocities_need_the_operator_whatever_is_set() -> None:
    gate, robot = made(no_approval())
    for primitive in (DRIVE, replace(DRIVE, name="drive")):
        drive = gate.start(ROBOT, primitive)
        assert "no drive by velocities" in asked(gate).why
        assert asked(gate).target_m == robot.at
        let_pass(gate, 0.3)
        assert primitive not in robot.told
        assert reply(gate, target_m=(1.0, 0.0, 0.0)).message.startswith("a drive has no target")
        assert reply(gate, approve=False).success
        refused_by(gate, drive, Rule.APPROVAL, "REFUSED")
    first = gate.start(ROBOT, DRIVE)
    assert reply(gate, remember_kind=True).success
    assert robot.told[-1] == DRIVE
    robot.finish()
    let_pass(gate, 0.1)
    assert result(gate, first).succeeded
    gate.start(ROBOT, DRIVE)
    assert gate.asked(ROBOT) is None, "drives were approved for good"
    robot.finish()
    gate.command(ROBOT, Command.CLAIM)
    let_pass(gate, 0.1)
    gate.start(ROBOT, DRIVE)
    assert asked(gate).what == "drive", "and that ends with the claim"


def test_rule_19_velocities_are_bounded() -> None:
    gate, robot = made()
    told = len(robot.told)
    for drive, rule, reason in (
        (Drive(1.5, forward_m_s=0.1), Rule.COMMANDS_EXPIRE, "TOO_LONG"),
        (Drive(math.nan, forward_m_s=0.1), Rule.COMMANDS_EXPIRE, "TOO_LONG"),
        (Drive(0.5, forward_m_s=1.9), Rule.SPEED, "TOO_FAST"),
        (Drive(0.5, forward_m_s=math.nan), Rule.SPEED, "TOO_FAST"),
        (Drive(0.5, turn_rad_s=-1.9), Rule.SPEED, "TOO_FAST"),
        (Drive(0.5, pan_rad_s=0.1), Rule.BOUNDED_SKILLS, "ARM_DRIVEN"),
        (Drive(0.5, tilt_rad_s=math.nan), Rule.BOUNDED_SKILLS, "ARM_DRIVEN"),
    ):
        refused_by(gate, gate.start(ROBOT, replace(DRIVE, drive=drive)), rule, reason)
    assert len(robot.told) == told


def test_rule_19_a_drive_beside_a_person_is_asked_about_each_time() -> None:
    gate, robot = made(no_approval(), people=lambda: [(0.5, 0.0, 0.0)])
    for _ in range(2):
        gate.start(ROBOT, DRIVE)
        assert asked(gate).why == "a person is near"
        assert reply(gate, remember_kind=True).success
        robot.finish()
        let_pass(gate, 0.1)


def test_rule_20_says_what_it_is() -> None:
    told = {name: notice(BACKENDS.get(name).physical_stop) for name in ("ros", "external")}
    assert all("not a certified safety function" in text for text in told.values())
    assert not any("tablet" in text for text in told.values())
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    assert "not a certified safety function" in " ".join(readme.split())


@pytest.mark.needs("sim_bridge/spot")
def test_rule_20_names_the_button_of_a_spots_tablet() -> None:
    told = notice(BACKENDS.get("spot").physical_stop)
    assert "not a certified safety function" in told
    assert "tablet" in told


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
@settings(max_examples=cases(1000), deadline=None)
@given(st.lists(DEEDS, max_size=25))
def test_who_may_not_move_does_not_move(deeds: list[object]) -> None:
    """SPOT-F6.4: 1,000 random interleavings of faults and commands."""
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
