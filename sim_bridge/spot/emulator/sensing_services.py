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

_LEGS = tuple(f"{leg}.{joint}" for leg in ("fl", "fr", "hl", "hr") for joint in ("hx", "hy", "kn"))
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
    battery.identifier, battery.voltage.value, battery.current.value = "emulated", 52.0, -4.0
    battery.charge_percentage.value = machine.battery_percent
    battery.status = (
        robot_state_pb2.BatteryState.STATUS_CHARGING
        if machine.docked
        else robot_state_pb2.BatteryState.STATUS_DISCHARGING
    )
    stop = state.estop_states.add()
    stop.name, stop.type = "software_estop", robot_state_pb2.EStopState.TYPE_SOFTWARE
    kinds = robot_state_pb2.EStopState
    stop.state = kinds.STATE_ESTOPPED if machine.estopped else kinds.STATE_NOT_ESTOPPED
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
    values = dict.fromkeys((*_LEGS, *(f"arm0.{name}" for name in (*JOINTS, "f1x"))), 0.0)
    values["arm0.sh0"], values["arm0.wr0"] = agent.pan_rad, agent.tilt_rad
    if machine.arm_joints_rad is not None:
        values.update(zip((f"arm0.{name}" for name in JOINTS), machine.arm_joints_rad, strict=True))
    values["arm0.f1x"] = -1.5 * machine.gripper
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
