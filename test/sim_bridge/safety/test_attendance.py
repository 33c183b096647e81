"""Rule 8: who attends an agent, heard by content on a steady clock, and what silence does."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walker import (
    EPISODE,
    HOUSE,
    LOOK,
    PICK,
    ROBOT,
    WALK,
    Walker,
    made,
    options,
    refused_by,
    result,
)

from planner.world.errors import PlannerError
from planner.world.primitive import PrimitiveCode
from sim_bridge.one_robot import Command
from sim_bridge.safety.approvals import MAX_EXECUTIVES, Attendance, Heartbeat, Step
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.guard import Mode
from sim_bridge.safety.health import Health
from sim_bridge.safety.options import Executive, Rule, SafetyOptions

ONE, OTHER = "planner-1", "script-2"
TIMES = Executive()


class Executives:
    """Executives of a gate, each with its count; time passes by tenths of a second."""

    def __init__(self, gate: SafetyGate) -> None:
        self.gate = gate
        self.sent: dict[str, int] = {}

    def beat(self, *names: str, leaving: bool = False) -> None:
        for name in names:
            self.sent[name] = self.sent.get(name, 0) + 1
            stamp_s = self.gate.now_s() + 1000.0
            self.gate.attend(ROBOT, Heartbeat(name, self.sent[name], stamp_s, leaving))

    def pass_(self, seconds: float, *names: str) -> None:
        for _ in range(round(seconds / 0.1)):
            self.beat(*names)
            self.gate.step(0.1)


def attended(safety: SafetyOptions | None = None) -> tuple[SafetyGate, Walker, Executives]:
    gate, robot = made(safety)
    # Whoever was there while it was made ready has gone.
    gate.attend(ROBOT, Heartbeat("this process", 10**6, 0.0, leaving=True))
    executives = Executives(gate)
    executives.pass_(0.5, ONE)
    return gate, robot, executives


def test_rule_8_a_motion_pauses_continues_ends_and_the_robot_sits() -> None:
    gate, robot, executives = attended()
    walk = gate.start(ROBOT, WALK)
    executives.pass_(2, ONE)
    moving_m = robot.at[0]
    executives.pass_(0.5)
    assert gate.poll(walk).result is None
    assert gate.poll(walk).phase == "paused: no heartbeat"
    assert robot.paused
    assert gate.mode(ROBOT) is Mode.PAUSED
    # 0.3 s and one step.
    assert robot.at[0] - moving_m <= 0.5 * 0.5
    executives.pass_(0.2, ONE)
    assert not robot.paused
    assert gate.poll(walk).phase == "at it"
    executives.pass_(1.3)
    refused_by(gate, walk, Rule.EXECUTIVE_LOST, "EXECUTIVE_LOST")
    assert ONE in result(gate, walk).text
    assert not robot.paused, "nothing is under way that could go on"
    assert robot.speed_m_s == 0.0
    assert Command.SIT not in robot.operated
    executives.pass_(10)
    assert robot.operated.count(Command.SIT) == 1
    executives.pass_(20)
    assert robot.operated.count(Command.SIT) == 1


def test_rule_8_no_walk_is_sent_for_longer_than_its_executive_is_trusted() -> None:
    gate, robot, executives = attended()
    assert math.isinf(robot.limits[-1].until_s), "nobody needs anybody for it"
    gate.start(ROBOT, WALK)
    begun_s = robot.time_s - 0.1
    assert robot.limits[-1].until_s == pytest.approx(begun_s + 0.7)
    executives.pass_(0.2, ONE)
    assert robot.limits[-1].until_s == pytest.approx(begun_s + 0.9)
    executives.pass_(0.3)
    assert robot.limits[-1].until_s == pytest.approx(begun_s + 0.9)
    gate.stop(ROBOT)
    executives.pass_(0.2)
    assert math.isinf(robot.limits[-1].until_s)


def test_rule_8_an_idle_robot_with_an_executive_stays_as_it_is() -> None:
    """A model that thinks for minutes: the heartbeat goes on, and so does the task."""
    gate, robot, executives = attended()
    walk = gate.start(ROBOT, WALK)
    executives.pass_(1, ONE)
    robot.arrive()
    executives.pass_(120, ONE)
    assert result(gate, walk).succeeded
    assert robot.condition.standing
    assert robot.operated == [Command.CLAIM, Command.POWER_ON, Command.STAND]
    assert gate.poll(gate.start(ROBOT, WALK)).result is None


def test_rule_8_it_does_not_sit_down_again_when_the_operator_lets_it_stand() -> None:
    gate, robot, executives = attended()
    walk = gate.start(ROBOT, WALK)
    executives.pass_(12)
    assert not result(gate, walk).succeeded
    assert robot.operated[-1] is Command.SIT
    assert gate.command(ROBOT, Command.STAND).success
    executives.pass_(60)
    assert robot.operated[-1] is Command.STAND, "it is in the operator's hands"
    executives.pass_(1, ONE)
    assert gate.poll(gate.start(ROBOT, WALK)).result is None
    executives.pass_(12)
    assert robot.operated[-1] is Command.SIT, "an executive attended since and was lost"


def test_rule_8_an_operators_word_puts_off_sitting_down() -> None:
    gate, robot, executives = attended()
    executives.pass_(8)
    assert gate.command(ROBOT, Command.STOP).success
    executives.pass_(8)
    assert Command.SIT not in robot.operated
    executives.pass_(3)
    assert robot.operated[-1] is Command.SIT


def test_rule_8_without_an_executive_an_idle_robot_is_the_operators() -> None:
    gate, robot = made(ready=False)
    gate.attend(ROBOT, Heartbeat("this process", 10**6, 0.0, leaving=True))
    for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
        assert gate.command(ROBOT, command).success
    Executives(gate).pass_(60)
    assert robot.condition.standing


def test_rule_8_a_goodbye_at_rest_is_no_loss_and_in_motion_it_is() -> None:
    gate, robot, executives = attended()
    executives.beat(ONE, leaving=True)
    executives.pass_(60)
    assert robot.condition.standing
    refused_by(gate, gate.start(ROBOT, WALK), Rule.EXECUTIVE_LOST, "NOT_ATTENDED")
    executives.pass_(0.3, ONE)
    walk = gate.start(ROBOT, WALK)
    executives.pass_(0.3, ONE)
    executives.beat(ONE, leaving=True)
    gate.step(0.1)
    assert robot.paused
    executives.pass_(1.2)
    refused_by(gate, walk, Rule.EXECUTIVE_LOST, "EXECUTIVE_LOST")
    executives.pass_(60)
    assert robot.condition.standing


def test_rule_8_of_several_executives_the_loss_of_any_counts() -> None:
    gate, robot, executives = attended()
    executives.pass_(0.2, ONE, OTHER)
    walk = gate.start(ROBOT, WALK)
    executives.pass_(0.6, ONE)
    assert robot.paused
    executives.pass_(0.7, ONE)
    refused_by(gate, walk, Rule.EXECUTIVE_LOST, "EXECUTIVE_LOST")
    assert OTHER in result(gate, walk).text
    # Who attends alone from now on is all that counts, and who said goodbye at rest does not.
    walk = gate.start(ROBOT, WALK)
    executives.pass_(20, ONE)
    assert gate.poll(walk).result is None
    gate.stop(ROBOT)
    executives.pass_(0.2, ONE, OTHER)
    executives.beat(OTHER, leaving=True)
    walk = gate.start(ROBOT, WALK)
    executives.pass_(2, ONE)
    assert gate.poll(walk).result is None
    assert not robot.paused


def test_rule_8_an_executive_that_comes_during_a_motion_does_not_bind_it() -> None:
    gate, robot, executives = attended()
    walk = gate.start(ROBOT, WALK)
    executives.pass_(0.3, ONE, OTHER)
    executives.pass_(3, ONE)
    assert gate.poll(walk).result is None
    assert not robot.paused


def test_rule_8_a_goal_that_nobody_attends_is_refused_with_what_to_do() -> None:
    gate, _, executives = attended()
    executives.pass_(1.2)
    refused = gate.start(ROBOT, WALK)
    assert "run `planner attend agent_0`" in result(gate, refused).text
    assert ONE in result(gate, refused).text
    refused_by(gate, refused, Rule.EXECUTIVE_LOST, "NOT_ATTENDED")


def test_rule_8_a_motion_whose_executive_is_late_begins_halted() -> None:
    gate, robot, executives = attended()
    executives.pass_(0.5)
    walk = gate.start(ROBOT, WALK)
    assert robot.paused
    executives.pass_(0.2, ONE)
    assert not robot.paused
    assert gate.poll(walk).result is None


def test_rule_8_what_waits_for_approval_ends_with_its_executive() -> None:
    gate, robot, executives = attended(options())
    pick = gate.start(ROBOT, PICK)
    executives.pass_(0.5)
    assert gate.asked(ROBOT) is not None
    assert not robot.paused
    executives.pass_(1)
    refused_by(gate, pick, Rule.EXECUTIVE_LOST, "EXECUTIVE_LOST")
    assert gate.asked(ROBOT) is None


def test_rule_8_a_paused_motion_can_be_cancelled_and_the_next_one_moves() -> None:
    gate, robot, executives = attended()
    walk = gate.start(ROBOT, WALK)
    executives.pass_(0.6)
    assert robot.paused
    gate.cancel(walk)
    executives.pass_(0.1, ONE)
    assert not robot.paused
    assert result(gate, walk).code is PrimitiveCode.CANCELED
    begun_m = robot.at[0]
    look, walk = gate.start(ROBOT, LOOK), None
    gate.stop(ROBOT)
    walk = gate.start(ROBOT, WALK)
    executives.pass_(0.5, ONE)
    assert gate.poll(look).done
    assert gate.poll(walk).result is None
    assert robot.at[0] > begun_m


def test_rule_8_silence_that_the_middleware_tells_of_counts_at_once() -> None:
    gate, robot, executives = attended()
    gate.start(ROBOT, WALK)
    executives.pass_(0.3, ONE)
    gate.miss(ROBOT, everyone=False)
    gate.step(0.01)
    assert not robot.paused, "it was heard just now: another one is meant"
    gate.miss(ROBOT, everyone=True)
    gate.step(0.01)
    assert robot.paused
    executives.pass_(0.1, ONE)
    assert not robot.paused
    gate.step(0.15)
    assert not robot.paused
    gate.miss(ROBOT, everyone=False)
    gate.step(0.01)
    assert robot.paused


def test_rule_8_attendance_continues_in_the_next_episode() -> None:
    gate, robot, _ = attended()
    gate.start(ROBOT, WALK)
    gate.reset(HOUSE, EPISODE, 0)
    robot.running, robot.speed_m_s = None, 0.0
    for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
        assert gate.command(ROBOT, command).success
    gate.step(0.1)
    assert gate.executives(ROBOT) == (ONE,)
    assert gate.poll(gate.start(ROBOT, WALK)).result is None


@pytest.mark.parametrize("where", ["always", "real"])
def test_rule_8_before_a_simulator_a_pause_is_the_end_where_the_rule_holds(where: str) -> None:
    robot = Simulator()
    safety = options(executive={"where": where})
    gate = SafetyGate(robot, safety, people=tuple, steady_s=robot.now_s)
    gate.reset(HOUSE, EPISODE, 0)
    if where == "real":
        assert gate.poll(gate.start(ROBOT, WALK)).result is None
        return
    refused_by(gate, gate.start(ROBOT, WALK), Rule.EXECUTIVE_LOST, "NOT_ATTENDED")
    executives = Executives(gate)
    executives.pass_(0.2, ONE)
    walk = gate.start(ROBOT, WALK)
    executives.pass_(2, ONE)
    assert gate.poll(walk).result is None
    executives.pass_(0.5)
    refused_by(gate, walk, Rule.EXECUTIVE_LOST, "EXECUTIVE_LOST")


class Simulator(Walker):
    """A world whose agents have no will of their own and cannot be halted in a motion."""

    pause = None  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(simulated=True)
        self.condition = Health()

    def __getattribute__(self, name: str) -> object:
        if name in ("pause", "resume"):
            raise AttributeError(name)
        return super().__getattribute__(name)


# By content


def test_a_repeated_or_an_older_beat_does_not_count() -> None:
    attendance = Attendance(TIMES)
    assert attendance.receive(Heartbeat(ONE, 7), 0.0)
    for sequence in (7, 6, 0):
        assert not attendance.receive(Heartbeat(ONE, sequence), 1.0)
    assert attendance.executives(1.0) == frozenset()
    assert attendance.receive(Heartbeat(ONE, 8), 1.0)
    assert attendance.executives(1.0) == {ONE}


def test_a_goodbye_is_no_way_to_count_again() -> None:
    attendance = Attendance(TIMES)
    attendance.receive(Heartbeat(ONE, 7, leaving=True), 0.0)
    assert attendance.executives(0.0) == frozenset()
    assert not attendance.receive(Heartbeat(ONE, 7), 0.1)
    assert attendance.receive(Heartbeat(ONE, 8), 0.1), "it is back"
    assert attendance.executives(0.1) == {ONE}


@given(ahead_s=st.floats(-1e6, 1e6), late_s=st.floats(0.35, 30.0))
def test_a_beat_that_waited_on_its_way_is_as_old_as_it_is(ahead_s: float, late_s: float) -> None:
    """Of what a stopped process sends all at once when it goes on, the age counts."""
    attendance = Attendance(TIMES)
    base_s = 2e6
    for number in range(1, 20):
        sent_s = base_s + number * 0.1
        attendance.receive(Heartbeat(ONE, number, sent_s + ahead_s), sent_s + 0.002)
    sent_s = base_s + 2.0
    attendance.receive(Heartbeat(ONE, 20, sent_s + ahead_s), sent_s + late_s)
    assert attendance.executives(sent_s + late_s) == frozenset()
    attendance.receive(Heartbeat(ONE, 21, sent_s + late_s + ahead_s), sent_s + late_s + 0.002)
    assert attendance.executives(sent_s + late_s + 0.002) == {ONE}


@pytest.mark.slow
@given(drift=st.floats(-5e-4, 5e-4))
def test_clocks_that_drift_apart_do_not_silence_anybody(drift: float) -> None:
    attendance = Attendance(TIMES)
    for number in range(1, 3601):
        now_s = 1000.0 + number
        attendance.receive(Heartbeat(ONE, number, now_s * (1.0 + drift)), now_s)
        assert attendance.executives(now_s + 0.1) == {ONE}


def test_executives_without_end_are_not_all_remembered() -> None:
    attendance = Attendance(TIMES)
    attendance.receive(Heartbeat(ONE, 1), 0.0)
    attendance.begin(0.0)
    for number in range(10 * MAX_EXECUTIVES):
        attendance.receive(Heartbeat(f"flood-{number}", 1), 0.1)
    assert attendance.executives(0.1) >= {ONE}
    assert len(attendance.executives(0.1)) <= MAX_EXECUTIVES


def test_what_nobody_asked_for_depends_on_nobody() -> None:
    assert Attendance(TIMES).step(1e9) is Step.GOES_ON


def test_a_pause_after_the_end_is_refused() -> None:
    with pytest.raises((PlannerError, ValueError), match="must not be above expire_after_s"):
        options(executive={"pause_after_s": 0.8})
    with pytest.raises((PlannerError, ValueError), match="must not be above stop_after_s"):
        options(executive={"pause_after_s": 2.0})


def test_a_docking_needs_no_executive() -> None:
    gate, robot, executives = attended()
    robot.has_dock = True
    executives.beat(ONE, leaving=True)
    gate.step(0.1)
    assert gate.go_home(ROBOT).success
    executives.pass_(30)
    assert robot.home == ["dock"]
    assert robot.running is not None
    assert not robot.paused
    robot.condition = replace(robot.condition, docked=True)


def test_what_a_world_cannot_do_it_refuses_itself() -> None:
    gate, _, executives = attended()
    executives.pass_(2)
    odd = replace(WALK, name="self_destruct")  # type: ignore[arg-type]
    assert gate.poll(gate.start(ROBOT, odd)).result is None, "the walker's own affair"


# By the clock


def heard(**at_s: float) -> Attendance:
    """Executives that were heard once each, at these times."""
    attendance = Attendance(TIMES)
    for name, now_s in at_s.items():
        attendance.receive(Heartbeat(name, 1), now_s)
    return attendance


def test_a_motion_goes_on_pauses_and_ends_at_the_times_that_are_set() -> None:
    attendance = heard(a=0.0)
    attendance.begin(0.0)
    for now_s, step in ((0.3, Step.GOES_ON), (0.31, Step.PAUSES), (1.0, Step.PAUSES)):
        assert attendance.step(now_s) is step
    assert attendance.step(1.01) is Step.ENDS
    assert attendance.silent_s(0.5) == 0.5
    attendance.end()
    assert (attendance.step(99.0), attendance.silent_s(99.0)) == (Step.GOES_ON, 0.0)


def test_a_motion_depends_on_those_who_attend_or_else_on_those_just_heard() -> None:
    attendance = heard(a=9.5, b=9.9)
    attendance.begin(10.0)
    assert attendance.missing(10.0) == "b"
    assert attendance.until_s() == pytest.approx(10.6)
    late = heard(a=9.5, b=9.4, c=8.9)
    late.begin(10.0)
    assert late.missing(10.0) == "a, b"
    assert late.silent_s(10.0) == pytest.approx(0.6)
    assert late.until_s() == pytest.approx(10.1), "as long as the first of them is trusted"
    late.receive(Heartbeat("b", 2), 10.0)
    assert late.missing(10.0) == "a", "only those that are silent now"
    nobody = heard(a=0.0)
    nobody.begin(10.0)
    assert nobody.until_s() == math.inf


def test_an_agent_is_alone_since_it_lost_its_last_executive_or_its_operator() -> None:
    assert Attendance(TIMES).alone_s(50.0) == 0.0
    attendance = heard(a=10.0, b=12.0)
    assert attendance.alone_s(12.25) == 0.0
    assert attendance.alone_s(15.0) == 3.0
    attendance.operated(14.0)
    assert attendance.alone_s(15.0) == 1.0
    assert attendance.alone_s(13.0) == 0.0
    attendance.hand_over()
    assert attendance.alone_s(99.0) == 0.0
    attendance.receive(Heartbeat("b", 2, leaving=True), 15.0)
    assert attendance.alone_s(99.0) == 0.0, "it has left in order"


def test_whoever_comes_takes_the_place_of_those_that_fell_silent_long_before() -> None:
    attendance = heard(a=10.0, b=11.5)
    attendance.receive(Heartbeat("c", 1), 12.0)
    attendance.receive(Heartbeat("c", 2, leaving=True), 12.1)
    assert attendance.alone_s(20.0) == 8.5, "b was heard only just before"
    needed = heard(a=10.0)
    needed.begin(10.0)
    needed.receive(Heartbeat("c", 1), 12.0)
    needed.receive(Heartbeat("c", 2, leaving=True), 12.1)
    assert needed.alone_s(20.0) == 10.0, "the motion depends on it"
    parting = heard(a=10.0)
    parting.receive(Heartbeat("c", 1, leaving=True), 12.0)
    assert parting.alone_s(20.0) == 10.0, "who leaves takes no place"
    gone = heard(a=10.0)
    gone.receive(Heartbeat("c", 1), 11.5)
    gone.receive(Heartbeat("c", 2, leaving=True), 11.6)
    assert gone.alone_s(20.0) == 0.0


def test_it_is_said_who_was_heard_last_and_how() -> None:
    assert Attendance(TIMES).last_heard(1.0) == ""
    attendance = heard(a=10.0, b=9.0)
    assert attendance.last_heard(12.5) == "a was last heard 2.5 s ago"
    attendance.receive(Heartbeat("b", 2, leaving=True), 11.0)
    assert attendance.last_heard(12.5) == "b said goodbye 1.5 s ago"
    long = Attendance(TIMES)
    long.receive(Heartbeat("x" * 100, 1), 0.0)
    long.begin(0.0)
    assert long.last_heard(1.0) == f"{'x' * 64} was last heard 1.0 s ago"
    assert long.missing(1.0) == "x" * 64


def test_silence_that_is_reported_concerns_those_not_heard_just_now() -> None:
    attendance = heard(a=10.0, b=10.1)
    attendance.miss(10.25, everyone=False)
    assert attendance.executives(10.25) == {"b"}
    assert attendance.attended_within(10.25, 1.0)
    attendance.miss(10.25, everyone=True)
    assert attendance.executives(10.25) == frozenset()
    assert attendance.attended_within(11.1, 1.0), "heard within the second, if not now"
    assert not attendance.attended_within(11.2, 1.0)
    attendance.receive(Heartbeat("a", 2), 10.3)
    assert attendance.executives(10.3) == {"a"}


def test_a_stamp_tells_the_age_by_the_fastest_beat_so_far() -> None:
    attendance = Attendance(TIMES)
    attendance.receive(Heartbeat("a", 1, stamp_s=100.0), 10.0)
    attendance.receive(Heartbeat("a", 2, stamp_s=100.1), 10.6)
    assert attendance.last_heard(10.6) == "a was last heard 0.5 s ago"
    attendance.receive(Heartbeat("a", 3, stamp_s=101.0), 10.7)
    assert attendance.last_heard(10.7) == "a was last heard 0.0 s ago"
    attendance.receive(Heartbeat("a", 4, stamp_s=0.0), 12.0)
    assert attendance.last_heard(12.0) == "a was last heard 0.0 s ago"


def test_of_too_many_the_one_heard_first_is_forgotten_unless_it_is_needed() -> None:
    attendance = heard(first=0.0)
    attendance.begin(0.0)
    for number in range(MAX_EXECUTIVES):
        attendance.receive(Heartbeat(f"e{99 - number}", 1), 1.0 + number)
    assert not attendance.receive(Heartbeat("e98", 1), 99.0)
    assert attendance.receive(Heartbeat("e99", 1), 99.0), "it was forgotten"
    assert not attendance.receive(Heartbeat("first", 1), 99.0)
