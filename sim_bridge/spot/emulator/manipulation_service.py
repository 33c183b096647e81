"""Commands towards things: picking, wiping, opening doors, docking."""

from __future__ import annotations

import math
from typing import Any

from bosdyn.api import (
    basic_command_pb2,
    geometry_pb2,
    lease_pb2,
    manipulation_api_pb2,
    robot_state_pb2,
)
from bosdyn.api.docking import docking_pb2
from bosdyn.api.spot import door_pb2

from planner.world.geometry import Pose, Vec3
from sim_bridge.embedded.entities import OPEN_ENOUGH
from sim_bridge.spot.convert import fill_tree, pose_in, seconds_of, set_stamp
from sim_bridge.spot.emulator import service
from sim_bridge.spot.emulator.arm_commands import CommandError, need_power, pose_reach
from sim_bridge.spot.emulator.house_world import Docking, Grasp, GraspState, Pull, Walk
from sim_bridge.spot.emulator.machine import GRASP_S, JOINT_S, Machine, Motors, Posture
from sim_bridge.spot.emulator.service import Handler, use_lease

# Distance at which the robot stops before its target if the client names none.
OFFSET_M = 1.0
# For picking it comes closer.
PICK_FROM_M = 0.8
# A point in space selects things within this distance.
_NEAR_M = 0.1
_WALK_S = 30.0
_API = manipulation_api_pb2
RAYCAST = "walkto_raycast_intersection"


class Picks:
    """The accepted picks and walks, by number."""

    def __init__(self) -> None:
        self._picks: dict[int, Grasp] = {}
        self._plan: Grasp | None = None

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The service with its methods."""
        return {
            "bosdyn.api.ManipulationApiService": {
                "ManipulationApi": self._begin,
                "ManipulationApiFeedback": self._feedback,
                "OverrideGrasp": _override,
            }
        }

    def _begin(self, machine: Machine, request: Any, response: Any) -> None:
        if not use_lease(machine, request.lease, response.lease_use_result):
            return
        number = response.manipulation_cmd_id = machine.next_number()
        grasp = Grasp(0, None, machine.now_s + GRASP_S)
        self._picks[number] = grasp
        kind = request.WhichOneof("manipulation_cmd")
        if kind is None or machine.motors is not Motors.ON or machine.behavior_faults:
            grasp.state = GraspState.FAILED
            return
        command = getattr(request, kind)
        if kind == "pick_object_execute_plan":
            self._execute(machine, number)
        elif kind.startswith("walk_to"):
            self._walk_up(machine, grasp, kind, command)
        else:
            self._pick(machine, grasp, kind, command)
        machine.grasp = self._picks[number]

    def _execute(self, machine: Machine, number: int) -> None:
        plan, self._plan = self._plan, None
        if plan is None:
            self._picks[number].state = GraspState.NO_SOLUTION
            return
        plan.state, plan.ready_s = GraspState.MOVING, machine.now_s + GRASP_S
        self._picks[number] = plan

    def _pick(self, machine: Machine, grasp: Grasp, kind: str, command: Any) -> None:
        world = machine.world
        _aim(machine, grasp, kind, command)
        if grasp.state is not GraspState.MOVING:
            return
        thing = any(t.instance_id == grasp.instance for t in world.world.things.values())
        if not thing and grasp.handle is None:
            grasp.state = GraspState.NO_SOLUTION
            return
        mode = command.walk_gaze_mode if kind != "pick_object" else _API.PICK_AUTO_WALK_AND_GAZE
        if mode == _API.PICK_PLAN_ONLY:
            grasp.state, self._plan = GraspState.PLANNED, grasp
        elif (
            mode in (_API.PICK_AUTO_WALK_AND_GAZE, _API.PICK_WALK_GAZE_UNKNOWN)
            and thing
            and not world.can_take(grasp.instance)
        ):
            _walk(machine, grasp, PICK_FROM_M)

    def _walk_up(self, machine: Machine, grasp: Grasp, kind: str, command: Any) -> None:
        grasp.takes = False
        _aim(machine, grasp, kind, command)
        if grasp.state is GraspState.MOVING:
            asked = command.HasField("offset_distance")
            _walk(machine, grasp, command.offset_distance.value if asked else OFFSET_M)

    def _feedback(self, machine: Machine, request: Any, response: Any) -> None:
        grasp = self._picks.get(request.manipulation_cmd_id)
        state = GraspState.FAILED if grasp is None else grasp.state
        response.manipulation_cmd_id = request.manipulation_cmd_id
        response.current_state = manipulation_api_pb2.ManipulationFeedbackState.Value(state.value)
        tree = service.tree(machine)
        if grasp is not None and grasp.target is not None:
            in_odom = service.odom_in_map(machine).inverse().apply(grasp.target)
            name = "gripper_nearest_object" if grasp.takes else RAYCAST
            tree[name] = (service.ODOM, Pose(in_odom))
        fill_tree(response.transforms_snapshot_manipulation_data, tree)


def _aim(machine: Machine, grasp: Grasp, kind: str, command: Any) -> None:
    """Finds the command's target; without one the grasp fails."""
    world = machine.world
    point: Vec3 | None
    try:
        if kind == "pick_object":
            point = _point(machine, command.frame_name, command.object_rt_frame)
            instance = world.instance_near(point, _NEAR_M)
        elif kind.endswith("_in_image"):
            in_odom = pose_in(
                command.transforms_snapshot_for_camera,
                service.ODOM,
                command.frame_name_image_sensor,
            )
            camera = service.odom_in_map(machine).compose(in_odom)
            intrinsics = command.camera_model.intrinsics
            instance, point = world.hit(camera, _ray(command.pixel_xy, intrinsics))
        else:
            start = _point(machine, command.frame_name, command.ray_start_rt_frame)
            end = _point(machine, command.frame_name, command.ray_end_rt_frame)
            instance, point = world.between(start, end)
    except KeyError:
        grasp.state = GraspState.FAILED
        return
    if point is None:
        grasp.state = GraspState.NO_HIT
        return
    grasp.instance, grasp.target = instance, point
    grasp.handle = world.handle_at(instance, point)


