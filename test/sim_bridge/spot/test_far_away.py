"""A robot behind a slow, stalled or lossy link, in real time (rules 1, 4, 5 and 7)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from spot_trial import ROBOT, opened_corner

from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from sim_bridge.backend import Handle
from sim_bridge.one_robot import Command
from sim_bridge.opening import Opened, default_house, open_world
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.guard import Mode, Order
from sim_bridge.safety.health import Lease
from sim_bridge.spot.backend import SpotBackend
from sim_bridge.spot.emulator.faults import LinkRelay, Trouble, TroubleKind
from sim_bridge.spot.emulator.machine import WallClock
from sim_bridge.spot.emulator.server import SpotEmulator
from sim_bridge.spot.permit import TOLERANCE_S
from sim_bridge.spot.routines import WALKING

# In real time.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

STEP_S = 1 / 30
# For a machine that does much else; the limits themselves are measured by benchmarks.
GRACE_S = 1.0


class FarAway:
    """A gate before a robot in real time, with a relay between them."""

    def __init__(self, opened: Opened, emulator: SpotEmulator, relay: LinkRelay) -> None:
        self.emulator, self.relay, self.opened = emulator, relay, opened
        self.backend = SpotBackend()
        self.gate = SafetyGate(self.backend)
        self.gate.reset(opened.house, opened.episode, 0)

    def ready(self) -> None:
        for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
            told = self.gate.command(ROBOT, command)
            assert told.success, told
        self.until(lambda: self.gate.mode(ROBOT) is Mode.READY)

    def until(self, there: Callable[[], bool], within_s: float = 30.0) -> float:
        """Goes on until something holds; how long that took."""
        began_s = time.monotonic()
        while not there():
            assert time.monotonic() - began_s < within_s, "it did not come about"
            self.gate.attend(ROBOT)
            self.gate.step(STEP_S)
            time.sleep(STEP_S)
        return time.monotonic() - began_s

    def let_pass(self, seconds: float) -> None:
        ends_s = time.monotonic() + seconds
        self.until(lambda: time.monotonic() >= ends_s)

    def walk(self) -> Handle:
        self.gate.attend(ROBOT)
        walk = self.gate.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, opened_corner(self.opened)))
        self.until(lambda: self.moves)
        return walk

    @property
    def moves(self) -> bool:
        """Whether the robot moves, as only the emulator knows."""
        self.emulator.advance()
        return self.emulator.world.agent.linear_m_s != 0 or self.emulator.machine.walk is not None

    def order(self, command: Command) -> tuple[Order, float]:
        order = self.gate.order(ROBOT, command)
        return order, self.until(lambda: order.outcome is not None)


@pytest.fixture(scope="module")
def opened() -> Opened:
    return open_world(default_house(), "", 0, 1)


@pytest.fixture
def far(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> Iterator[FarAway]:
    with SpotEmulator(WallClock()) as emulator, LinkRelay(emulator.port) as relay:
        emulator.load(opened.house, opened.episode, 0)
        monkeypatch.setenv("SPOT_IP", emulator.address)
        monkeypatch.setenv("SPOT_PORT", str(relay.port))
        monkeypatch.setenv("SPOT_CERTIFICATE", str(emulator.authority))
        monkeypatch.setenv("BOSDYN_CLIENT_USERNAME", emulator.user)
        monkeypatch.setenv("BOSDYN_CLIENT_PASSWORD", emulator.password)
        made = FarAway(opened, emulator, relay)
        yield made
        relay.change(round_trip_s=0.0, loss=0.0, stalled=False)
        made.gate.close()


@pytest.mark.parametrize("round_trip_s", [0.0, 0.1, 0.3])
def test_rule_4_a_stop_is_answered_after_one_round_trip(far: FarAway, round_trip_s: float) -> None:
    far.ready()
    far.relay.change(round_trip_s=round_trip_s)
    far.walk()
    order, took_s = far.order(Command.STOP)
    assert order.outcome is not None
    assert order.outcome.success, order.outcome
    assert took_s < round_trip_s + GRACE_S
    assert not far.moves
    far.let_pass(1.0)
    assert not far.moves, "no goal that was under way comes after the stop"


def test_rule_4_a_stop_waits_for_no_picture(
    far: FarAway,
) -> None:
    far.ready()
    far.relay.change(round_trip_s=0.3)
    far.walk()
    far.gate.observe(ROBOT, ("hand",))
    began_s = time.monotonic()
    far.gate.stop(ROBOT)
    far.gate.observe(ROBOT, ("hand",))
    far.gate.step(STEP_S)
    assert time.monotonic() - began_s < 0.3, "the main loop itself waits for no answer"
    far.until(lambda: not far.moves)


def test_rule_4_a_stop_that_is_lost_is_sent_again(far: FarAway) -> None:
    far.ready()
    far.walk()
    far.emulator.trouble(Trouble(kind=TroubleKind.DROP_REQUEST, method="RobotCommand", count=2))
    order, _ = far.order(Command.STOP)
    assert order.outcome is not None
    assert order.outcome.success, order.outcome
    assert not far.moves


def test_a_walk_of_200_ms_of_round_trip_arrives_as_fast_as_that_allows(far: FarAway) -> None:
    far.ready()
    far.relay.change(round_trip_s=0.2)
    far.let_pass(1.0)
    walk = far.walk()
    fastest: list[float] = []

    def over() -> bool:
        fastest.append(far.emulator.world.agent.linear_m_s)
        return far.gate.poll(walk).done

    far.until(over, within_s=120.0)
    result = far.gate.poll(walk).result
    assert result is not None
    assert result.succeeded, result
    motion = far.backend.safety.motion
    assert 0.2 < max(fastest) < motion.speed_m_s - 0.05, "slower than beside it, and not by much"


def test_rule_7_a_stalled_link_is_reported_and_the_robot_stands(far: FarAway) -> None:
    far.ready()
    walk = far.walk()
    far.relay.change(stalled=True)
    took_s = far.until(lambda: far.gate.poll(walk).done)
    assert took_s < 1.5 + GRACE_S
    result = far.gate.poll(walk).result
    assert result is not None
    assert result.evidence["reason"] == "COMMS_LOST"
    assert not far.moves
    far.relay.change(stalled=False)
    far.until(lambda: far.gate.obstacles(ROBOT) == ())


def test_rule_7_an_arm_command_that_comes_late_is_followed_by_a_stop(far: FarAway) -> None:
    far.ready()
    agent = far.emulator.world.agent
    before_rad = agent.pan_rad
    far.relay.change(stalled=True)
    # What is sent now may still be on its way when the link is given up.
    far.let_pass(0.6)
    # Behind it: half a turn of the arm.
    behind = far.backend.base.apply((-3.0, 0.1, 0.5))
    look = far.gate.start(ROBOT, Primitive(PrimitiveName.LOOK, behind))
    far.until(lambda: far.gate.poll(look).done)
    result = far.gate.poll(look).result
    assert result is not None
    assert result.evidence["reason"] == "COMMS_LOST"
    far.relay.change(stalled=False)
    far.let_pass(5.0)
    assert abs(agent.pan_rad - before_rad) < math.pi / 2, "it was stopped on the way"


def test_a_lossy_link_stops_and_goes_and_arrives(far: FarAway) -> None:
    far.ready()
    far.relay.change(round_trip_s=0.05, loss=0.02)
    walk = far.walk()
    far.until(lambda: far.gate.poll(walk).done, within_s=120.0)
    result = far.gate.poll(walk).result
    assert result is not None
    assert result.code in (PrimitiveCode.SUCCESS, PrimitiveCode.BACKEND_FAULT)
    if not result.succeeded:
        assert result.evidence["reason"] == "COMMS_LOST"
    far.until(lambda: not far.moves)


def test_rule_1_a_main_loop_that_hangs_lets_no_walk_continue(far: FarAway) -> None:
    far.ready()
    walk = far.walk()
    x, y = far.emulator.world.base.position_m[:2]
    # Nobody steps the gate; the threads live.
    time.sleep(2.0)
    assert not far.moves
    gone_m = math.dist((x, y), far.emulator.world.base.position_m[:2])
    assert gone_m < far.backend.safety.motion.speed_m_s * (0.7 + GRACE_S)
    far.until(lambda: far.moves)
    far.gate.cancel(walk)


def test_rule_8_a_paused_walk_stands_and_continues(far: FarAway) -> None:
    far.ready()
    walk = far.walk()
    far.until(lambda: far.gate.poll(walk).phase == WALKING)
    far.backend.pause(ROBOT)
    far.until(lambda: not far.moves)
    far.let_pass(1.0)
    assert not far.moves
    assert not far.gate.poll(walk).done
    far.backend.resume(ROBOT)
    far.until(lambda: far.moves)
    far.gate.cancel(walk)


def test_rule_8_what_an_arm_does_ends_where_it_would_pause(far: FarAway) -> None:
    far.ready()
    far.gate.attend(ROBOT)
    look = far.gate.start(ROBOT, Primitive(PrimitiveName.LOOK, (3.0, 1.0, 0.5)))
    far.until(lambda: far.gate.poll(look).phase == "looking")
    far.backend.pause(ROBOT)
    result = far.gate.poll(look).result
    assert result is not None
    assert result.evidence["reason"] == "EXECUTIVE_LOST"
    # What is begun meanwhile waits.
    walk = far.backend.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, opened_corner(far.opened)))
    far.let_pass(1.0)
    assert not far.moves
    far.backend.resume(ROBOT)
    far.until(lambda: far.moves)
    far.backend.cancel(walk)


def test_rule_5_another_bridge_is_not_taken_for_this_one(far: FarAway, opened: Opened) -> None:
    """Both call themselves bridges; whose the lease is, the robot's own book says."""
    far.ready()
    other = SafetyGate(SpotBackend())
    other.reset(opened.house, opened.episode, 0)
    refused = other.command(ROBOT, Command.CLAIM)
    assert not refused.success
    assert "holds the lease" in refused.message
    assert other.health(ROBOT).lease is Lease.OTHERS
    # A person takes it for the other: this one notices by the lease, and stays silent.
    assert not other.take_lease(ROBOT).success
    assert other.take_lease(ROBOT).success
    far.until(lambda: far.gate.mode(ROBOT) is Mode.LOST)
    assert far.gate.health(ROBOT).lease is Lease.OTHERS
    assert "holds the lease" in " ".join(far.gate.obstacles(ROBOT))
    other.close()


