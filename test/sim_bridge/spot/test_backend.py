"""The backend through the SDK and TLS, before the emulator and its stepped clock."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bosdyn.api.spot import robot_command_pb2 as spot_pb2
from bosdyn.client.exceptions import LeaseUseError
from bosdyn.client.robot_command import RobotCommandBuilder
from spot_trial import ROBOT, emulator_of, far_thing, finish, opened_corner, trouble

from planner.world.errors import PlannerError
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from planner.world.vocabulary import Relation
from sim_bridge.backend import Backend
from sim_bridge.conformance import check_backend
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.opening import Opened, default_house, open_world
from sim_bridge.pacing import TICK_S
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.options import default_safety
from sim_bridge.spot.backend import SpotBackend
from sim_bridge.spot.connection import Channel
from sim_bridge.spot.convert import seconds_of
from sim_bridge.spot.emulator.faults import TroubleKind
from sim_bridge.spot.emulator.machine import Machine, Motors, Posture
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.options import emulated
from sim_bridge.spot.permit import WithdrawnError


@pytest.fixture
def spot(opened: Opened) -> Iterator[SpotBackend]:
    backend = SpotBackend(emulated())
    emulator_of(backend).calls.keep_requests = True
    backend.reset(opened.house, opened.episode, opened.seed)
    yield backend
    backend.close()


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_backend_conforms(opened: Opened) -> None:
    report = check_backend(
        lambda: SpotBackend(emulated()), house=opened.house, episode=opened.episode, seed=7
    )
    assert report.conforms, report.table()


def test_every_mobility_command_expires_is_bounded_and_leaves_the_senses_on(
    spot: SpotBackend, opened: Opened
) -> None:
    """SPOT-F6.4: every command recorded by the emulator (rules 1, 9 and 10)."""
    emulator = emulator_of(spot)
    x, y, _ = spot.base.position_m
    trial = spot.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, opened_corner(opened)))
    for _ in range(60):
        spot.step(TICK_S)
    assert math.dist((x, y), spot.base.position_m[:2]) > 0.1
    spot.cancel(trial)
    walks = 0
    for record in emulator.requests:
        if record.method != "RobotCommand":
            continue
        command = record.request.command.synchronized_command.mobility_command
        kind = command.WhichOneof("command")
        if kind != "se2_trajectory_request":
            continue
        walks += 1
        ends_s = seconds_of(command.se2_trajectory_request.end_time)
        assert ends_s - record.at_s <= default_safety().motion.command_ttl_s + 1e-6
        params = spot_pb2.MobilityParams()
        assert command.params.Unpack(params)
        assert 0 < params.vel_limit.max_vel.linear.x <= default_safety().motion.speed_m_s
        assert params.stairs_mode == spot_pb2.MobilityParams.STAIRS_MODE_PROHIBITED
        assert not params.obstacle_params.disable_vision_body_obstacle_avoidance
        assert not params.allow_degraded_perception
    assert walks > 2
    methods = {record.method for record in emulator.requests}
    assert "TakeLease" not in methods


@pytest.mark.timeout(600)
def test_one_episode_gives_the_same_outcomes_as_the_embedded_world(opened: Opened) -> None:
    """SPOT-F2.7: the contract between the simulator and SDK, TLS and emulator."""
    worlds: list[Backend] = [EmbeddedBackend(), SpotBackend(emulated())]
    stories = []
    for backend in worlds:
        backend.reset(opened.house, opened.episode, opened.seed)
        name, middle = far_thing(backend)
        story = (
            Primitive(PrimitiveName.PLACE, middle, relation=Relation.ON),
            Primitive(PrimitiveName.LOOK, middle),
            Primitive(PrimitiveName.PICK, middle),
            Primitive(PrimitiveName.PICK, middle),
            Primitive(PrimitiveName.PLACE, middle, relation=Relation.ON),
            Primitive(PrimitiveName.NAVIGATE, middle, frame="nowhere"),
            Primitive("clean", middle),
        )
        codes = [finish(backend, backend.start(ROBOT, deed)).code for deed in story]
        state = backend.world_state()
        assert state is not None
        seen = backend.observe(ROBOT, ("hand",))
        frame = seen.cameras["hand"]
        stories.append(
            (
                name,
                codes,
                state.entities[name].parent,
                state.entities[name].relation,
                (frame.rgb.dtype, frame.rgb.shape, frame.depth_m.dtype, frame.intrinsics),
                backend.capabilities(ROBOT),
                (seen.base.position_m, state.entities[name].pose.position_m),
            )
        )
        backend.close()
    one, other = stories
    assert one[1] == other[1]
    # Only the embedded world can be driven by velocities, and has persons.
    fewer = one[5].primitives - {"drive", "talk", "hand_over", "take_from"}
    able = dataclasses.replace(one[5], primitives=fewer, drive=None)
    one = (*one[:5], able, one[-1])
    assert one[:1] + one[2:-1] == other[:1] + other[2:-1]
    for a, b in zip(one[-1], other[-1], strict=True):
        assert math.dist(a, b) < 0.3
    assert PrimitiveCode.SUCCESS in one[1]


def test_a_grasp_that_slips_is_tried_again_and_a_third_failure_is_reported(
    spot: SpotBackend,
) -> None:
    """EPM-C42: a pick is repeated, bounded."""
    _, middle = far_thing(spot)
    trouble(spot, TroubleKind.GRASPS_SLIP, count=2)
    picked = finish(spot, spot.start(ROBOT, Primitive(PrimitiveName.PICK, middle)))
    assert picked.succeeded, picked
    trouble(spot, TroubleKind.PLACES_STICK, count=1)
    on = Primitive(PrimitiveName.PLACE, middle, relation=Relation.ON)
    placed = finish(spot, spot.start(ROBOT, on))
    assert placed.succeeded, placed


def test_a_grasp_that_is_felt_late_is_no_empty_hand(
    spot: SpotBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state in which the gripper holds something comes 0.7 s after the grasp's end."""
    _, middle = far_thing(spot)
    holds = Machine.holds.fget
    assert holds is not None
    since_s: list[float] = []

    def late(self: Machine) -> bool:
        if holds(self):
            since_s.append(self.now_s)
        return bool(since_s) and self.now_s - since_s[0] > 0.7 and holds(self)

    monkeypatch.setattr(Machine, "holds", property(late))
    picked = finish(spot, spot.start(ROBOT, Primitive(PrimitiveName.PICK, middle)))
    assert picked.succeeded, picked
    assert emulator_of(spot).machine.carriable


