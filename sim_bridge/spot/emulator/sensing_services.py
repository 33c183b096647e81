"""The robot's state: power, battery, faults, joints, feet, arm."""

from __future__ import annotations

import math
from typing import Any

from bosdyn.api import robot_state_pb2

from sim_bridge.spot.convert import set_stamp
from sim_bridge.spot.emulator import frames
from sim_bridge.spot.emulator.arm_geometry import JOINTS
from sim_bridge.spot.emulator.machine import Machine, Motors, Posture
from sim_bridge.spot.emulator.service import Handler

# Front and hind, left and right: hip about x, hip about y, knee, in radians, standing and lying. A
# bent knee is negative.
_LEGS = ("fl", "fr", "hl", "hr")
_STANDING_RAD = {"hx": 0.0, "hy": 0.8, "kn": -1.6}
_LYING_RAD = {"hx": 0.0, "hy": 1.3, "kn": -2.7}
# The claw's joint at full opening (robot_command.py, _CLAW_GRIPPER_OPEN_ANGLE).
CLAW_OPEN_RAD = -1.5708
# Each foot relative to the body's centre.
HIP_M = (0.3, 0.17)
_MOTORS = {
    Motors.OFF: robot_state_pb2.PowerState.STATE_OFF,
    Motors.POWERING_ON: robot_state_pb2.PowerState.STATE_POWERING_ON,
    Motors.ON: robot_state_pb2.PowerState.STATE_ON,
}
_CAUSES = robot_state_pb2.BehaviorFault.Cause


def handlers() -> dict[str, dict[str, Handler]]:
    """The services of this file by full name, each with its methods."""
    return {
        "bosdyn.api.RobotStateService": {
            "GetRobotState": _state,
            "GetRobotHardwareConfiguration": _hardware,
            "GetRobotMetrics": _metrics,
        },
    }


def _state(machine: Machine, _request: Any, response: Any) -> None:
    state, stamp_s = response.robot_state, machine.now_s + machine.skew_s
    power = state.power_state
    set_stamp(power.timestamp, stamp_s)
    power.motor_power_state = _MOTORS[machine.motors]
    power.robot_power_state = robot_state_pb2.PowerState.ROBOT_POWER_STATE_ON
    power.locomotion_charge_percentage.value = machine.battery_percent
    kinds = robot_state_pb2.PowerState
    power.shore_power_state = (
        kinds.STATE_ON_SHORE_POWER if machine.docked else kinds.STATE_OFF_SHORE_POWER
    )
    battery = state.battery_states.add()
    set_stamp(battery.timestamp, stamp_s)
    battery.identifier, battery.voltage.value = "emulated", 52.0
    # Into the battery is positive.
    battery.current.value = 4.0 if machine.docked else -4.0
    battery.charge_percentage.value = machine.battery_percent
    battery.status = (
        robot_state_pb2.BatteryState.STATUS_CHARGING
        if machine.docked
        else robot_state_pb2.BatteryState.STATUS_DISCHARGING
    )
    _stops(machine, state, stamp_s)
    _kinematics(machine, state.kinematic_state, stamp_s)
    for number, cause in machine.behavior_faults.items():
        fault = state.behavior_fault_state.faults.add()
        fault.behavior_fault_id, fault.cause = number, _CAUSES.Value(f"CAUSE_{cause}")
        fault.status = robot_state_pb2.BehaviorFault.STATUS_CLEARABLE
    for raised in machine.service_faults.values():
        state.service_fault_state.faults.add().CopyFrom(raised)
    _arm(machine, state.manipulator_state)
    _feet(machine, state)
    behavior = robot_state_pb2.BehaviorState
    state.behavior_state.state = {
        Posture.SITTING: behavior.STATE_NOT_READY,
        Posture.STANDING: behavior.STATE_STANDING,
    }.get(machine.posture, behavior.STATE_TRANSITION)


