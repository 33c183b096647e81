"""The robot's state, and the world objects that it knows: markers, docks, no-go regions."""

from __future__ import annotations

import math
from typing import Any

from bosdyn.api import robot_state_pb2, world_object_pb2
from bosdyn.api.docking import docking_pb2
from shapely.geometry import Polygon

from planner.world.geometry import Pose
from sim_bridge.spot.convert import fill_tree, pose_of, seconds_of, set_stamp
from sim_bridge.spot.emulator import service
from sim_bridge.spot.emulator.body_geometry import JOINTS
from sim_bridge.spot.emulator.machine import Machine, Motors, Posture
from sim_bridge.spot.emulator.recorded_graph import Marker
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
        }
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
    service.fill(kinematic.transforms_snapshot, machine)
    agent = machine.world.agent
    in_odom = service.odom_in_map(machine).inverse().compose(machine.world.base)
    in_vision = service.VISION_IN_ODOM.inverse().compose(in_odom)
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
    height_m = service.body_in_base(machine).position_m[2]
    for ahead in (1.0, -1.0):
        for left in (1.0, -1.0):
            foot = state.foot_state.add()
            foot.contact = robot_state_pb2.FootState.CONTACT_MADE
            position = foot.foot_position_rt_body
            position.x, position.y, position.z = ahead * HIP_M[0], left * HIP_M[1], -height_m


# World objects: the markers, the docks, no-go regions, and objects added by clients.

# Numbers of detected objects: docks from 1, markers from 1001.
_FIRST_DOCK_ID, _FIRST_MARKER_ID = 1, 1001
# The robot lists what it detected within this time (robot_services.md, "world-object").
_LISTED_S = 15.0
_CAMERA = "frontleft_fisheye"
# Lifetime of an added object for which the client gives none.
_LIFETIME_S = 15.0
_REPLY = world_object_pb2.MutateWorldObjectResponse
_ACTIONS = world_object_pb2.MutateWorldObjectRequest
# The field that identifies each kind of object.
_KINDS = {
    world_object_pb2.WORLD_OBJECT_DRAWABLE: "drawable_properties",
    world_object_pb2.WORLD_OBJECT_APRILTAG: "apriltag_properties",
    world_object_pb2.WORLD_OBJECT_IMAGE_COORDINATES: "image_properties",
    world_object_pb2.WORLD_OBJECT_DOCK: "dock_properties",
    world_object_pb2.WORLD_OBJECT_TRACKED_ENTITY: "tracked_entity_properties",
    world_object_pb2.WORLD_OBJECT_USER_NOGO: "nogo_region_properties",
    world_object_pb2.WORLD_OBJECT_STAIRCASE: "staircase_properties",
}


