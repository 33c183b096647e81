"""What the rules decide, with the words that people and programs are told, at their boundaries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

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
    guarded,
    no_approval,
    options,
    stops,
)

from planner.world.geometry import Pose, Vec3
from planner.world.primitive import (
    MAX_DRIVE_S,
    Capabilities,
    Drive,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
)
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind
from sim_bridge.safety.approvals import Heartbeat
from sim_bridge.safety.guard import Concern, Severity
from sim_bridge.safety.health import Health, SpeedLimit
from sim_bridge.safety.options import Rule, SafetyOptions
from sim_bridge.safety.verdicts import People, Verdicts

PLACE = Primitive(PrimitiveName.PLACE, (1.0, 0.0, 0.5))


class Bench:
    """A robot, its guard and the rules, with nothing in between."""

    def __init__(
        self,
        safety: SafetyOptions | None = None,
        known: Callable[[], Sequence[Vec3]] | None = tuple,
        robot: Walker | None = None,
        *,
        attended: bool = True,
    ) -> None:
        self.safety = safety or no_approval()
        self.robot = robot or Walker()
        self.robot.reset(HOUSE, EPISODE, 0)
        self.robot.condition = Health()
        self.people = People(self.robot, self.safety, known)
        self.rules = Verdicts(self.robot, self.safety, self.people, self.robot.now_s)
        self.guard = guarded(self.safety)
        if attended:
            self.beat(1)

    def beat(self, number: int) -> None:
        self.guard.attendance.receive(Heartbeat("tasks", number), self.robot.now_s())

    def refusal(self, primitive: Primitive) -> tuple[Rule, str, str] | None:
        """Its rule, identifier and sentence."""
        found = self.rules.refusal(ROBOT, self.guard, primitive)
        if found is None:
            return None
        assert found.code is PrimitiveCode.NOT_ALLOWED
        head, _, text = found.text.partition(f"{ROBOT} may not move: ")
        assert head == ""
        return Rule(found.rule), found.evidence["reason"], text

    def why_stop(self, *, reaches: bool = False) -> Concern | None:
        return self.rules.why_stop(ROBOT, self.guard, reaches=reaches)


class Simulated(Walker):
    """One that cannot be supervised."""

    pause = None  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(simulated=True)


# Persons


def test_a_person_is_near_up_to_the_distance_that_is_set() -> None:
    at: list[Vec3] = [(3.0, 1.0, 5.0)]
    bench = Bench(options(people={"near_m": 2.0}), lambda: at)
    bench.robot.at = (1.0, 1.0, 0.0)
    assert bench.people.near(ROBOT)
    for far in ((3.01, 1.0, 0.0), (1.0, 3.01, 0.0), (2.5, 2.5, 0.0)):
        at[:] = [far]
        assert not bench.people.near(ROBOT)
    at.append((2.0, 1.0, 0.0))
    assert bench.people.near(ROBOT)
    assert not Bench(options(people={"where": "never"}), lambda: at).people.near(ROBOT)


def test_a_report_counts_as_long_as_it_is_set_and_no_longer() -> None:
    bench = Bench(options(people={"seen_for_s": 2.0}))
    people, robot = bench.people, bench.robot
    assert people.unknown == "", "nobody has ever reported"
    assert people.report([(9.0, 0.0, 0.0)], age_s=2.0) == ""
    assert people.report([(9.0, 0.0, 0.0)], age_s=-2.0) == ""
    robot.time_s = 2.0
    assert (people.unknown, people.near(ROBOT)) == ("", False)
    robot.time_s = 2.5
    assert people.unknown == "nobody has reported people for 2.5 s; start the tracker again"
    assert people.near(ROBOT)
    assert Bench(options(people={"seen_for_s": 0.5})).people.report([]) == "", "seen just now"
    people.forget()
    assert (people.unknown, people.near(ROBOT)) == ("", False)


def test_a_report_that_cannot_be_used_says_why_until_the_next_one() -> None:
    people = Bench().people
    limit = "more than 1 s (people.seen_for_s); set the tracker's clock or make it faster"
    brief = Bench(options(people={"seen_for_s": 0.1})).people
    assert brief.report([], age_s=0.5).startswith("people are reported 0.5 s old, more than 0.1 s")
    for told, why in (
        (people.report([], age_s=1.5), f"people are reported 1.5 s old, {limit}"),
        (
            people.report([(0.0, math.inf, 0.0)]),
            "a person is reported at a place that is not a number; report finite metres",
        ),
        (
            people.report([], frame="odom"),
            "people are reported in the frame 'odom'; report them in 'map'",
        ),
        (people.unusable("garbled"), "garbled"),
    ):
        assert told == why
    assert people.unknown == "garbled"
    assert people.near(ROBOT)
    assert people.report([(9.0, 0.0, 0.0)]) == ""
    assert (people.unknown, people.near(ROBOT)) == ("", False)


def test_in_a_simulator_persons_are_where_they_are() -> None:
    def agent(name: str, class_name: str, kind: EntityKind, x: float) -> EntityState:
        pose = Pose((x, 0.0, 0.0))
        return EntityState(name, kind, class_name, 0, pose, (1, 1, 1), None, None, None)

    class Peopled(Walker):
        def world_state(self) -> WorldState | None:
            found = (
                agent("anna", "human", EntityKind.AGENT, 1.0),
                agent("spot", "robot", EntityKind.AGENT, 2.0),
                agent("human_0", "human", EntityKind.OBJECT, 3.0),
            )
            return WorldState(0.0, 0, 0, "hall", "hall", {one.name: one for one in found})

    bench = Bench(robot=Peopled(), known=None)
    assert list(bench.people.true_positions()) == [(1.0, 0.0, 0.0)]
    assert bench.people.near(ROBOT)
    bench.robot.at = (8.0, 0.0, 0.0)
    assert not bench.people.near(ROBOT)
    nobody = Bench(known=None)
    assert list(nobody.people.true_positions()) == []
    assert not nobody.people.near(ROBOT)


# Refusals


def test_rule_17_a_refusal_names_all_that_is_not_done_yet() -> None:
    bench = Bench()
    bench.guard.control.powered = bench.guard.control.standing = False
    text = "its motors are off, and it is not standing"
    assert bench.refusal(WALK) == (Rule.CONSENT, "NOT_READY", text)


def test_a_concern_refuses_with_its_own_words_and_a_warning_does_not() -> None:
    bench = Bench()
    bench.guard.concerns = [Concern(Rule.BATTERY, Severity.WARNS, "BATTERY_WARN", "low")]
    assert bench.refusal(WALK) is None
    bench.guard.concerns += [Concern(Rule.LINK_LOST, Severity.REFUSES, "COMMS_LOST", "fresh")]
    assert bench.refusal(WALK) == (Rule.LINK_LOST, "COMMS_LOST", "fresh")


def test_rule_8_a_robot_may_start_paused_and_a_simulator_may_not() -> None:
    bench = Bench()
    bench.robot.time_s = 1.0
    assert bench.refusal(WALK) is None
    bench.robot.time_s = 1.1
    text = "no executive attends (tasks was last heard 1.1 s ago); run `planner attend agent_0`"
    unattended = (Rule.EXECUTIVE_LOST, "NOT_ATTENDED", f"{text}, or a planner that does")
    assert bench.refusal(WALK) == unattended
    always = Bench(no_approval(executive={"where": "always"}), robot=Simulated())
    always.robot.time_s = 0.3
    assert always.refusal(WALK) is None
    always.robot.time_s = 0.4
    assert always.refusal(WALK) is not None
    assert Bench(robot=Simulated(), attended=False).refusal(WALK) is None
    never = Bench(attended=False).refusal(WALK)
    text = "no executive attends; run `planner attend agent_0`, or a planner that does"
    assert never == (Rule.EXECUTIVE_LOST, "NOT_ATTENDED", text)


def test_what_the_world_does_not_know_or_cannot_do_it_refuses_itself() -> None:
    class Armless(Walker):
        def capabilities(self, agent: str) -> Capabilities:
            return replace(super().capabilities(agent), primitives=frozenset({"navigate"}))

    bench = Bench(robot=Armless(), attended=False)
    assert bench.refusal(PICK) is None
    assert bench.refusal(replace(DRIVE, drive=Drive(9.0))) is None
    assert bench.refusal(WALK) is not None
    assert bench.refusal(replace(WALK, name="self_destruct", timeout_s=1e9)) is None


def test_rule_1_a_time_limit_may_be_as_long_as_is_set() -> None:
    bench = Bench(no_approval(motion={"longest_primitive_s": 60}))
    assert bench.refusal(replace(WALK, timeout_s=60.0)) is None
    text = "timeout_s 61.5 is longer than 60 s"
    told = bench.refusal(replace(WALK, timeout_s=61.5))
    assert told == (Rule.COMMANDS_EXPIRE, "TOO_LONG", text)


def driven(bench: Bench, duration_s: float = 0.5, **velocities: float) -> object:
    return bench.refusal(replace(DRIVE, drive=Drive(duration_s, **velocities)))


def test_rule_19_velocities_are_allowed_up_to_their_bounds() -> None:
    bench = Bench()
    for sign in (1, -1):
        assert driven(bench, MAX_DRIVE_S, forward_m_s=sign * 0.5, turn_rad_s=sign * 0.8) is None
    for duration_s in (0.0, -0.5, MAX_DRIVE_S + 0.5):
        text = f"drive_s {duration_s:g} is not above 0 and at most {MAX_DRIVE_S:g}"
        assert driven(bench, duration_s) == (Rule.COMMANDS_EXPIRE, "TOO_LONG", text)
    text = "the arm of a robot is not moved by velocities"
    assert driven(bench, tilt_rad_s=0.1) == (Rule.BOUNDED_SKILLS, "ARM_DRIVEN", text)
    for forward, turn in ((0.51, 0.0), (-0.51, 0.0), (0.0, 0.81), (0.0, -0.81)):
        text = f"{forward:g} m/s and {turn:g} rad/s are more than 0.5 m/s and 0.8 rad/s"
        told = driven(bench, forward_m_s=forward, turn_rad_s=turn)
        assert told == (Rule.SPEED, "TOO_FAST", text)
    assert bench.refusal(replace(DRIVE, drive=None)) is None
    assert driven(Bench(robot=Simulated()), forward_m_s=9.0) is None


def test_rule_11_a_target_in_a_zone_is_refused_by_its_name() -> None:
    bench = Bench(no_approval(keep_out=ZONE))
    into = replace(WALK, target_m=(2.5, 0.0, 0.0))
    told = (Rule.KEEP_OUT, "KEEP_OUT", "the target lies in the keep-out zone 'stairs'")
    assert bench.refusal(into) == told
    bench.robot.at = (1.5, 0.0, 0.0)
    here = replace(WALK, target_m=(1.0, 0.0, 0.0), frame=f"{ROBOT}/base_link")
    assert bench.refusal(here) == told
    assert bench.refusal(replace(here, frame="map")) is None
    # Looks around without a target.
    assert bench.refusal(replace(LOOK, target_m=(2.5, 0, 0), views_rad=((0.0, 0.0),))) is None


# Approval


def test_rule_14_who_is_asked_about_what_and_why() -> None:
    bench = Bench(options())
    ask = bench.rules.why_ask
    assert ask(ROBOT, bench.guard, WALK) == ""
    assert ask(ROBOT, bench.guard, CUP) == "no pick of a cup was approved yet"
    assert ask(ROBOT, bench.guard, LOOK) == ""
    near = Bench(options(), lambda: [(1.0, 0.0, 0.0)])
    for primitive in (CUP, LOOK, DRIVE):
        assert near.rules.why_ask(ROBOT, near.guard, primitive) == "a person is near"
    assert near.rules.why_ask(ROBOT, near.guard, WALK) == ""
    off = Bench(no_approval(), lambda: [(1.0, 0.0, 0.0)])
    assert off.rules.why_ask(ROBOT, off.guard, CUP) == ""
    assert off.rules.why_ask(ROBOT, off.guard, DRIVE) == "a person is near"
    alone = Bench(no_approval())
    why = "no drive by velocities was approved yet"
    assert alone.rules.why_ask(ROBOT, alone.guard, DRIVE) == why
    simulated = Bench(options(), robot=Simulated())
    for primitive in (CUP, OPEN, DRIVE):
        assert simulated.rules.why_ask(ROBOT, simulated.guard, primitive) == ""


def test_nobody_is_asked_about_what_one_hand_cannot_do() -> None:
    bench = Bench()
    empty = PrimitiveResult(PrimitiveCode.HAND_EMPTY, "the hand holds nothing")
    full = PrimitiveResult(PrimitiveCode.HAND_FULL, "the hand already holds something")
    assert bench.rules.cannot(ROBOT, PLACE) == empty
    assert bench.rules.cannot(ROBOT, PICK) is None
    bench.robot.held = True
    assert bench.rules.cannot(ROBOT, PICK) == full
    assert bench.rules.cannot(ROBOT, PLACE) is None
    assert bench.rules.cannot(ROBOT, OPEN) is None

    class TwoHanded(Walker):
        def capabilities(self, agent: str) -> Capabilities:
            return replace(super().capabilities(agent), hands=2)

    both = Bench(robot=TwoHanded())
    assert both.rules.cannot(ROBOT, PLACE) is None


# While it moves


def test_rules_8_and_9_commands_are_slow_and_short_lived_as_they_should_be() -> None:
    at: list[Vec3] = []
    bench = Bench(no_approval(), lambda: at)
    bench.guard.attendance.begin(0.0)
    assert bench.rules.limit(ROBOT, bench.guard) == SpeedLimit(0.5, 0.8, until_s=0.7)
    bench.robot.held = True
    assert bench.rules.limit(ROBOT, bench.guard).linear_m_s == 0.25
    bench.robot.held = False
    at.append((1.0, 0.0, 0.0))
    assert bench.rules.limit(ROBOT, bench.guard) == SpeedLimit(0.25, 0.8, until_s=0.7)
    simulated = Bench(robot=Simulated())
    simulated.guard.attendance.begin(0.0)
    assert simulated.rules.limit(ROBOT, simulated.guard).until_s == math.inf


def test_rule_8_silence_pauses_a_robot_and_ends_a_simulated_motion() -> None:
    bench = Bench()
    simulated = Bench(no_approval(executive={"where": "always"}), robot=Simulated())
    for one in (bench, simulated):
        one.guard.attendance.begin(0.0)
        one.robot.time_s = 0.3
        assert not one.rules.pauses(one.guard)
        assert one.why_stop() is None
        one.robot.time_s = 0.5
    assert bench.rules.pauses(bench.guard)
    assert bench.why_stop() is None
    assert not simulated.rules.pauses(simulated.guard)
    text = "the executive tasks was not heard for 0.5 s"
    assert simulated.why_stop() == stops(Rule.EXECUTIVE_LOST, "EXECUTIVE_LOST", text)
    bench.robot.time_s = 1.5
    text = "the executive tasks was not heard for 1.5 s"
    assert bench.why_stop() == stops(Rule.EXECUTIVE_LOST, "EXECUTIVE_LOST", text)
    free = Bench(no_approval(executive={"where": "never"}))
    free.guard.attendance.begin(0.0)
    free.robot.time_s = 1.5
    assert free.why_stop() is None
    assert not free.rules.pauses(free.guard)


def test_only_what_stops_ends_a_motion_under_way() -> None:
    bench = Bench()
    stop = stops(Rule.ESTOP, "ESTOPPED", "pressed")
    refuses = Concern(Rule.BATTERY, Severity.REFUSES, "BATTERY_LOW", "low")
    bench.guard.concerns = [refuses]
    assert bench.why_stop() is None
    bench.guard.concerns = [refuses, stop]
    assert bench.why_stop() == stop


def test_rule_17_it_stops_when_it_is_no_longer_ready() -> None:
    bench = Bench()
    bench.guard.control.powered = bench.guard.control.standing = False
    text = "its motors are off, and it is not standing"
    assert bench.why_stop() == stops(Rule.CONSENT, "NOT_READY", text)


def test_rule_12_a_person_stops_the_arm_only() -> None:
    bench = Bench(options(people={"near_m": 1.5}), lambda: [(1.0, 0.0, 0.0)])
    assert bench.why_stop() is None
    text = "a person came within 1.5 m of the moving arm"
    assert bench.why_stop(reaches=True) == stops(Rule.ARM, "PERSON_NEAR", text)
    bench.people.unusable("garbled")
    assert bench.why_stop(reaches=True) == stops(Rule.ARM, "PERSON_NEAR", "garbled")
    assert Bench().why_stop(reaches=True) is None


def test_rule_11_it_stops_before_a_zone_the_sooner_the_later_it_hears() -> None:
    bench = Bench(no_approval(keep_out=ZONE))
    bench.robot.at, bench.robot.speed_m_s = (0.9, 0.0, 0.0), 0.5
    assert bench.why_stop() is None
    bench.robot.condition = replace(bench.robot.condition, round_trip_s=0.2)
    text = "the keep-out zone 'stairs' is right ahead"
    told = stops(Rule.KEEP_OUT, "KEEP_OUT", text)
    assert bench.why_stop() == told
    bench.robot.speed_m_s = 0.0
    assert bench.why_stop() is None, "an arm beside a zone may work"
    simulated = Bench(no_approval(keep_out=ZONE), robot=Simulated())
    simulated.robot.at, simulated.robot.speed_m_s = (0.9, 0.0, 0.0), 0.5
    assert simulated.why_stop() is None
    simulated.robot.at = (1.0, 0.0, 0.0)
    assert simulated.why_stop() == told