def test_a_grasp_that_failed_by_its_feedback_and_closed_has_taken_the_thing(
    spot: SpotBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, middle = far_thing(spot)
    tell = SpotLink.pick_state
    monkeypatch.setattr(
        SpotLink, "pick_state", lambda *asked: tell(*asked).replace("SUCCEEDED", "FAILED")
    )
    picked = finish(spot, spot.start(ROBOT, Primitive(PrimitiveName.PICK, middle)))
    assert picked.succeeded, picked


def test_what_a_call_of_the_robot_fails_with_is_told_in_our_words(spot: SpotBackend) -> None:
    _, middle = far_thing(spot)
    trouble(spot, TroubleKind.FAIL, method="ManipulationApi", code="INTERNAL", count=9)
    picked = finish(spot, spot.start(ROBOT, Primitive(PrimitiveName.PICK, middle)))
    assert picked.code is PrimitiveCode.BACKEND_FAULT
    assert picked.text.startswith("the call did not get through; check the network")


def test_three_slips_fail(spot: SpotBackend) -> None:
    _, middle = far_thing(spot)
    trouble(spot, TroubleKind.GRASPS_SLIP, count=3)
    picked = finish(spot, spot.start(ROBOT, Primitive(PrimitiveName.PICK, middle)))
    assert picked.code is PrimitiveCode.GRASP_FAILED
    assert "3 tries" in picked.text


def test_a_tablet_that_takes_the_lease_ends_everything_and_nothing_is_sent_after_it(
    opened: Opened,
) -> None:
    """SPOT-F6.4: LEASE_LOST within 0.6 s; no command, no take and no acquire after it."""
    backend = SpotBackend(emulated())
    gate = SafetyGate(backend)
    gate.reset(opened.house, opened.episode, opened.seed)
    emulator = emulator_of(backend)
    emulator.calls.keep_requests = True
    walk = gate.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, opened_corner(opened)))
    for _ in range(30):
        gate.step(TICK_S)
    trouble(backend, TroubleKind.TAKE_LEASE, name="tablet")
    taken_s = emulator.clock.now_s()
    result = finish(gate, walk)
    assert result.evidence["reason"] == "LEASE_LOST", result
    assert emulator.clock.now_s() - taken_s < 0.6
    for _ in range(10):
        gate.step(TICK_S)
    told = len(emulator.requests)
    for _ in range(60):
        gate.step(TICK_S)
    after = {record.method for record in emulator.requests[told:]}
    assert not after & {"RobotCommand", "AcquireLease", "TakeLease", "ManipulationApi"}
    again = finish(gate, gate.start(ROBOT, Primitive(PrimitiveName.LOOK, (1.0, 0.0, 0.5))))
    assert again.code is PrimitiveCode.NOT_ALLOWED
    gate.close()