class WorldObjects:
    """Objects added by clients besides regions, by number, with their expiry."""

    def __init__(self) -> None:
        self._added: dict[int, tuple[Any, float]] = {}

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The service with its methods."""
        return {
            "bosdyn.api.WorldObjectService": {
                "ListWorldObjects": self._list,
                "MutateWorldObjects": self._mutate,
            }
        }

    def _mutate(self, machine: Machine, request: Any, response: Any) -> None:
        """Adds, changes or deletes objects of clients; detected objects cannot be changed."""
        changed, action = request.mutation.object, request.mutation.action
        own = changed.id in self._added or changed.id in machine.no_go
        if action != _ACTIONS.ACTION_ADD and changed.id in _seen_ids(machine):
            response.status = _REPLY.STATUS_NO_PERMISSION
        elif action != _ACTIONS.ACTION_ADD and changed.id and not own:
            response.status = _REPLY.STATUS_INVALID_MUTATION_ID
        elif action == _ACTIONS.ACTION_DELETE:
            gone = self._added.pop(changed.id, None) or machine.no_go.pop(changed.id, None)
            response.status = _REPLY.STATUS_OK if gone else _REPLY.STATUS_INVALID_MUTATION_ID
        elif changed.HasField("nogo_region_properties"):
            self._keep_out(machine, changed, response)
        else:
            number = changed.id if own else _next_free(machine)
            until_s = machine.now_s + (seconds_of(changed.object_lifetime) or _LIFETIME_S)
            self._added[number] = (changed, until_s)
            response.mutated_object_id, response.status = number, _REPLY.STATUS_OK
        machine.world.no_go = [region for _, region, _ in machine.no_go.values()]

    def _keep_out(self, machine: Machine, changed: Any, response: Any) -> None:
        if not changed.nogo_region_properties.HasField("box"):
            response.status = _REPLY.STATUS_INVALID_WORLD_OBJECT
            return
        number = changed.id if changed.id in machine.no_go else _next_free(machine)
        until_s = machine.now_s + (seconds_of(changed.object_lifetime) or _LIFETIME_S)
        machine.no_go[number] = (changed, _region(machine, changed), until_s)
        response.mutated_object_id, response.status = number, _REPLY.STATUS_OK

    def _list(self, machine: Machine, request: Any, response: Any) -> None:
        self._added = {n: kept for n, kept in self._added.items() if kept[1] >= machine.now_s}
        found = [*_markers(machine), *_docks(machine)]
        tree = service.tree(machine)
        added = {n: message for n, (message, _) in self._added.items()}
        added |= {n: message for n, (message, _, _) in machine.no_go.items()}
        for number, message in added.items():
            shown = world_object_pb2.WorldObject()
            shown.CopyFrom(message)
            shown.id = number
            # Spot adds its own frames to those from the client.
            own = {
                name: (edge.parent_frame_name, pose_of(edge.parent_tform_child))
                for name, edge in message.transforms_snapshot.child_to_parent_edge_map.items()
                if name not in tree and edge.parent_frame_name
            }
            fill_tree(shown.transforms_snapshot, {**tree, **own})
            found.append(shown)
        since_s = seconds_of(request.timestamp_filter)
        for shown in found:
            kind = not request.object_type or any(
                shown.HasField(_KINDS[code]) for code in request.object_type if code in _KINDS
            )
            if kind and seconds_of(shown.acquisition_time) >= since_s:
                response.world_objects.add().CopyFrom(shown)


def _seen_ids(machine: Machine) -> set[int]:
    docks = range(_FIRST_DOCK_ID, _FIRST_DOCK_ID + len(machine.docks))
    return {*docks, *range(_FIRST_MARKER_ID, _FIRST_MARKER_ID + len(machine.markers))}


def _next_free(machine: Machine) -> int:
    """A number for a new object, different from those of detected ones."""
    number = machine.next_number()
    while number in _seen_ids(machine):
        number = machine.next_number()
    return number


def _region(machine: Machine, changed: Any) -> Polygon:
    """A region on the map's ground."""
    where = changed.nogo_region_properties.box
    middle = service.in_map(machine, where.frame_name, pose_of(where.frame_name_tform_box))
    x, y = where.box.size.x / 2, where.box.size.y / 2
    return Polygon([middle.apply((a, b, 0.0))[:2] for a, b in ((x, y), (-x, y), (-x, -y), (x, -y))])


def _markers(machine: Machine) -> list[Any]:
    """The markers detected of late; walls hide none of them."""
    return [
        _marker(machine, _FIRST_MARKER_ID + index, marker)
        for index, marker in enumerate(machine.markers)
        if marker.age_s <= _LISTED_S
    ]


def _marker(machine: Machine, number: int, marker: Marker) -> Any:
    """One marker: raw pose under the camera that saw it, filtered pose under vision."""
    name = f"fiducial_{marker.tag}"
    found = world_object_pb2.WorldObject(id=number, name=f"world_obj_apriltag_{marker.tag}")
    set_stamp(found.acquisition_time, machine.now_s + machine.skew_s - marker.age_s)
    tree = service.tree(machine)
    camera = service.in_map(machine, _CAMERA, Pose((0.0, 0.0, 0.0)))
    vision = service.in_map(machine, service.VISION, Pose((0.0, 0.0, 0.0)))
    tree[name] = (_CAMERA, camera.inverse().compose(marker.in_map))
    tree[f"filtered_{name}"] = (service.VISION, vision.inverse().compose(marker.in_map))
    fill_tree(found.transforms_snapshot, tree)
    tag = found.apriltag_properties
    tag.tag_id, tag.dimensions.x, tag.dimensions.y = marker.tag, 0.146, 0.146
    tag.frame_name_fiducial, tag.frame_name_fiducial_filtered = name, f"filtered_{name}"
    tag.frame_name_camera = _CAMERA
    status = world_object_pb2.AprilTagProperties.AprilTagPoseStatus
    tag.fiducial_pose_status = status.Value(marker.status)
    tag.fiducial_filtered_pose_status = status.Value(marker.filtered_status)
    return found


def _docks(machine: Machine) -> list[Any]:
    """The configured docks; their orientations are unknown and reported as zero."""
    found = []
    for index, (number, (x, y)) in enumerate(machine.docks.items()):
        shown = world_object_pb2.WorldObject(id=_FIRST_DOCK_ID + index, name=f"dock_{number}")
        set_stamp(shown.acquisition_time, machine.now_s + machine.skew_s)
        in_odom = service.odom_in_map(machine).inverse().compose(Pose((x, y, 0.0)))
        name = f"dock_{number}"
        fill_tree(
            shown.transforms_snapshot, {**service.tree(machine), name: (service.ODOM, in_odom)}
        )
        dock = shown.dock_properties
        dock.dock_id, dock.type = number, docking_pb2.DOCK_TYPE_SPOT_DOCK
        dock.frame_name_dock = name
        found.append(shown)
    return found
