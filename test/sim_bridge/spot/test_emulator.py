"""The emulator as the unmodified SDK sees it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

import bosdyn.util
from bosdyn.client import create_standard_sdk
from bosdyn.client.auth import InvalidLoginError
from bosdyn.client.estop import EstopClient, EstopEndpoint, EstopKeepAlive, MotorsOnError
from bosdyn.client.exceptions import LeaseUseError, UnableToConnectToRobotError
from bosdyn.client.fault import FaultClient
from bosdyn.client.image import ImageClient
from bosdyn.client.keepalive import KeepaliveClient, Policy
from bosdyn.client.lease import (
    LeaseClient,
    LeaseKeepAlive,
    LeaseNotOwnedByWallet,
    NoSuchLease,
    ResourceAlreadyClaimedError,
)
from bosdyn.client.power import EstoppedError
from bosdyn.client.robot_command import (
    BehaviorFaultError,
    ExpiredError,
    RobotCommandBuilder,
    RobotCommandClient,
    block_for_trajectory_cmd,
    blocking_stand,
)
from bosdyn.client.robot_state import RobotStateClient
from bosdyn.client.world_object import WorldObjectClient

from sim_bridge.opening import default_house, open_world
from sim_bridge.spot.emulator.faults import Trouble, TroubleKind
from sim_bridge.spot.emulator.machine import Motors, Posture, WallClock
from sim_bridge.spot.emulator.server import SpotEmulator

SKEW_S = 37.5


@pytest.fixture
def skew_s() -> float:
    return SKEW_S


@pytest.fixture
def emulator(skew_s: float) -> Iterator[SpotEmulator]:
    bosdyn.util.set_clock_source(time.time)
    opened = open_world(default_house(), "", 7, 1)
    with SpotEmulator(WallClock()) as made:
        made.load(opened.house, opened.episode, opened.seed)
        made.trouble(Trouble(kind=TroubleKind.CLOCK_SKEW, value=skew_s))
        yield made


@pytest.fixture
def robot(emulator: SpotEmulator) -> Iterator[Any]:
    made = connected(emulator, "tests")
    yield made
    made.stop_time_sync()


def connected(emulator: SpotEmulator, name: str) -> Any:
    sdk = create_standard_sdk(name, cert_resource_glob=str(emulator.authority))
    robot = sdk.create_robot(emulator.address)
    robot.update_secure_channel_port(emulator.port)
    robot.authenticate(emulator.user, emulator.password, timeout=5)
    robot.time_sync.wait_for_sync(5)
    return robot


def trouble(emulator: SpotEmulator, kind: TroubleKind, **more: Any) -> None:
    emulator.trouble(Trouble(kind=kind, **more))


@pytest.mark.parametrize("skew_s", [SKEW_S, -12.0])
def test_the_scenario_of_the_research_note_goes_through(
    emulator: SpotEmulator, robot: Any, skew_s: float
) -> None:
    """SPOT-F2.1: login, clocks, lease, e-stop, power, walk, arm, gripper, pictures, faults."""
    stranger = create_standard_sdk("stranger", cert_resource_glob=str(emulator.authority))
    unknown = stranger.create_robot(emulator.address)
    unknown.update_secure_channel_port(emulator.port)
    with pytest.raises(InvalidLoginError):
        unknown.authenticate("user", "wrong", timeout=5)
    assert robot.get_id().nickname == "emulated"
    assert {"lease", "docking", "spot-check"} <= {entry.name for entry in robot.list_services()}
    skew = robot.time_sync.endpoint.clock_skew
    assert skew.seconds + skew.nanos / 1e9 == pytest.approx(skew_s, abs=0.05)

    leases = robot.ensure_client(LeaseClient.default_service_name)
    commands = robot.ensure_client(RobotCommandClient.default_service_name)
    states = robot.ensure_client(RobotStateClient.default_service_name)
    with pytest.raises(NoSuchLease):
        commands.robot_command(RobotCommandBuilder.stop_command())
    keep = LeaseKeepAlive(leases, rpc_interval_seconds=0.5, must_acquire=True, return_at_exit=True)
    other = connected(emulator, "other")
    with pytest.raises(ResourceAlreadyClaimedError):
        other.ensure_client(LeaseClient.default_service_name).acquire()
    other.stop_time_sync()

    stops = robot.ensure_client(EstopClient.default_service_name)
    endpoint = EstopEndpoint(stops, "tests", 5.0)
    endpoint.force_simple_setup()
    alive = EstopKeepAlive(endpoint)
    alive.stop()
    with pytest.raises(EstoppedError):
        robot.power_on(timeout_sec=5)
    alive.allow()
    robot.power_on(timeout_sec=10)
    with pytest.raises(MotorsOnError):
        endpoint.force_simple_setup()
    blocking_stand(commands, update_frequency=20)

    goal = RobotCommandBuilder.synchro_se2_trajectory_point_command(0.0, 0.0, 0.4, "odom")
    number = commands.robot_command(goal, end_time_secs=time.time() + 5)
    assert block_for_trajectory_cmd(commands, number, timeout_sec=8)
    with pytest.raises(ExpiredError):
        commands.robot_command(goal, end_time_secs=time.time() - 1)
    commands.robot_command(RobotCommandBuilder.claw_gripper_open_fraction_command(1.0))
    commands.robot_command(RobotCommandBuilder.arm_ready_command())
    state = states.get_robot_state()
    assert state.battery_states[0].charge_percentage.value == 88.0
    assert len(state.kinematic_state.joint_states) == 19

    images = robot.ensure_client(ImageClient.default_service_name)
    assert len(images.list_image_sources()) == 20
    color, depth = images.get_image_from_sources(
        ["hand_color_image", "hand_depth_in_hand_color_frame"], timeout=60
    )
    assert color.shot.image.data[:2] == b"\xff\xd8"
    assert len(depth.shot.image.data) == 2 * depth.shot.image.rows * depth.shot.image.cols
    objects = robot.ensure_client(WorldObjectClient.default_service_name).list_world_objects()
    assert objects.world_objects[0].apriltag_properties.tag_id == 500
    assert robot.ensure_client(FaultClient.default_service_name) is not None

    trouble(emulator, TroubleKind.BEHAVIOR_FAULT, name="FALL")
    with pytest.raises(BehaviorFaultError):
        commands.robot_command(goal, end_time_secs=time.time() + 1)
    fault = states.get_robot_state().behavior_fault_state.faults[0]
    commands.clear_behavior_fault(fault.behavior_fault_id)
    commands.robot_command(goal, end_time_secs=time.time() + 1)

    trouble(emulator, TroubleKind.TAKE_LEASE, name="tablet")
    with pytest.raises(LeaseUseError):
        commands.robot_command(RobotCommandBuilder.stop_command())
    with pytest.raises(LeaseNotOwnedByWallet):
        commands.robot_command(RobotCommandBuilder.stop_command())
    keep.shutdown()
    alive.shutdown()


def test_a_wrong_authority_is_not_trusted(emulator: SpotEmulator) -> None:
    robot = create_standard_sdk("wrong").create_robot(emulator.address)
    robot.update_secure_channel_port(emulator.port)
    with pytest.raises(UnableToConnectToRobotError):
        robot.authenticate(emulator.user, emulator.password, timeout=5)


def test_a_dropped_token_heals_by_logging_in_again(emulator: SpotEmulator, robot: Any) -> None:
    states = robot.ensure_client(RobotStateClient.default_service_name)
    trouble(emulator, TroubleKind.DROP_TOKEN)
    with pytest.raises(Exception, match=r"(?i)authenticat"):
        states.get_robot_state()
    robot.authenticate(emulator.user, emulator.password, timeout=5)
    assert states.get_robot_state().HasField("kinematic_state")


def test_a_silent_owner_walks_on_without_a_policy_and_sits_down_with_one(
    emulator: SpotEmulator, robot: Any
) -> None:
    """SPOT-F2.5: since SDK 3.1 a stale lease stops nothing by itself; a keepalive policy does."""
    leases = robot.ensure_client(LeaseClient.default_service_name)
    commands = robot.ensure_client(RobotCommandClient.default_service_name)
    leases.acquire()
    robot.power_on(timeout_sec=10)
    blocking_stand(commands, update_frequency=20)
    turning = RobotCommandBuilder.synchro_velocity_command(0.0, 0.0, 0.3)
    commands.robot_command(turning, end_time_secs=time.time() + 60)
    time.sleep(3.5)
    emulator.advance()
    assert emulator.machine.world.agent.angular_rad_s != 0.0
    policy = Policy()
    policy.name = "tests"
    policy.add_controlled_motors_off_action(1.0)
    robot.ensure_client(KeepaliveClient.default_service_name).modify_policy(to_add=policy)
    time.sleep(3.0)
    emulator.advance()
    assert emulator.machine.posture is Posture.SITTING
    assert emulator.machine.motors is Motors.OFF
