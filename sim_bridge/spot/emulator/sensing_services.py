"""What the robot knows: its state, its pictures, the markers that it sees."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
from bosdyn.api import image_pb2, robot_state_pb2, world_object_pb2
from shapely.geometry import Polygon

from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from sim_bridge.spot.convert import fill_tree, pose_of, seconds_of, set_stamp
from sim_bridge.spot.emulator import frames
from sim_bridge.spot.emulator.house_world import Shot
from sim_bridge.spot.emulator.machine import Machine, Motors, Posture
from sim_bridge.spot.emulator.service import Handler

# Picture source: the world's camera, whether it is depth, the sensor's frame.
SOURCES = {
    "hand_color_image": ("hand", False),
    "hand_depth_in_hand_color_frame": ("hand", True),
    "frontleft_fisheye_image": ("body", False),
    "frontleft_depth_in_visual_frame": ("body", True),
}
DEPTH_SCALE = 1000.0
# A marker on a wall at the map's origin, by which clients find themselves.
FIDUCIAL, FIDUCIAL_IN_MAP = 500, Pose((0.0, 0.0, 1.0))
_JOINTS = ("sh0", "sh1", "el0", "el1", "wr0", "wr1", "f1x")
_LEGS = tuple(f"{leg}.{joint}" for leg in ("fl", "fr", "hl", "hr") for joint in ("hx", "hy", "kn"))
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
        "bosdyn.api.ImageService": {"ListImageSources": _sources, "GetImage": _images},
        "bosdyn.api.WorldObjectService": {
            "ListWorldObjects": _objects,
            "MutateWorldObjects": _mutate,
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
    behavior = robot_state_pb2.BehaviorState
    state.behavior_state.state = {
        Posture.SITTING: behavior.STATE_NOT_READY,
        Posture.STANDING: behavior.STATE_STANDING,
    }.get(machine.posture, behavior.STATE_TRANSITION)


def _kinematics(machine: Machine, kinematic: Any, stamp_s: float) -> None:
    set_stamp(kinematic.acquisition_timestamp, stamp_s)
    frames.fill(kinematic.transforms_snapshot, machine)
    agent = machine.world.agent
    heading = frames.odom_in_map(machine).inverse().compose(machine.world.base).yaw_rad
    for velocity in (kinematic.velocity_of_body_in_odom, kinematic.velocity_of_body_in_vision):
        velocity.linear.x = agent.linear_m_s * math.cos(heading)
        velocity.linear.y = agent.linear_m_s * math.sin(heading)
        velocity.angular.z = agent.angular_rad_s
    values = dict.fromkeys((*_LEGS, *(f"arm0.{name}" for name in _JOINTS)), 0.0)
    values["arm0.sh0"], values["arm0.wr0"] = agent.pan_rad, agent.tilt_rad
    values["arm0.f1x"] = -1.5 * machine.gripper
    for name, value in values.items():
        joint = kinematic.joint_states.add()
        joint.name, joint.position.value = name, value
        joint.velocity.value = joint.load.value = 0.0


def _arm(machine: Machine, arm: Any) -> None:
    holding = machine.world.agent.holding is not None
    arm.gripper_open_percentage = 100.0 * machine.gripper
    arm.is_gripper_holding_item = holding or machine.held_handle is not None
    kinds = robot_state_pb2.ManipulatorState
    carriable = holding and machine.carriable
    arm.carry_state = kinds.CARRY_STATE_CARRIABLE if carriable else kinds.CARRY_STATE_NOT_CARRIABLE
    arm.stow_state = kinds.STOWSTATE_DEPLOYED if machine.reach else kinds.STOWSTATE_STOWED


def _hardware(_machine: Machine, _request: Any, response: Any) -> None:
    response.hardware_configuration.skeleton.urdf = "<robot name='emulated'/>"


def _metrics(_machine: Machine, _request: Any, response: Any) -> None:
    response.robot_metrics.metrics.add().label = "distance"


# Pictures


def _sources(machine: Machine, _request: Any, response: Any) -> None:
    for name in SOURCES:
        _describe(machine, name, response.image_sources.add())


def _describe(machine: Machine, name: str, source: Any, shot: Shot | None = None) -> None:
    camera, is_depth = SOURCES[name]
    mount = machine.world.agent.body.cameras[camera]  # type: ignore[index]
    source.name, source.cols, source.rows = name, mount.width_px, mount.height_px
    if is_depth:
        source.depth_scale = DEPTH_SCALE
        source.image_type = image_pb2.ImageSource.IMAGE_TYPE_DEPTH
    else:
        source.image_type = image_pb2.ImageSource.IMAGE_TYPE_VISUAL
    if shot is not None:
        lens, focal = shot.lens, source.pinhole.intrinsics
        focal.focal_length.x, focal.focal_length.y = lens.fx_px, lens.fy_px
        focal.principal_point.x, focal.principal_point.y = lens.cx_px, lens.cy_px


def _images(machine: Machine, request: Any, response: Any) -> None:
    for wanted in request.image_requests:
        answer = response.image_responses.add()
        if wanted.image_source_name not in SOURCES:
            answer.status = image_pb2.ImageResponse.STATUS_UNKNOWN_CAMERA
            continue
        try:
            shot = machine.world.shoot(SOURCES[wanted.image_source_name][0])
        except PlannerError:
            answer.status = image_pb2.ImageResponse.STATUS_SOURCE_DATA_ERROR
            continue
        answer.status = image_pb2.ImageResponse.STATUS_OK
        _fill_image(machine, wanted, shot, answer)


def _fill_image(machine: Machine, wanted: Any, shot: Shot, answer: Any) -> None:
    name = wanted.image_source_name
    camera, is_depth = SOURCES[name]
    _describe(machine, name, answer.source, shot)
    capture, image = answer.shot, answer.shot.image
    set_stamp(capture.acquisition_time, machine.now_s + machine.skew_s)
    frames.fill(capture.transforms_snapshot, machine)
    capture.frame_name_image_sensor = frames.SENSORS[camera]
    image.cols, image.rows = shot.lens.width_px, shot.lens.height_px
    if is_depth:
        millimetres = np.clip(np.rint(shot.images.depth_m * DEPTH_SCALE), 0, 65534)
        image.data = millimetres.astype("<u2").tobytes()
        image.pixel_format = image_pb2.Image.PIXEL_FORMAT_DEPTH_U16
        image.format = image_pb2.Image.FORMAT_RAW
        return
    image.pixel_format = image_pb2.Image.PIXEL_FORMAT_RGB_U8
    if wanted.image_format == image_pb2.Image.FORMAT_RAW:
        image.format, image.data = image_pb2.Image.FORMAT_RAW, shot.images.rgb.tobytes()
        return
    quality = int(wanted.quality_percent) or 75
    flags = [cv2.IMWRITE_JPEG_QUALITY, quality]
    _, data = cv2.imencode(".jpg", shot.images.rgb[:, :, ::-1], flags)
    image.format, image.data = image_pb2.Image.FORMAT_JPEG, data.tobytes()


def _mutate(machine: Machine, request: Any, response: Any) -> None:
    """Takes up, renews or forgets a region to keep out of; nothing else is emulated."""
    reply, actions = (
        world_object_pb2.MutateWorldObjectResponse,
        world_object_pb2.MutateWorldObjectRequest,
    )
    wanted, told = request.mutation.object, machine.no_go
    if request.mutation.action == actions.ACTION_DELETE:
        known = told.pop(wanted.id, None) is not None
        response.status = reply.STATUS_OK if known else reply.STATUS_INVALID_MUTATION_ID
    elif not wanted.nogo_region_properties.HasField("box"):
        response.status = reply.STATUS_INVALID_WORLD_OBJECT
    else:
        number = wanted.id if wanted.id in told else machine.next_number()
        until_s = machine.now_s + (seconds_of(wanted.object_lifetime) or 15.0)
        told[number] = (wanted, _region(machine, wanted), until_s)
        response.mutated_object_id, response.status = number, reply.STATUS_OK
    machine.world.no_go = [region for _, region, _ in told.values()]


def _region(machine: Machine, wanted: Any) -> Polygon:
    """A region on the map's ground."""
    where = wanted.nogo_region_properties.box
    middle = frames.in_map(machine, where.frame_name, pose_of(where.frame_name_tform_box))
    x, y = where.box.size.x / 2, where.box.size.y / 2
    return Polygon([middle.apply((a, b, 0.0))[:2] for a, b in ((x, y), (-x, y), (-x, -y), (x, -y))])


def _objects(machine: Machine, _request: Any, response: Any) -> None:
    for number, (region, _, _) in machine.no_go.items():
        shown = response.world_objects.add()
        shown.CopyFrom(region)
        shown.id = number
    found = response.world_objects.add()
    name = f"fiducial_{FIDUCIAL}"
    found.id, found.name = 1, name
    set_stamp(found.acquisition_time, machine.now_s + machine.skew_s)
    tree = frames.tree(machine)
    in_odom = frames.odom_in_map(machine).inverse().compose(FIDUCIAL_IN_MAP)
    for frame in (name, f"filtered_{name}"):
        tree[frame] = (frames.ODOM, in_odom)
    fill_tree(found.transforms_snapshot, tree)
    tag = found.apriltag_properties
    tag.tag_id, tag.dimensions.x, tag.dimensions.y = FIDUCIAL, 0.146, 0.146
    tag.frame_name_fiducial, tag.frame_name_fiducial_filtered = name, f"filtered_{name}"
    good = world_object_pb2.AprilTagProperties.STATUS_OK
    tag.fiducial_pose_status = tag.fiducial_filtered_pose_status = good
