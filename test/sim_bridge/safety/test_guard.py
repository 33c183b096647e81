"""What takes a robot some seconds, when only a stop is heard; and why it may not move at all."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from walker import (
    EPISODE,
    HOUSE,
    ROBOT,
    WALK,
    ZONE,
    Walker,
    guarded,
    let_pass,
    made,
    options,
    refused_by,
    stops,
)

from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.primitive import PrimitiveCode, PrimitiveResult
from sim_bridge.one_robot import Command, Estop, Outcome
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.guard import (
    Concern,
    Entry,
    Mode,
    Order,
    Severity,
    Watch,
    meanwhile,
    not_allowed,
    speed_limit,
    zone_ahead,
    zone_at,
)
from sim_bridge.safety.health import Fault, Health, Lease, SpeedLimit
from sim_bridge.safety.options import Rule

BEFORE = {
    Command.POWER_ON: (Command.CLAIM,),
    Command.STAND: (Command.CLAIM, Command.POWER_ON),
    Command.SIT: (Command.CLAIM, Command.POWER_ON, Command.STAND),
    Command.POWER_OFF: (Command.CLAIM, Command.POWER_ON, Command.STAND),
    Command.ESTOP_GENTLE: (Command.CLAIM, Command.POWER_ON, Command.STAND),
}


def at_it(command: Command) -> tuple[SafetyGate, Walker]:
    """A robot that takes some time for a command, and is ready for it."""
    gate, robot = made(ready=False)
    for first in BEFORE[command]:
        assert gate.command(ROBOT, first).success
    robot.slow = {command}
    return gate, robot


@pytest.mark.parametrize("command", list(BEFORE))
def test_it_is_reported_at_the_end_and_nothing_begins_before(command: Command) -> None:
    gate, robot = at_it(command)
    order = gate.order(ROBOT, command)
    let_pass(gate, 1)
    assert order.outcome is None
    assert gate.under_way(ROBOT) == command
    assert f"{command} is under way" in gate.obstacles(ROBOT)
    gate.take_receipts()
    refused_by(gate, gate.start(ROBOT, WALK), Rule.CONSENT, "NOT_READY")
    robot.gets_there = True
    let_pass(gate, 0.2)
    assert order.outcome is not None
    assert order.outcome.success, order.outcome
    assert [(r.command, r.allowed) for r in gate.take_receipts()] == [(command, True)]
    ends_in = {Command.POWER_ON: Mode.POWERED, Command.STAND: Mode.READY, Command.SIT: Mode.POWERED}
    assert gate.mode(ROBOT) is ends_in.get(command, Mode.CLAIMED)


@pytest.mark.parametrize("command", [c for c in BEFORE if c is not Command.ESTOP_GENTLE])
@pytest.mark.parametrize("stop", [Command.STOP, Command.ESTOP_GENTLE, Command.ESTOP_HARD])
def test_a_stop_takes_its_place_at_once(command: Command, stop: Command) -> None:
    gate, robot = at_it(command)
    order = gate.order(ROBOT, command)
    told = gate.order(ROBOT, stop)
    assert robot.operated[-1] is stop
    assert told.outcome is not None
    assert told.outcome.success
    assert order.outcome is not None
    assert not order.outcome.success
    assert f"{stop} took its place" in order.outcome.message
    robot.gets_there = True
    let_pass(gate, 1)
    assert command not in robot.operated[-1:], "what was stopped is not taken up again"
    assert gate.mode(ROBOT) is not Mode.READY or command in (Command.SIT, Command.POWER_OFF)


def test_an_emergency_stop_is_ended_by_a_harder_one_alone() -> None:
    gate, robot = at_it(Command.ESTOP_GENTLE)
    robot.slow.add(Command.ESTOP_HARD)
    gentle = gate.order(ROBOT, Command.ESTOP_GENTLE)
    assert gate.control(ROBOT).estop is Estop.GENTLE, "it holds from the first moment"
    for command in (Command.STAND, Command.POWER_ON, Command.ESTOP_RELEASE, Command.RELEASE):
        refused = gate.order(ROBOT, command).outcome
        assert refused is not None
        assert not refused.success
    stop = gate.order(ROBOT, Command.STOP).outcome
    assert stop is not None
    assert (stop.success, gentle.outcome) == (True, None)
    again = gate.order(ROBOT, Command.ESTOP_GENTLE)
    assert again.outcome is None, "it has not stopped before the first one has ended"
    assert robot.begun == [Command.ESTOP_GENTLE], "nothing holds up its way to the ground"
    hard = gate.order(ROBOT, Command.ESTOP_HARD)
    assert gentle.outcome is not None
    assert robot.begun[-1] is Command.ESTOP_HARD
    robot.gets_there = True
    let_pass(gate, 0.2)
    assert hard.outcome is not None
    assert hard.outcome.success
    assert gate.control(ROBOT).estop is Estop.HARD


def test_another_command_waits_and_a_new_episode_does_too() -> None:
    gate, _ = at_it(Command.STAND)
    gate.order(ROBOT, Command.STAND)
    for command in (Command.STAND, Command.POWER_ON, Command.CLAIM, Command.RELEASE):
        told = gate.order(ROBOT, command).outcome
        assert told is not None
        assert "stand is under way; wait for its end, or stop it" in told.message
    with pytest.raises(PlannerError, match="stand is under way"):
        gate.reset(HOUSE, EPISODE, 0)
    refused = gate.go_home(ROBOT)
    assert "stand is under way" in refused.message


def test_what_is_under_way_at_the_end_is_reported() -> None:
    gate, robot = at_it(Command.STAND)
    order = gate.order(ROBOT, Command.STAND)
    gate.close()
    assert order.outcome is not None
    assert order.outcome.message == "the world was closed"
    assert robot.operated[-3:] == [Command.SIT, Command.POWER_OFF, Command.RELEASE]


# Its parts by themselves


@pytest.mark.parametrize("under_way", list(Command))
def test_a_hard_emergency_stop_replaces_whatever_is_under_way(under_way: Command) -> None:
    assert meanwhile(under_way, Command.ESTOP_HARD) is None


@pytest.mark.parametrize("under_way", [Command.ESTOP_GENTLE, Command.ESTOP_HARD])
def test_during_an_emergency_stop_softer_stops_are_done_already(under_way: Command) -> None:
    for command in (Command.STOP, Command.ESTOP_GENTLE):
        told = meanwhile(under_way, command)
        assert told == Outcome(True, f"{under_way} is under way, which stops it")
    for command in (Command.SIT, Command.POWER_OFF, Command.STAND, Command.RELEASE):
        assert meanwhile(under_way, command) == Outcome(False, f"{under_way} is under way")


def test_what_calms_takes_the_place_of_another_command_and_nothing_else_does() -> None:
    calms = {Command.STOP, Command.ESTOP_GENTLE, Command.ESTOP_HARD, Command.SIT, Command.POWER_OFF}
    for command in Command:
        told = meanwhile(Command.STAND, command)
        text = f"{command} is refused: stand is under way; wait for its end, or stop it"
        assert told == (None if command in calms else Outcome(False, text))


def look(watch: Watch, now_s: float = 0.0, **fields: object) -> list[Concern]:
    return watch.look(replace(Health(), **fields), now_s)  # type: ignore[arg-type]


def test_a_lease_of_others_is_lost_until_the_operator_claims() -> None:
    watch = Watch(options())
    assert look(watch) == []
    text = "tablet-7 holds the lease; claim the agent again when it is free"
    lost = stops(Rule.LEASE_LOST, "LEASE_LOST", text)
    assert look(watch, lease=Lease.OTHERS, owner="tablet-7") == [lost]
    assert look(watch, lease=Lease.OURS) == [lost], "it comes back, and is not trusted"
    watch.claimed()
    assert look(watch) == []
    text = "somebody else holds the lease; claim the agent again when it is free"
    unnamed = stops(Rule.LEASE_LOST, "LEASE_LOST", text)
    assert look(watch, lease=Lease.OTHERS) == [unnamed]


def test_a_robot_that_was_restarted_has_another_epoch() -> None:
    watch = Watch(options())
    assert look(watch, lease=Lease.FREE, epoch="zero") == [], "before the claim it is not known"
    assert look(watch, epoch="one") == []
    assert look(watch, epoch="") == [], "it did not say"
    text = "the robot was restarted; claim it again"
    lost = stops(Rule.LEASE_LOST, "LEASE_LOST", text)
    assert look(watch, epoch="two") == [lost]
    assert look(watch, epoch="one") == [lost], "nor is the new epoch taken for its own"
    watch.claimed()
    assert look(watch, epoch="two") == []
    assert look(watch, epoch="one") == [lost]


def test_a_link_is_trusted_at_first_and_after_a_loss_when_it_was_good_for_a_while() -> None:
    watch = Watch(options(link={"stale_after_s": 1.0, "good_for_s": 2.0}))
    assert look(watch, 5.0, age_s=1.0) == []
    lost = stops(Rule.LINK_LOST, "COMMS_LOST", "no answer from the robot for 1.5 s")
    assert look(watch, 6.0, age_s=1.5) == [lost]
    text = "the link to the robot is good again only just now"
    fresh = Concern(Rule.LINK_LOST, Severity.REFUSES, "COMMS_LOST", text)
    assert look(watch, 7.0) == [fresh]
    assert look(watch, 8.9) == [fresh]
    assert look(watch, 9.0) == []


@pytest.mark.parametrize(
    ("battery", "severity", "reason", "text"),
    [
        (0.09, Severity.STOPS, "BATTERY_EMPTY", "9%: it sits down and switches off"),
        (0.10, Severity.REFUSES, "BATTERY_DOCK", "10%: it ends what it does and rests"),
        (0.14, Severity.REFUSES, "BATTERY_DOCK", "14%: it ends what it does and rests"),
        (0.15, Severity.REFUSES, "BATTERY_LOW", "15%: it begins nothing new"),
        (0.19, Severity.REFUSES, "BATTERY_LOW", "19%: it begins nothing new"),
        (0.20, Severity.WARNS, "BATTERY_WARN", "20%"),
        (0.29, Severity.WARNS, "BATTERY_WARN", "29%"),
    ],
)
def test_rule_15_says_what_the_battery_allows(
    battery: float, severity: Severity, reason: str, text: str
) -> None:
    concern = Concern(Rule.BATTERY, severity, reason, f"the battery has {text}")
    assert look(Watch(options()), battery=battery) == [concern]


@pytest.mark.parametrize("battery", [0.30, 1.0, None])
def test_rule_15_has_nothing_to_say_of_a_full_or_an_unknown_battery(battery: float | None) -> None:
    assert look(Watch(options()), battery=battery) == []


def test_faults_and_emergency_stops_are_reported_with_what_to_do() -> None:
    faults = (Fault("fall", "FALL", True), Fault("warm", "HEAT", False))
    found = look(Watch(options()), faults=faults, estopped=True, battery=0.25)
    text = "an emergency stop is engaged on the robot; release it where it was pressed"
    assert found == [
        Concern(Rule.BATTERY, Severity.WARNS, "BATTERY_WARN", "the battery has 25%"),
        stops(Rule.FAULTS, "FAULT", "the robot reports the fault fall (FALL)"),
        Concern(Rule.FAULTS, Severity.WARNS, "FAULT", "the robot reports the fault warm (HEAT)"),
        stops(Rule.ESTOP, "ESTOPPED", text),
    ]


def test_rule_11_a_point_on_the_edge_is_in_the_zone() -> None:
    zones = options(keep_out=ZONE).keep_out.zones
    for x, y, inside in (
        (2.5, 0.5, True),
        (2.0, -1.0, True),
        (1.99, 0.0, False),
        (0.5, 2.5, False),
    ):
        zone = zone_at((x, y, 9.0), zones)
        assert (zone is not None and zone.name == "stairs") is inside


# It stops 0.425 m further on, and 0.2 s later 0.1 m more; margin and body are 0.3 m each.
@pytest.mark.parametrize(
    ("yaw", "speed", "radius", "late", "reach"),
    [
        (0.0, 0.5, 0.0, 0.0, 0.725),
        (0.0, 0.5, 0.3, 0.0, 1.025),
        (0.0, 0.5, 0.3, 0.2, 1.125),
        (math.pi, -0.5, 0.3, 0.2, 1.125),
        (math.pi, 0.5, 0.3, 0.2, 0.6),
        (0.0, 0.0, 0.0, 0.2, 0.3),
        (math.pi / 2, 0.5, 0.0, 0.0, 0.3),
    ],
)
def test_rule_11_a_zone_is_ahead_if_it_can_no_longer_stop_before_it(
    yaw: float, speed: float, radius: float, late: float, reach: float
) -> None:
    safety = options(keep_out=ZONE)

    def ahead(distance: float) -> bool:
        base = Pose.planar(2.0 - distance, 0.0, yaw)
        return zone_ahead(base, speed, safety, radius, late) is not None

    assert ahead(reach - 0.001)
    assert not ahead(reach + 0.001)


@pytest.mark.parametrize(("speed", "side"), [(0.5, 1), (-0.5, -1)])
def test_rule_11_ahead_is_where_it_moves(speed: float, side: int) -> None:
    north = {"name": "north", "polygon_m": [[-1, 2], [1, 2], [1, 3], [-1, 3]]}
    safety = options(keep_out={"zones": [north]})
    for yaw, ahead in ((side * math.pi / 2, True), (-side * math.pi / 2, False)):
        found = zone_ahead(Pose.planar(0.0, 1.4, yaw), speed, safety)
        assert (found is not None) is ahead


def test_rule_11_the_zone_that_is_ahead_is_named() -> None:
    far = {"name": "pool", "polygon_m": [[7, 7], [8, 7], [8, 8]]}
    safety = options(keep_out={"zones": [far, *ZONE["zones"]]})
    found = zone_ahead(Pose((1.5, 0.0, 0.0)), 0.5, safety)
    assert found is not None
    assert found.name == "stairs"


def test_rule_9_no_speed_is_above_the_cap_and_a_careful_one_is_slower() -> None:
    assert speed_limit(options(), careful=False) == SpeedLimit(0.5, 0.8)
    assert speed_limit(options(), careful=True) == SpeedLimit(0.25, 0.8)
    capped = options(motion={"careful_speed_m_s": 0.9, "speed_m_s": 0.3, "hard_cap_m_s": 0.4})
    assert speed_limit(capped, careful=True).linear_m_s == 0.4


def test_a_guard_says_why_it_may_not_move_in_the_order_in_which_to_clear_it() -> None:
    held = guarded(options(), ready=False)
    warns = Concern(Rule.BATTERY, Severity.WARNS, "BATTERY_WARN", "low")
    refuses = Concern(Rule.LINK_LOST, Severity.REFUSES, "COMMS_LOST", "fresh")
    held.concerns = [warns, refuses, stops(Rule.ESTOP, "ESTOPPED", "pressed")]
    held.order = Order(Command.CLAIM, Rule.CONSENT, Outcome(True, ""))
    unready = ("it is not claimed", "its motors are off", "it is not standing")
    assert held.unready == (*unready, "claim is under way")
    assert held.obstacles == (*unready, "claim is under way", "fresh", "pressed")
    assert (held.blocking, held.warnings) == (refuses, ("low",))
    assert guarded(options()).obstacles == guarded(options()).warnings == ()
    assert guarded(options()).blocking is None


def test_on_its_way_home_it_stands_up_and_sits_by_itself() -> None:
    going = guarded(options())
    going.control.standing = False
    assert going.hindrances == ("it is not standing",)
    going.home = 3  # type: ignore[assignment]
    assert going.hindrances == ("it is not standing",), "it does something else"
    going.current = going.home
    assert going.hindrances == ()
    going.control.powered = False
    assert going.hindrances == ("its motors are off",)


def test_a_mode_is_one_word() -> None:
    it = guarded(options(), ready=False)
    modes = [it.mode]
    for step in ("claimed", "powered", "standing"):
        setattr(it.control, step, True)
        modes.append(it.mode)
    assert modes == [Mode.OBSERVING, Mode.CLAIMED, Mode.POWERED, Mode.READY]
    it.held = True
    assert it.mode is Mode.PAUSED
    it.held = False
    it.concerns = [stops(Rule.FAULTS, "FAULT", "fell")]
    assert it.mode is Mode.PAUSED
    for rule in (Rule.LEASE_LOST, Rule.LINK_LOST):
        it.concerns = [stops(rule, "LOST", "gone")]
        assert it.mode is Mode.LOST
        it.concerns = [Concern(rule, Severity.REFUSES, "LOST", "just back")]
        assert it.mode is Mode.PAUSED


def test_a_refusal_carries_code_rule_and_identifier() -> None:
    found = not_allowed(ROBOT, Rule.ARM, "PERSON_NEAR", "somebody is there")
    assert found == PrimitiveResult(
        PrimitiveCode.NOT_ALLOWED,
        "agent_0 may not move: somebody is there",
        {"reason": "PERSON_NEAR"},
        rule=12,
    )
    stopped = not_allowed(ROBOT, Rule.ARM, "X", "y", PrimitiveCode.STOPPED)
    assert stopped.code is PrimitiveCode.STOPPED
    assert Entry(ROBOT, WALK, None).name == "navigate"
    assert Entry(ROBOT, WALK, None, action="dock").name == "dock"