def _stops(machine: Machine, state: Any, stamp_s: float) -> None:
    """The three stops of a robot; the software's is that of the clients' endpoints."""
    kinds = robot_state_pb2.EStopState
    for name, kind in (
        ("hardware_estop", kinds.TYPE_HARDWARE),
        ("payload_estop", kinds.TYPE_HARDWARE),
        ("software_estop", kinds.TYPE_SOFTWARE),
    ):
        stop = state.estop_states.add(name=name, type=kind, state=kinds.STATE_NOT_ESTOPPED)
        set_stamp(stop.timestamp, stamp_s)
        if kind == kinds.TYPE_SOFTWARE and machine.estopped:
            stop.state = kinds.STATE_ESTOPPED


def _kinematics(machine: Machine, kinematic: Any, stamp_s: float) -> None:
    set_stamp(kinematic.acquisition_timestamp, stamp_s)
    frames.fill(kinematic.transforms_snapshot, machine)
    agent = machine.world.agent
    in_odom = frames.odom_in_map(machine).inverse().compose(machine.world.base)
    in_vision = frames.VISION_IN_ODOM.inverse().compose(in_odom)
    for velocity, heading in (
        (kinematic.velocity_of_body_in_odom, in_odom.yaw_rad),
        (kinematic.velocity_of_body_in_vision, in_vision.yaw_rad),
    ):
        velocity.linear.x = agent.linear_m_s * math.cos(heading)
        velocity.linear.y = agent.linear_m_s * math.sin(heading)
        velocity.angular.z = agent.angular_rad_s
    standing = machine.posture in (Posture.STANDING, Posture.SITTING_DOWN)
    bent = _STANDING_RAD if standing else _LYING_RAD
    values = {f"{leg}.{joint}": angle for leg in _LEGS for joint, angle in bent.items()}
    values |= dict.fromkeys((f"arm0.{name}" for name in (*JOINTS, "f1x")), 0.0)
    values["arm0.sh0"], values["arm0.wr0"] = agent.pan_rad, agent.tilt_rad
    if machine.arm_joints_rad is not None:
        values.update(zip((f"arm0.{name}" for name in JOINTS), machine.arm_joints_rad, strict=True))
    values["arm0.f1x"] = CLAW_OPEN_RAD * machine.gripper
    for name, value in values.items():
        joint = kinematic.joint_states.add()
        joint.name, joint.position.value = name, value
        joint.velocity.value = joint.load.value = 0.0


def _arm(machine: Machine, arm: Any) -> None:
    arm.gripper_open_percentage = 100.0 * machine.gripper
    arm.is_gripper_holding_item = machine.holds
    kinds = robot_state_pb2.ManipulatorState
    arm.carry_state = kinds.CARRY_STATE_NOT_CARRIABLE
    if machine.carriable:
        arm.carry_state = (
            kinds.CARRY_STATE_CARRIABLE_AND_STOWABLE
            if machine.stowable
            else kinds.CARRY_STATE_CARRIABLE
        )
    stowed = machine.stowed
    arm.stow_state = kinds.STOWSTATE_STOWED if stowed else kinds.STOWSTATE_DEPLOYED


def _hardware(_machine: Machine, _request: Any, response: Any) -> None:
    configuration = response.hardware_configuration
    configuration.skeleton.urdf = "<robot name='emulated'/>"
    configuration.has_audio_visual_system = True
    configuration.can_power_command_request_off_robot = False


def _metrics(_machine: Machine, _request: Any, response: Any) -> None:
    response.robot_metrics.metrics.add().label = "distance"


def _feet(machine: Machine, state: Any) -> None:
    """All four on the ground, below the hips; front left, front right, hind left, hind right."""
    height_m = frames.body_in_base(machine).position_m[2]
    for ahead in (1.0, -1.0):
        for left in (1.0, -1.0):
            foot = state.foot_state.add()
            foot.contact = robot_state_pb2.FootState.CONTACT_MADE
            position = foot.foot_position_rt_body
            position.x, position.y, position.z = ahead * HIP_M[0], left * HIP_M[1], -height_m