@pytest.mark.parametrize("count", [1, 2])
def test_rule_5_a_lease_whose_answer_was_lost_is_ours(far: FarAway, count: int) -> None:
    lost = Trouble(kind=TroubleKind.DROP_ANSWER, method="AcquireLease", count=1)
    far.emulator.trouble(lost)
    if count == 2:
        # Nor does the robot tell at once whose it is now.
        far.emulator.trouble(Trouble(kind=TroubleKind.DROP_REQUEST, method="ListLeases", count=4))
        assert not far.gate.command(ROBOT, Command.CLAIM).success
        far.let_pass(1.0)
    told = far.gate.command(ROBOT, Command.CLAIM)
    assert told.success, told
    far.until(lambda: far.gate.health(ROBOT).lease is Lease.OURS)
    assert far.gate.command(ROBOT, Command.POWER_ON).success


def test_rule_3_without_a_policy_the_lease_is_given_back(far: FarAway) -> None:
    lost = Trouble(kind=TroubleKind.DROP_REQUEST, method="ModifyPolicy", count=1)
    far.emulator.trouble(lost)
    assert not far.gate.command(ROBOT, Command.CLAIM).success
    assert far.emulator.machine.lease.owner == ""
    assert far.gate.command(ROBOT, Command.CLAIM).success
    assert far.emulator.machine.policies


