"""The robot's state messages, with what a real Spot has recorded or the SDK's documents say."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")

from bosdyn.api import robot_state_pb2

from planner.world.geometry import Pose
from sim_bridge.spot.convert import BodyState, fill_tree, read_state

POWER, STOP = robot_state_pb2.PowerState, robot_state_pb2.EStopState


def recorded() -> Any:
    """A standing robot of the SDK's recorded map, whose odometry has sunk by half a metre.

    The numbers are of the waypoint at (-0.66, -2.65); the hand, which that robot lacks, is 0.6 m
    before its body.
    """
    state = robot_state_pb2.RobotState()
    body = Pose.planar(-0.66, -2.65, 0.81, -0.01)
    fill_tree(
        state.kinematic_state.transforms_snapshot,
        {
            "body": ("", Pose((0.0, 0.0, 0.0))),
            "odom": ("body", body.inverse()),
            "gpe": ("odom", Pose((-0.66, -2.65, -0.52))),
            "hand": ("body", Pose((0.6, 0.0, 0.2))),
        },
    )
    state.power_state.motor_power_state = POWER.MOTOR_POWER_STATE_ON
    state.power_state.locomotion_charge_percentage.value = 92.0
    for name in ("hardware_estop", "payload_estop", "software_estop"):
        state.estop_states.add(name=name, state=STOP.STATE_NOT_ESTOPPED)
    return state


def test_heights_are_above_the_ground_estimate_not_above_odometrys_zero() -> None:
    state = read_state(recorded())
    assert state.body_height_m == pytest.approx(0.51)
    assert state.odometry.position_m == pytest.approx((-0.66, -2.65, -0.52))
    assert state.odometry.yaw_rad == pytest.approx(0.81)
    assert state.hand.position_m == pytest.approx((0.6, 0.0, 0.71))
    assert state.battery == pytest.approx(0.92)
    assert not state.estopped


@pytest.mark.parametrize(
    ("motors", "powered", "off"),
    [
        (POWER.MOTOR_POWER_STATE_ON, True, False),
        (POWER.MOTOR_POWER_STATE_OFF, False, True),
        (POWER.MOTOR_POWER_STATE_POWERING_ON, False, False),
        (POWER.MOTOR_POWER_STATE_POWERING_OFF, False, False),
        (POWER.MOTOR_POWER_STATE_ERROR, False, False),
    ],
)
def test_motors_that_power_off_are_not_off_yet(motors: int, powered: bool, off: bool) -> None:
    """robot_state.proto, MotorPowerState: until then the robot is not safe to approach."""
    message = recorded()
    message.power_state.motor_power_state = motors
    state = read_state(message)
    assert (state.powered, state.off) == (powered, off)


@pytest.mark.parametrize("name", ["hardware_estop", "payload_estop", "software_estop"])
@pytest.mark.parametrize("pressed", [STOP.STATE_ESTOPPED, STOP.STATE_UNKNOWN])
def test_any_stop_that_is_not_released_counts(name: str, pressed: int) -> None:
    """robot_state.proto, EStopState: all must be NOT_ESTOPPED in order to run the robot."""
    message = recorded()
    next(stop for stop in message.estop_states if stop.name == name).state = pressed
    state: BodyState = read_state(message)
    assert state.estopped


def test_only_critical_system_faults_block() -> None:
    """The recorded robot walks with `spot_check.fault`, of severity INFO."""
    message = recorded()
    severity = robot_state_pb2.SystemFault
    message.system_fault_state.faults.add(name="spot_check.fault", severity=severity.SEVERITY_INFO)
    message.system_fault_state.faults.add(name="battery", severity=severity.SEVERITY_CRITICAL)
    faults = {fault.name: fault.blocks for fault in read_state(message).faults}
    assert faults == {"spot_check.fault": False, "battery": True}
