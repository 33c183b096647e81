"""Queries without motion: ray casts and reachability of the arm."""

from __future__ import annotations

import math
from typing import Any

from bosdyn.api import ray_cast_pb2
from bosdyn.api.spot import inverse_kinematics_pb2

from planner.world.geometry import Pose, Vec3
from sim_bridge.spot.convert import pose_of
from sim_bridge.spot.emulator import frames
from sim_bridge.spot.emulator.body_geometry import JOINTS, joints_for
from sim_bridge.spot.emulator.machine import Machine
from sim_bridge.spot.emulator.service import Handler

_KINDS = ray_cast_pb2.RayIntersection
_ALL = (_KINDS.TYPE_GROUND_PLANE, _KINDS.TYPE_TERRAIN_MAP, _KINDS.TYPE_VOXEL_MAP)
_FAR_M = 20.0
_HERE = Pose((0.0, 0.0, 0.0))


def handlers() -> dict[str, dict[str, Handler]]:
    """The services with their methods."""
    return {
        "bosdyn.api.RayCastService": {"Raycast": _cast},
        "bosdyn.api.spot.InverseKinematicsService": {"InverseKinematics": _reach},
    }


def _cast(machine: Machine, request: Any, response: Any) -> None:
    """Both of a robot's maps contain the true geometry here."""
    way = request.ray.direction
    length = math.sqrt(way.x**2 + way.y**2 + way.z**2)
    if length == 0.0:
        response.status, response.message = response.STATUS_INVALID_REQUEST, "no direction"
        return
    wanted = list(request.intersection_types) or list(_ALL)
    if not set(wanted) <= set(_ALL):
        response.status = response.STATUS_INVALID_INTERSECTION_TYPE
        return
    start = request.ray.origin
    try:
        origin = frames.in_map(machine, request.ray_frame_name, _at(start.x, start.y, start.z))
        ahead = _FAR_M / length
        end = frames.in_map(
            machine,
            request.ray_frame_name,
            _at(start.x + way.x * ahead, start.y + way.y * ahead, start.z + way.z * ahead),
        )
    except KeyError:
        response.status = response.STATUS_UNKNOWN_FRAME
        return
    to_odom = frames.odom_in_map(machine).inverse()
    found: list[tuple[float, int, Vec3]] = []
    for kind in wanted:
        point = _meets(machine, kind, origin.position_m, end.position_m)
        if point is not None:
            distance_m = math.dist(origin.position_m, point)
            if distance_m >= request.min_intersection_distance:
                found.append((distance_m, kind, to_odom.apply(point)))
    for distance_m, kind, (x, y, z) in sorted(found):
        hit = response.hits.add(type=kind, distance_meters=distance_m)
        spot = hit.hit_position_in_hit_frame
        spot.x, spot.y, spot.z = x, y, z
    response.hit_frame_name = frames.ODOM
    frames.fill(response.transforms_snapshot, machine)
    response.status = response.STATUS_OK


def _meets(machine: Machine, kind: int, start: Vec3, end: Vec3) -> Vec3 | None:
    if kind != _KINDS.TYPE_GROUND_PLANE:
        return machine.world.between(start, end)[1]
    drop = start[2] - end[2]
    if drop == 0.0 or not 0.0 <= start[2] / drop <= 1.0:
        return None
    share = start[2] / drop
    return (start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share, 0.0)


def _at(x: float, y: float, z: float) -> Pose:
    return Pose((x, y, z))


def _reach(machine: Machine, request: Any, response: Any) -> None:
    """The arm alone, with the body at its current pose."""
    reply = inverse_kinematics_pb2.InverseKinematicsResponse
    response.status = reply.STATUS_NO_SOLUTION_FOUND
    if not request.HasField("tool_pose_task"):
        return
    task = _pose(request, "root_tform_scene").compose(_pose(request, "scene_tform_task"))
    tool = task.compose(pose_of(request.tool_pose_task.task_tform_desired_tool))
    if request.HasField("wrist_mounted_tool"):
        tool_in_wrist = pose_of(request.wrist_mounted_tool.wrist_tform_tool)
        tool = tool.compose(tool_in_wrist.inverse()).compose(frames.WRIST_IN_HAND.inverse())
    body = machine.world.base.compose(frames.body_in_base(machine))
    hand = body.inverse().compose(frames.in_map(machine, request.root_frame_name, tool))
    joints = joints_for(hand)
    if joints is None:
        return
    response.status = reply.STATUS_OK
    configuration = response.robot_configuration
    frames.fill(configuration.transforms_snapshot, machine)
    for name, value in zip(JOINTS, joints, strict=True):
        configuration.joint_states.add(name=f"arm0.{name}").position.value = value


def _pose(request: Any, field: str) -> Pose:
    return pose_of(getattr(request, field)) if request.HasField(field) else _HERE