@pytest.mark.parametrize("lost", [TroubleKind.DROP_REQUEST, TroubleKind.DROP_ANSWER])
@pytest.mark.parametrize("method", ["ModifyPolicy", "ReturnLease"])
def test_rule_3_a_release_that_was_lost_leaves_no_policy_that_nobody_keeps(
    far: FarAway, lost: TroubleKind, method: str
) -> None:
    """Its time would run out, and switch the motors off whenever they are switched on."""
    assert far.gate.command(ROBOT, Command.CLAIM).success
    far.emulator.trouble(Trouble(kind=lost, method=method, count=1))
    assert not far.gate.command(ROBOT, Command.RELEASE).success
    assert far.gate.command(ROBOT, Command.CLAIM).success
    far.let_pass(far.backend.safety.keepalive.motors_off_after_s + 1.0)
    told = far.gate.command(ROBOT, Command.POWER_ON)
    assert told.success, told
    machine = far.emulator.machine
    assert len(machine.policies) == 1
    (policy,) = machine.policies.values()
    assert machine.last_s - policy.last_s < far.backend.safety.keepalive.motors_off_after_s
    far.order(Command.RELEASE)
    assert machine.lease.owner == ""
    assert not machine.policies


def test_rule_3_a_policy_that_nobody_knows_of_goes_with_the_next_claim(far: FarAway) -> None:
    """The answers to the policy, and to giving the lease back for want of it, are lost."""
    for method in ("ModifyPolicy", "ReturnLease"):
        kind = TroubleKind.DROP_ANSWER if method == "ModifyPolicy" else TroubleKind.DROP_REQUEST
        far.emulator.trouble(Trouble(kind=kind, method=method, count=1))
    assert not far.gate.command(ROBOT, Command.CLAIM).success
    (lost,) = far.emulator.machine.policies
    assert far.gate.command(ROBOT, Command.CLAIM).success
    (kept,) = far.emulator.machine.policies
    assert kept != lost