def _walk(machine: Machine, grasp: Grasp, distance_m: float) -> None:
    """Straight towards the target, or away from it, up to a distance."""
    if grasp.target is None:
        return
    x, y, _ = machine.world.base.position_m
    dx, dy = grasp.target[0] - x, grasp.target[1] - y
    gap_m, heading = math.hypot(dx, dy), math.atan2(dy, dx)
    share = (gap_m - distance_m) / gap_m if gap_m > 0 else 0.0
    goal = Pose.planar(x + dx * share, y + dy * share, heading)
    if machine.posture is Posture.SITTING:
        machine.pose(stand=True)
    if machine.walk is not None:
        machine.walk.ended = True
    grasp.walk = machine.walk = Walk(ends_s=machine.now_s + _WALK_S, goal=goal)
    grasp.state = GraspState.WALKING


def _point(machine: Machine, frame: str, point: geometry_pb2.Vec3) -> Vec3:
    return service.in_map(machine, frame, Pose((point.x, point.y, point.z))).position_m


def _ray(pixel: Any, intrinsics: Any) -> Vec3:
    x = (pixel.x - intrinsics.principal_point.x) / intrinsics.focal_length.x
    y = (pixel.y - intrinsics.principal_point.y) / intrinsics.focal_length.y
    length = math.sqrt(x * x + y * y + 1)
    return (x / length, y / length, 1 / length)


def _override(machine: Machine, request: Any, response: Any) -> None:
    response.SetInParent()
    grasps = manipulation_api_pb2.ApiGraspOverride
    said = request.api_grasp_override.override_request
    if said:
        machine.holding_said = said == grasps.OVERRIDE_HOLDING
    carried = request.carry_state_override.override_request
    kinds = robot_state_pb2.ManipulatorState
    if carried:
        machine.carriable = carried != kinds.CARRY_STATE_NOT_CARRIABLE
        machine.stowable = carried == kinds.CARRY_STATE_CARRIABLE_AND_STOWABLE


