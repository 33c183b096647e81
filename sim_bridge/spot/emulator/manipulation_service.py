"""Picking and walking to a pixel, a ray or a point, and the state of the held object."""

from __future__ import annotations

import math
from typing import Any

from bosdyn.api import geometry_pb2, manipulation_api_pb2, robot_state_pb2

from planner.world.geometry import Pose, Vec3
from sim_bridge.spot.convert import fill_tree, pose_in
from sim_bridge.spot.emulator import frames
from sim_bridge.spot.emulator.machine import GRASP_S, Machine, Motors, Posture
from sim_bridge.spot.emulator.motions import Grasp, GraspState, Walk
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
        tree = frames.tree(machine)
        if grasp is not None and grasp.target is not None:
            in_odom = frames.odom_in_map(machine).inverse().apply(grasp.target)
            name = "gripper_nearest_object" if grasp.takes else RAYCAST
            tree[name] = (frames.ODOM, Pose(in_odom))
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
                frames.ODOM,
                command.frame_name_image_sensor,
            )
            camera = frames.odom_in_map(machine).compose(in_odom)
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
    return frames.in_map(machine, frame, Pose((point.x, point.y, point.z))).position_m


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