def set_clock(far: FarAway, ahead_s: float) -> None:
    far.emulator.trouble(Trouble(kind=TroubleKind.CLOCK_SKEW, value=ahead_s))


@pytest.mark.parametrize("step_s", [-0.8, -4.8])
def test_rule_1_no_walk_lives_longer_when_the_robots_clock_is_set_back(
    far: FarAway, step_s: float
) -> None:
    """Ends of walks are in its time; the next answer of any kind tells it."""
    far.ready()
    walk = far.walk()
    set_clock(far, step_s)
    known_s = time.time() + GRACE_S
    far.let_pass(GRACE_S + 1.0)
    sent = [each for each in far.emulator.requests if each.method == "RobotCommand"]
    kinds = [each.request.command.WhichOneof("command") for each in sent]
    assert "full_body_command" in kinds, "the walk that was sent before is stopped"
    lives_s = [
        end.seconds + end.nanos / 1e9 - step_s - each.at_s
        for each in sent
        for mobility in [each.request.command.synchronized_command.mobility_command]
        if each.at_s > known_s and mobility.HasField("se2_trajectory_request")
        for end in [mobility.se2_trajectory_request.end_time]
    ]
    most_s = far.backend.safety.motion.command_ttl_s + TOLERANCE_S
    assert all(each <= most_s for each in lives_s), lives_s
    if step_s < -1.0:
        # Its log would not fit: a person looks first.
        result = far.gate.poll(walk).result
        assert result is not None
        assert "clock" in result.text
        assert not far.moves
    else:
        assert lives_s, "it walks on"
        assert not far.gate.poll(walk).done
        far.until(lambda: far.moves)
        far.gate.cancel(walk)


def test_rule_1_a_robot_whose_clock_is_set_forward_a_little_walks_on(far: FarAway) -> None:
    far.ready()
    walk = far.walk()
    set_clock(far, 0.9)
    far.let_pass(2.0)
    assert not far.gate.poll(walk).done
    far.until(lambda: far.moves)
    far.gate.cancel(walk)
