"""The safety rules that the driver keeps, by number, as the emulator's record shows them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bosdyn.api import arm_command_pb2, robot_state_pb2
from bosdyn.api.spot import robot_command_pb2 as spot_pb2
from shapely.geometry import LineString, Point
from spot_trial import ROBOT, emulator_of, far_thing, finish, opened_corner, trouble

from planner.world.errors import PlannerError
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from planner.world.vocabulary import Relation
from sim_bridge.map_model import MapModel
from sim_bridge.one_robot import Command
from sim_bridge.opening import Opened
from sim_bridge.pacing import TICK_S
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.health import SpeedLimit
from sim_bridge.safety.options import SafetyOptions, default_safety
from sim_bridge.spot.backend import SpotBackend
from sim_bridge.spot.convert import read_state, seconds_of
from sim_bridge.spot.emulator.faults import TroubleKind
from sim_bridge.spot.emulator.machine import Motors, Posture
from sim_bridge.spot.options import emulated

MOTION = default_safety().motion
CARRY = arm_command_pb2.NamedArmPositionsCommand.POSITIONS_CARRY
SLOW = {"speed_m_s": 0.25, "careful_speed_m_s": 0.25}


@pytest.fixture
def spot(opened: Opened) -> Iterator[SpotBackend]:
    backend = SpotBackend(emulated())
    emulator_of(backend).calls.keep_requests = True
    backend.reset(opened.house, opened.episode, opened.seed)
    yield backend
    backend.close()


def guarded(opened: Opened, **changes: object) -> tuple[SafetyGate, SpotBackend]:
    backend = SpotBackend(emulated())
    gate = SafetyGate(backend, SafetyOptions.model_validate(changes))
    gate.reset(opened.house, opened.episode, opened.seed)
    emulator_of(backend).calls.keep_requests = True
    return gate, backend


def arms(backend: SpotBackend) -> list[object]:
    """The arm commands that were sent."""
    sent = [r.request.command for r in emulator_of(backend).requests if r.method == "RobotCommand"]
    return [
        command.synchronized_command.arm_command
        for command in sent
        if command.synchronized_command.HasField("arm_command")
    ]


def test_rules_1_9_10_and_12_hold_for_all_that_a_whole_errand_sends(spot: SpotBackend) -> None:
    """SPOT-F6.4: every recorded command has an end in time, limits, no stairs, all senses."""
    _, middle = far_thing(spot)
    for name in (PrimitiveName.PICK, PrimitiveName.PLACE):
        deed = Primitive(name, middle, relation=Relation.ON)
        assert finish(spot, spot.start(ROBOT, deed)).succeeded
    walks = lines = gazes = 0
    for record in emulator_of(spot).requests:
        if record.method != "RobotCommand":
            continue
        command = record.request.command.synchronized_command
        mobility, arm = command.mobility_command, command.arm_command
        if command.HasField("mobility_command"):
            params = spot_pb2.MobilityParams()
            assert mobility.params.Unpack(params), "rule 9: on every mobility command"
            assert 0 < params.vel_limit.max_vel.linear.x <= MOTION.speed_m_s
            assert 0 < params.vel_limit.max_vel.angular <= MOTION.turn_speed_rad_s
            assert -MOTION.speed_m_s <= params.vel_limit.min_vel.linear.x < 0
            assert params.stairs_mode == spot_pb2.MobilityParams.STAIRS_MODE_PROHIBITED
            obstacles = params.obstacle_params
            assert obstacles.obstacle_avoidance_padding == pytest.approx(0.1)
            assert not any(
                getattr(obstacles, field.name)
                for field in obstacles.DESCRIPTOR.fields
                if field.name.startswith("disable_vision")
            )
            assert not params.allow_degraded_perception
        if mobility.HasField("se2_trajectory_request"):
            walks += 1
            ends_s = seconds_of(mobility.se2_trajectory_request.end_time)
            assert 0 < ends_s - record.at_s <= MOTION.command_ttl_s + 1e-6
        if arm.HasField("arm_cartesian_command"):
            lines += 1
            assert arm.arm_cartesian_command.max_linear_velocity.value == MOTION.hand_speed_m_s
            turn = arm.arm_cartesian_command.max_angular_velocity.value
            assert turn == MOTION.hand_turn_speed_rad_s
        if arm.HasField("arm_gaze_command"):
            gazes += 1
            assert arm.arm_gaze_command.max_linear_velocity.value == MOTION.hand_speed_m_s
            assert arm.arm_gaze_command.max_angular_velocity.value == MOTION.hand_turn_speed_rad_s
    assert min(walks, lines, gazes) > 0


@pytest.mark.parametrize(("trusted_s", "least_s", "most_s"), [(0.3, 0.05, 0.3), (-5.0, 0.0, 0.05)])
def test_rule_8_a_walk_lives_no_longer_than_its_executive_is_trusted(
    spot: SpotBackend, trusted_s: float, least_s: float, most_s: float
) -> None:
    """Time of the emulator stands still meanwhile, that of the heartbeats does not."""
    spot.limit_speed(ROBOT, SpeedLimit(0.5, 0.8, time.monotonic() + trusted_s))
    spot.link.walk_to(1.0, 0.0, 0.0)
    record = next(r for r in emulator_of(spot).requests[::-1] if r.method == "RobotCommand")
    walk = record.request.command.synchronized_command.mobility_command.se2_trajectory_request
    assert least_s <= seconds_of(walk.end_time) - record.at_s <= most_s + 1e-6


def test_rule_2_every_call_has_a_timeout_of_ours(opened: Opened) -> None:
    safety = default_safety()
    backend = SpotBackend(emulated(), safety)
    emulator_of(backend).calls.keep_requests = True
    backend.reset(opened.house, opened.episode, opened.seed)
    finish(backend, backend.start(ROBOT, Primitive(PrimitiveName.LOOK, (1.0, 0.0, 0.5))))
    # Before an emulator of stepped time all timeouts are long, but they are ours: 60 s, not 30.
    limits = {record.method: record.within_s for record in emulator_of(backend).requests}
    assert limits
    assert {method: s for method, s in limits.items() if not 30.5 < s <= 60.5} == {}
    backend.close()


def test_rule_3_a_policy_hangs_on_the_lease_and_lives_by_check_ins(spot: SpotBackend) -> None:
    emulator = emulator_of(spot)
    (policy,) = emulator.machine.policies.values()
    assert policy.motors_off_s == default_safety().keepalive.motors_off_after_s
    assert [lease.resource for lease in policy.message.associated_leases] == ["body"]  # type: ignore[attr-defined]
    for _ in range(round(8.0 / TICK_S)):
        spot.step(TICK_S)
    assert emulator.machine.motors is Motors.ON
    spot.operate(ROBOT, Command.RELEASE)
    assert emulator.machine.policies == {}


def test_rule_4_gentle_sits_first_hard_cuts_and_neither_pretends(opened: Opened) -> None:
    gate, backend = guarded(opened)
    assert gate.command(ROBOT, Command.ESTOP_GENTLE).success
    machine = emulator_of(backend).machine
    assert (machine.posture, machine.motors) == (Posture.SITTING, Motors.OFF)
    assert not gate.command(ROBOT, Command.POWER_ON).success, "it is engaged"
    for command in (Command.ESTOP_RELEASE, Command.POWER_ON, Command.STAND):
        assert gate.command(ROBOT, command).success
    trouble(backend, TroubleKind.TAKE_LEASE, name="tablet")
    told = gate.command(ROBOT, Command.ESTOP_HARD)
    assert not told.success, "without the lease nothing of ours can cut the motors"
    assert "use the stop on the tablet" in told.message
    assert machine.motors is Motors.ON
    walk = gate.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, (1.0, 1.0, 0.0)))
    result = gate.poll(walk).result
    assert result is not None
    assert "hard emergency stop" in result.text, "nothing moves through us all the same"
    gate.close()


def test_rule_8_and_17_a_new_episode_alone_moves_no_real_robot() -> None:
    assert not SafetyGate(SpotBackend()).simulated


def zone_beside_the_way(backend: SpotBackend, opened: Opened) -> dict[str, object]:
    """A zone of 20 cm that the planned way comes too near to, where there is a way around."""
    goal = opened_corner(opened)
    way = backend.map.way(backend.base, goal, math.nan)
    assert isinstance(way, list)
    line = LineString([backend.base.position_m[:2], *way])
    for share in (0.5, 0.4, 0.6, 0.3, 0.7):
        for offset_m in (0.5, -0.5, 0.7, -0.7):
            at = line.interpolate(line.length * share)
            x, y = at.x + offset_m, at.y
            box = [(x - 0.1, y - 0.1), (x + 0.1, y - 0.1), (x + 0.1, y + 0.1), (x - 0.1, y + 0.1)]
            zones = {"zones": [{"name": "vase", "polygon_m": box}]}
            safety = SafetyOptions.model_validate({"keep_out": zones, "motion": SLOW})
            near = line.distance(safety.keep_out.zones[0].shape) < 0.5
            model = MapModel(opened.house, opened.episode, opened.seed, safety)
            if near and isinstance(model.way(backend.base, goal, math.nan), list):
                return zones
    raise AssertionError("no zone with a way around it")


def test_rule_11_the_way_keeps_away_from_zones_and_the_robot_is_told_of_them(
    opened: Opened,
) -> None:
    """SPOT-F6.4: goal, path and velocity into a keep-out."""
    plain = SpotBackend(emulated())
    plain.reset(opened.house, opened.episode, opened.seed)
    keep_out = zone_beside_the_way(plain, opened)
    plain.close()
    gate, backend = guarded(opened, keep_out=keep_out, motion=SLOW)
    zone = gate.options.keep_out.zones[0].shape
    walk = gate.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, opened_corner(opened)))
    nearest = math.inf
    for _ in range(round(120.0 / TICK_S)):
        if gate.poll(walk).done:
            break
        gate.step(TICK_S)
        base = emulator_of(backend).world.base.position_m
        nearest = min(nearest, zone.distance(Point(base[:2])))
    result = gate.poll(walk).result
    assert result is not None
    assert result.succeeded, result
    assert nearest > 0.3 + 0.3, "the margin, from the edge of the body"
    told = [r for r in emulator_of(backend).requests if r.method == "MutateWorldObjects"]
    assert told, "rule 11: the robot is told"
    (region,) = emulator_of(backend).world.no_go
    assert region.symmetric_difference(zone).area < 0.02
    into = Primitive(PrimitiveName.NAVIGATE, (*zone.centroid.coords[0], 0.0))
    refused = gate.poll(gate.start(ROBOT, into)).result
    assert refused is not None
    assert refused.rule == 11
    gate.close()


def test_rule_11_regions_are_renewed_before_they_are_forgotten(opened: Opened) -> None:
    box = [[0, 0], [0.4, 0], [0.4, 0.4], [0, 0.4]]
    gate, backend = guarded(opened, keep_out={"zones": [{"name": "vase", "polygon_m": box}]})
    for _ in range(round(25.0 / TICK_S)):
        gate.step(TICK_S)
        assert len(emulator_of(backend).machine.no_go) == 1
    gate.close()


def test_rule_12_the_arm_is_folded_before_walking_and_still_while_it_walks(
    spot: SpotBackend,
) -> None:
    emulator = emulator_of(spot)
    finish(spot, spot.start(ROBOT, Primitive(PrimitiveName.LOOK, (3.0, 1.0, 0.5))))
    emulator.requests.clear()
    spot.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, (1.0, 1.0, 0.0)))
    for _ in range(60):
        spot.step(TICK_S)
    kinds = [
        "arm" if command.HasField("arm_command") else "walk"
        for record in emulator.requests
        if record.method == "RobotCommand"
        for command in [record.request.command.synchronized_command]
    ]
    assert kinds[0] == "arm"
    assert "walk" in kinds
    assert "arm" not in kinds[kinds.index("walk") :]


def test_rule_12_a_hand_that_was_reached_out_comes_back_slowly_before_the_arm_folds(
    spot: SpotBackend,
) -> None:
    """Named positions have no limit of speed, lines have; from before the body a fold is short."""
    _, middle = far_thing(spot)
    deeds = (
        Primitive(PrimitiveName.LOOK, middle),
        Primitive(PrimitiveName.PICK, middle),
        Primitive(PrimitiveName.PLACE, middle, relation=Relation.ON),
        Primitive(PrimitiveName.NAVIGATE, (*spot.base.position_m[:2], 0.0), standoff_m=0.0),
    )
    emulator_of(spot).requests.clear()
    for deed in deeds:
        assert finish(spot, spot.start(ROBOT, deed)).succeeded
    kinds: list[str] = []
    for record in emulator_of(spot).requests:
        if record.method == "ManipulationApi":
            kinds.append("grasp")
        elif record.method == "RobotCommand":
            arm = record.request.command.synchronized_command.arm_command
            kinds.append(arm.WhichOneof("command") or "")
    sent = [kind.removesuffix("_command") for kind in kinds if kind]
    folds = [index for index, kind in enumerate(sent) if kind == "named_arm_position"]
    assert len(folds) >= 3
    last = [sent[index - 1] for index in folds if index]
    # Straight from where it was folded before, or along a line at the speed of rule 12.
    assert set(last) <= {"arm_cartesian", "named_arm_position"}
    assert last.count("arm_cartesian") >= 2


def test_rule_18_the_arm_comes_back_slowly_at_the_end_too(spot: SpotBackend) -> None:
    finish(spot, spot.start(ROBOT, Primitive(PrimitiveName.LOOK, (3.0, 1.0, 0.5))))
    emulator_of(spot).requests.clear()
    assert spot.stow(ROBOT, 4.0).success
    sent = [arm.WhichOneof("command") for arm in arms(spot)]  # type: ignore[attr-defined]
    assert sent == ["arm_cartesian_command", "named_arm_position_command"]


def test_rule_13_what_is_carried_is_not_dropped_when_the_bridge_is_gone(spot: SpotBackend) -> None:
    name, middle = far_thing(spot)
    emulator = emulator_of(spot)
    assert finish(spot, spot.start(ROBOT, Primitive(PrimitiveName.PICK, middle))).succeeded
    (override,) = [r.request for r in emulator.requests if r.method == "OverrideGrasp"]
    carriable = robot_state_pb2.ManipulatorState.CARRY_STATE_CARRIABLE
    assert override.carry_state_override.override_request == carriable
    emulator.requests.clear()
    spot.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, (1.0, 1.0, 0.0)))
    positions = {arm.named_arm_position_command.position for arm in arms(spot)}  # type: ignore[attr-defined]
    assert positions == {CARRY}, "it is carried, not folded"
    for _ in range(300):
        spot._clock.advance(TICK_S)
        emulator.advance()
    assert emulator.machine.motors is Motors.OFF
    assert emulator.world.agent.holding == name


def test_rule_16_our_own_troubles_are_on_the_tablet_until_they_are_over(spot: SpotBackend) -> None:
    emulator = emulator_of(spot)
    trouble(spot, TroubleKind.FAIL, method="GetImage", count=1)
    with pytest.raises(PlannerError, match="no pictures"):
        spot.observe(ROBOT, ("hand",))
    assert list(emulator.machine.service_faults) == ["no pictures"]
    spot.observe(ROBOT, ("hand",))
    assert emulator.machine.service_faults == {}


def test_rule_16_a_critical_system_fault_stops_and_a_warning_does_not(spot: SpotBackend) -> None:
    state = spot.link.state()
    kinds = robot_state_pb2.SystemFault
    for name, severity in (("imu", kinds.SEVERITY_CRITICAL), ("fan", kinds.SEVERITY_WARN)):
        state.system_fault_state.faults.add(name=name, severity=severity)
    told = {fault.name: fault.blocks for fault in read_state(state).faults}
    assert told == {"imu": True, "fan": False}


def test_rule_16_only_a_lease_timeout_is_cleared_and_a_fall_is_not(opened: Opened) -> None:
    gate, backend = guarded(opened)
    for cause in ("FALL", "LEASE_TIMEOUT"):
        trouble(backend, TroubleKind.BEHAVIOR_FAULT, name=cause)
    gate.step(TICK_S)
    assert gate.command(ROBOT, Command.CLAIM).success
    assert list(emulator_of(backend).machine.behavior_faults.values()) == ["FALL"]
    gate.close()


def test_a_dropped_token_a_reboot_and_a_clock_that_jumps_are_survived(opened: Opened) -> None:
    """SPOT-F6.4: token expiry, new epoch, changed time: degraded, no crash, no motion."""
    gate, backend = guarded(opened)
    emulator = emulator_of(backend)
    trouble(backend, TroubleKind.DROP_TOKEN)
    gate.step(TICK_S)
    assert gate.obstacles(ROBOT) == ()
    trouble(backend, TroubleKind.CLOCK_SKEW, value=90.0)
    walk = gate.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, opened_corner(opened)))
    result = finish(gate, walk, 20.0)
    assert "clock" in result.text, result
    for _ in range(round(6.0 / TICK_S)):
        gate.step(TICK_S)
    trouble(backend, TroubleKind.REBOOT)
    for _ in range(40):
        gate.step(TICK_S)
    again = gate.poll(gate.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, (1.0, 1.0, 0.0)))).result
    assert again is not None
    assert again.code is PrimitiveCode.NOT_ALLOWED
    assert emulator.machine.motors is Motors.OFF
    for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
        assert gate.command(ROBOT, command).success, command
    gate.step(TICK_S)
    assert gate.obstacles(ROBOT) == ()
    gate.close()


def test_a_clock_that_jumps_under_a_claimed_robot_is_settled_by_claiming_it_again(
    opened: Opened,
) -> None:
    """What the message says helps; until then the answers say that it may not move, and why."""
    gate, backend = guarded(opened)
    trouble(backend, TroubleKind.CLOCK_SKEW, value=20.0)
    for _ in range(round(1.0 / TICK_S)):
        gate.step(TICK_S)
    (told,) = gate.obstacles(ROBOT)
    assert "claim it again" in told
    for command in (Command.POWER_ON, Command.STAND):
        outcome = gate.command(ROBOT, command)
        assert outcome.success
        assert outcome.message.endswith(f"but it may not move: {told}"), outcome.message
    assert gate.command(ROBOT, Command.CLAIM).success
    assert gate.command(ROBOT, Command.STAND).message == "standing"
    gate.step(TICK_S)
    assert gate.obstacles(ROBOT) == ()
    walk = gate.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, opened_corner(opened)))
    assert finish(gate, walk).succeeded
    gate.close()


def test_a_claim_succeeds_when_the_robot_lists_it_and_not_before(opened: Opened) -> None:
    gate, backend = guarded(opened)
    assert gate.command(ROBOT, Command.RELEASE).success
    gate.step(TICK_S)
    trouble(backend, TroubleKind.FAIL, method="ListLeases", count=2)
    assert gate.command(ROBOT, Command.CLAIM).success
    gate.step(TICK_S)
    assert gate.control(ROBOT).claimed
    gate.close()


@pytest.mark.parametrize("skill", ["walk", "arm", "pick"])
def test_a_tablet_that_takes_over_in_any_skill_ends_it(opened: Opened, skill: str) -> None:
    """SPOT-F6.4: LEASE_LOST within 0.6 s, no command, take or acquire after it (rule 6)."""
    gate, backend = guarded(opened)
    emulator = emulator_of(backend)
    _, middle = far_thing(gate)
    deeds = {
        "walk": Primitive(PrimitiveName.NAVIGATE, opened_corner(opened)),
        "arm": Primitive(PrimitiveName.LOOK, views_rad=((1.0, 0.3), (-1.0, 0.3)) * 20),
        "pick": Primitive(PrimitiveName.PICK, middle),
    }
    running = gate.start(ROBOT, deeds[skill])
    for _ in range(20):
        gate.step(TICK_S)
    assert not gate.poll(running).done
    trouble(backend, TroubleKind.TAKE_LEASE, name="tablet")
    taken_s = emulator.clock.now_s()
    assert finish(gate, running).evidence["reason"] == "LEASE_LOST"
    assert emulator.clock.now_s() - taken_s < 0.6
    emulator.requests.clear()
    for _ in range(60):
        gate.step(TICK_S)
    after = {record.method for record in emulator.requests}
    assert not after & {"RobotCommand", "AcquireLease", "TakeLease", "ManipulationApi"}
    gate.close()


@pytest.mark.parametrize("skill", ["walk", "arm", "pick"])
def test_a_link_that_freezes_in_any_skill_ends_it_and_comes_back(
    opened: Opened, skill: str
) -> None:
    """SPOT-F6.4: COMMS_LOST within 1.5 s, and on again without a restart (rule 7)."""
    gate, backend = guarded(opened)
    emulator = emulator_of(backend)
    _, middle = far_thing(gate)
    deeds = {
        "walk": Primitive(PrimitiveName.NAVIGATE, opened_corner(opened)),
        "arm": Primitive(PrimitiveName.LOOK, views_rad=((1.0, 0.3), (-1.0, 0.3)) * 20),
        "pick": Primitive(PrimitiveName.PICK, middle),
    }
    running = gate.start(ROBOT, deeds[skill])
    for _ in range(20):
        gate.step(TICK_S)
    assert not gate.poll(running).done
    emulator.calls.silent = True
    since_s = emulator.clock.now_s()
    assert finish(gate, running).evidence["reason"] == "COMMS_LOST"
    assert emulator.clock.now_s() - since_s < 1.5
    assert gate.obstacles(ROBOT) != ()
    for _ in range(round(0.7 / TICK_S)):
        gate.step(TICK_S)
    assert emulator.world.agent.linear_m_s == 0.0, "what was sent last has ended by itself"
    emulator.calls.silent = False
    for _ in range(round(1.5 / TICK_S)):
        gate.step(TICK_S)
    assert gate.obstacles(ROBOT) == ()
    assert gate.poll(gate.start(ROBOT, deeds["arm"])).result is None
    gate.close()


def test_time_may_run_slower_or_faster_than_the_clock_on_the_wall(opened: Opened) -> None:
    """SPOT-F6.4: real-time factors 0.2, 1 and 5 through the SDK's clock: the same walk."""
    ways = []
    for rate in (0.2, 1.0, 5.0):
        backend = SpotBackend(emulated())
        backend.reset(opened.house, opened.episode, opened.seed)
        emulator_of(backend).calls.keep_requests = True
        spot = emulator_of(backend).world
        backend.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, opened_corner(opened)))
        way = []
        for _ in range(24):
            # A tick of 0.05 s that takes 0.25, 0.05 and 0.01 s on the wall.
            ends_s = time.monotonic() + TICK_S / rate
            backend.step(TICK_S)
            way.append(spot.base.position_m)
            time.sleep(max(0.0, ends_s - time.monotonic()))
        commands = [
            round(r.at_s, 6) for r in emulator_of(backend).requests if r.method == "RobotCommand"
        ]
        ways.append((way, commands))
        backend.close()
    assert ways[0] == ways[1] == ways[2]
    assert len(ways[0][1]) > 1