# Commands by contact: wiping a surface, opening a door autonomously.

_DOOR = door_pb2.DoorCommand.Feedback
_COMMAND = basic_command_pb2.RobotCommandFeedbackStatus
# A handle is searched this many times beyond the end of the search ray.
_BEYOND = 2.0


class Contacts:
    """Door commands by number: the pull and its end, or None."""

    def __init__(self) -> None:
        self._doors: dict[int, tuple[Pull, float] | None] = {}
        self._latest = 0

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The services with their methods."""
        return {
            "bosdyn.api.ArmSurfaceContactService": {"ArmSurfaceContact": _wipe},
            "bosdyn.api.spot.DoorService": {
                "OpenDoor": self._open,
                "OpenDoorFeedback": self._feedback,
            },
        }

    def _open(self, machine: Machine, request: Any, response: Any) -> None:
        """Grasps the handle near the search ray and pulls it open."""
        if not use_lease(machine, request.lease, response.lease_use_result):
            return
        try:
            need_power(machine)
        except CommandError as error:
            response.status, response.message = response.STATUS_ROBOT_COMMAND_ERROR, str(error)
            return
        response.status = response.STATUS_OK
        number = response.door_command_id = self._latest = machine.next_number()
        self._doors[number] = None
        command = request.door_command
        if not command.HasField("auto_grasp_command"):
            response.status = response.STATUS_ROBOT_COMMAND_ERROR
            response.message = "only the automatic grasp is emulated"
            return
        ray, world = command.auto_grasp_command, machine.world
        start = _contact_services_point(machine, ray.frame_name, ray.search_ray_start_in_frame)
        end = _contact_services_point(machine, ray.frame_name, ray.search_ray_end_in_frame)
        instance, point = world.between(start, _further(start, end))
        handle = None if point is None else world.handle_at(instance, point)
        if handle is None:
            return
        was = handle.piece.opening[handle.joint.name]
        since_s = machine.now_s + GRASP_S
        pull = machine.pull = Pull(handle, 1.0 if was < OPEN_ENOUGH else was, since_s, was)
        machine.held_handle = handle
        self._doors[number] = (pull, since_s + JOINT_S)

    def _feedback(self, machine: Machine, request: Any, response: Any) -> None:
        number = request.door_command_id
        response.status = _COMMAND.STATUS_PROCESSING
        if number not in self._doors or number != self._latest:
            response.status = _COMMAND.STATUS_COMMAND_OVERRIDDEN
            return
        begun = self._doors[number]
        if begun is None:
            response.feedback.status = _DOOR.STATUS_NOT_DETECTED
            return
        pull, ends_s = begun
        if machine.now_s >= ends_s:
            response.feedback.status = _DOOR.STATUS_COMPLETED
            if machine.pull is pull:
                machine.pull = machine.held_handle = None
        elif machine.pull is not pull or pull.lost:
            response.feedback.status = _DOOR.STATUS_STALLED
        else:
            response.feedback.status = _DOOR.STATUS_IN_PROGRESS


def _wipe(machine: Machine, request: Any, response: Any) -> None:
    """Follows the trajectory without contact; the response has no status."""
    response.SetInParent()
    if not use_lease(machine, request.lease, lease_pb2.LeaseUseResult()):
        return
    try:
        need_power(machine)
        machine.reach = pose_reach(
            machine, request.request, request.request.pose_trajectory_in_task
        )
    except (CommandError, KeyError):
        return
    points = request.request.gripper_command.trajectory.points
    if points:
        machine.move_gripper(min(1.0, max(0.0, points[-1].point / -1.5708)))


def _contact_services_point(machine: Machine, frame: str, point: Any) -> Vec3:
    return service.in_map(machine, frame, Pose((point.x, point.y, point.z))).position_m


def _further(start: Vec3, end: Vec3) -> Vec3:
    x, y, z = (a + (b - a) * _BEYOND for a, b in zip(start, end, strict=True))
    return (x, y, z)


# The dock: docking, undocking, and whether the robot is on it.

# Maximum distance at which a robot sees the dock's marker.
NEAR_M = 1.5
_STATUS = docking_pb2.DockingCommandFeedbackResponse


class Docks:
    """The accepted commands, by number."""

    def __init__(self) -> None:
        self._commands: dict[int, Docking] = {}

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The service with its methods."""
        return {
            "bosdyn.api.docking.DockingService": {
                "DockingCommand": self._command,
                "DockingCommandFeedback": self._feedback,
                "GetDockingConfig": _config,
                "GetDockingState": _state,
            }
        }

    def _command(self, machine: Machine, request: Any, response: Any) -> None:
        if not use_lease(machine, request.lease, response.lease_use_result):
            response.status = response.STATUS_ERROR_LEASE
            return
        undocks = request.prep_pose_behavior == docking_pb2.PREP_POSE_UNDOCK
        dock = machine.docks.get(request.docking_station_id)
        if machine.motors is not Motors.ON or machine.behavior_faults:
            response.status = response.STATUS_ERROR_NOT_AVAILABLE
        elif undocks and not machine.docked:
            response.status = response.STATUS_ERROR_NOT_DOCKED
        elif not undocks and machine.world.agent.holding is not None:
            response.status = response.STATUS_ERROR_GRIPPER_HOLDING_ITEM
        elif not undocks and (dock is None or _gap_m(machine, dock) > NEAR_M):
            response.status = response.STATUS_ERROR_DOCK_NOT_FOUND
        else:
            number = response.docking_command_id = machine.next_number()
            ends_s = seconds_of(request.end_time) - machine.skew_s
            if machine.posture is Posture.SITTING and not undocks:
                machine.pose(stand=True)
            machine.halt()
            station = 0 if undocks else request.docking_station_id
            machine.docking = self._commands[number] = Docking(station, ends_s)
            response.status = response.STATUS_OK

    def _feedback(self, machine: Machine, request: Any, response: Any) -> None:
        docking = self._commands.get(request.docking_command_id)
        if docking is None:
            response.status = _STATUS.STATUS_OLD_DOCKING_COMMAND
            return
        if request.HasField("update_docking_params"):
            ends_s = seconds_of(request.update_docking_params.end_time) - machine.skew_s
            docking.ends_s = max(docking.ends_s, ends_s)
        if docking.done:
            docked = bool(docking.station)
            response.status = _STATUS.STATUS_DOCKED if docked else _STATUS.STATUS_AT_PREP_POSE
        elif docking is machine.docking:
            response.status = _STATUS.STATUS_IN_PROGRESS
        else:
            response.status = _STATUS.STATUS_ERROR_COMMAND_TIMED_OUT


def _gap_m(machine: Machine, dock: tuple[float, float]) -> float:
    return math.dist(machine.world.base.position_m[:2], dock)


def _config(machine: Machine, _request: Any, response: Any) -> None:
    for number in machine.docks:
        response.dock_configs.add(
            id_start=number, id_end=number, type=docking_pb2.DOCK_TYPE_SPOT_DOCK
        )


def _state(machine: Machine, _request: Any, response: Any) -> None:
    shown, kinds = response.dock_state, docking_pb2.DockState
    moving, docked = machine.docking, machine.docked
    if moving is not None:
        shown.status = kinds.DOCK_STATUS_DOCKING if moving.station else kinds.DOCK_STATUS_UNDOCKING
    else:
        shown.status = kinds.DOCK_STATUS_DOCKED if docked else kinds.DOCK_STATUS_UNDOCKED
    if docked:
        shown.dock_id, shown.dock_type = docked, docking_pb2.DOCK_TYPE_SPOT_DOCK
        shown.power_status = kinds.LINK_STATUS_CONNECTED
    set_stamp(response.header.response_timestamp, machine.now_s + machine.skew_s)