def test_a_command_that_a_later_one_of_ours_overtook_has_not_lost_the_lease(
    spot: SpotBackend,
) -> None:
    """As when a stop is repeated over a slow link and overtakes the walk that goes on after it."""
    link = spot.link

    def overtaken(lease: object) -> None:
        link.stand()
        commands = link._commands[Channel.MOTION]
        commands.robot_command(RobotCommandBuilder.stop_command(), lease=lease)

    with link.permit.granted(link.permit.epoch), pytest.raises(WithdrawnError):
        link.send(overtaken)
    with pytest.raises(LeaseUseError):
        # Of no motion: an operator hears why.
        link.send(overtaken)
    trouble(spot, TroubleKind.TAKE_LEASE, name="tablet")
    with link.permit.granted(link.permit.epoch), pytest.raises(LeaseUseError):
        link.stand()


def test_a_bridge_that_falls_silent_stops_within_its_ttl_and_then_sits(spot: SpotBackend) -> None:
    """SPOT-F6.4, a killed bridge: it stops within 0.7 s, its motors go off with the policy."""
    emulator = emulator_of(spot)
    spot.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, (1.0, 1.0, 0.0)))
    for _ in range(40):
        spot.step(TICK_S)
    stopped_s = None
    for tick in range(300):
        spot._clock.advance(TICK_S)  # nobody steps the backend: it is dead
        emulator.advance()
        if emulator.world.agent.linear_m_s == 0.0 and emulator.machine.walk is None:
            stopped_s = stopped_s if stopped_s is not None else tick * TICK_S
        if emulator.machine.motors is Motors.OFF:
            break
    assert stopped_s is not None
    assert stopped_s < 0.7
    policy_s = default_safety().keepalive.motors_off_after_s
    assert tick * TICK_S < policy_s + 3
    assert emulator.machine.posture is Posture.SITTING


def test_a_reboot_and_a_dropped_token_and_a_failing_call(spot: SpotBackend) -> None:
    trouble(spot, TroubleKind.DROP_TOKEN)
    spot.step(TICK_S)
    assert spot.health(ROBOT).age_s < 0.1
    trouble(spot, TroubleKind.FAIL, method="GetRobotState", count=40)
    for _ in range(36):
        spot.step(TICK_S)
    assert spot.health(ROBOT).age_s > 1.0
    for _ in range(10):
        spot.step(TICK_S)
    assert spot.health(ROBOT).age_s < 0.1
    trouble(spot, TroubleKind.REBOOT)
    for _ in range(20):
        spot.step(TICK_S)
    health = spot.health(ROBOT)
    assert health.epoch == "epoch-3"
    assert not health.powered


def test_two_robots_are_refused(opened: Opened) -> None:
    crowded = open_world(default_house(), "", 7, 2)
    backend = SpotBackend(emulated())
    with pytest.raises(PlannerError, match="one robot is one agent"):
        backend.reset(crowded.house, crowded.episode, 7)
    backend.close()
