"""Queries without motion: ray casts, reachability of the arm, images."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
from bosdyn.api import image_pb2, ray_cast_pb2
from bosdyn.api.spot import inverse_kinematics_pb2

from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3
from sim_bridge.embedded.sensing import intrinsics_of
from sim_bridge.spot.convert import pose_of, set_stamp
from sim_bridge.spot.emulator import service
from sim_bridge.spot.emulator.body_geometry import JOINTS, SOURCES, Kind, joints_for, mount_of
from sim_bridge.spot.emulator.house_world import Shot
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
        origin = service.in_map(machine, request.ray_frame_name, _at(start.x, start.y, start.z))
        ahead = _FAR_M / length
        end = service.in_map(
            machine,
            request.ray_frame_name,
            _at(start.x + way.x * ahead, start.y + way.y * ahead, start.z + way.z * ahead),
        )
    except KeyError:
        response.status = response.STATUS_UNKNOWN_FRAME
        return
    to_odom = service.odom_in_map(machine).inverse()
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
    response.hit_frame_name = service.ODOM
    service.fill(response.transforms_snapshot, machine)
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
        tool = tool.compose(tool_in_wrist.inverse()).compose(service.WRIST_IN_HAND.inverse())
    body = machine.world.base.compose(service.body_in_base(machine))
    hand = body.inverse().compose(service.in_map(machine, request.root_frame_name, tool))
    joints = joints_for(hand)
    if joints is None:
        return
    response.status = reply.STATUS_OK
    configuration = response.robot_configuration
    service.fill(configuration.transforms_snapshot, machine)
    for name, value in zip(JOINTS, joints, strict=True):
        configuration.joint_states.add(name=f"arm0.{name}").position.value = value


def _pose(request: Any, field: str) -> Pose:
    return pose_of(getattr(request, field)) if request.HasField(field) else _HERE


# Image service: the hand's cameras and the five of the body, colour, grey and depth.

DEPTH_SCALE = 1000.0
_IMAGE = image_pb2.Image
# Default format of each kind of source, and other supported ones.
_FORMATS = {
    Kind.COLOR: (_IMAGE.PIXEL_FORMAT_RGB_U8, _IMAGE.PIXEL_FORMAT_GREYSCALE_U8),
    Kind.COLOR_OR_GREY: (_IMAGE.PIXEL_FORMAT_GREYSCALE_U8, _IMAGE.PIXEL_FORMAT_RGB_U8),
    Kind.GREY: (_IMAGE.PIXEL_FORMAT_GREYSCALE_U8,),
    Kind.DEPTH: (_IMAGE.PIXEL_FORMAT_DEPTH_U16,),
}


def image_handlers() -> dict[str, dict[str, Handler]]:
    """The service with its methods."""
    return {"bosdyn.api.ImageService": {"ListImageSources": _sources, "GetImage": _images}}


def _sources(machine: Machine, _request: Any, response: Any) -> None:
    for name in SOURCES:
        _describe(machine, name, response.image_sources.add())


def _describe(machine: Machine, name: str, shown: Any) -> None:
    source = SOURCES[name]
    intrinsics = intrinsics_of(mount_of(machine.world.agent, source.camera))
    shown.name, shown.cols, shown.rows = name, intrinsics.width_px, intrinsics.height_px
    shown.pixel_formats.extend(_FORMATS[source.kind])
    shown.image_formats.append(_IMAGE.FORMAT_RAW)
    if source.kind is Kind.DEPTH:
        shown.depth_scale = DEPTH_SCALE
        shown.image_type = image_pb2.ImageSource.IMAGE_TYPE_DEPTH
    else:
        shown.image_formats.append(_IMAGE.FORMAT_JPEG)
        shown.image_type = image_pb2.ImageSource.IMAGE_TYPE_VISUAL
    focal = shown.pinhole.intrinsics
    focal.focal_length.x, focal.focal_length.y = intrinsics.fx_px, intrinsics.fy_px
    focal.principal_point.x, focal.principal_point.y = intrinsics.cx_px, intrinsics.cy_px


def _images(machine: Machine, request: Any, response: Any) -> None:
    shots: dict[str, Shot] = {}
    for wanted in request.image_requests:
        answer = response.image_responses.add()
        source = SOURCES.get(wanted.image_source_name)
        if source is None:
            answer.status = image_pb2.ImageResponse.STATUS_UNKNOWN_CAMERA
            continue
        allowed = (_IMAGE.PIXEL_FORMAT_UNKNOWN, *_FORMATS[source.kind])
        if wanted.pixel_format not in allowed:
            answer.status = image_pb2.ImageResponse.STATUS_UNSUPPORTED_PIXEL_FORMAT_REQUESTED
            continue
        try:
            # Sources of one camera in one request share an exposure.
            if source.camera not in shots:
                shots[source.camera] = machine.world.shoot(source.camera)
        except PlannerError:
            answer.status = image_pb2.ImageResponse.STATUS_SOURCE_DATA_ERROR
            continue
        answer.status = image_pb2.ImageResponse.STATUS_OK
        _fill(machine, wanted, shots[source.camera], answer)


def _fill(machine: Machine, wanted: Any, shot: Shot, answer: Any) -> None:
    name = wanted.image_source_name
    source = SOURCES[name]
    _describe(machine, name, answer.source)
    capture, image = answer.shot, answer.shot.image
    set_stamp(capture.acquisition_time, machine.now_s + machine.skew_s)
    service.fill(capture.transforms_snapshot, machine)
    capture.frame_name_image_sensor = source.frame
    image.cols, image.rows = shot.intrinsics.width_px, shot.intrinsics.height_px
    image.pixel_format = wanted.pixel_format or _FORMATS[source.kind][0]
    if source.kind is Kind.DEPTH:
        millimetres = np.clip(np.rint(shot.images.depth_m * DEPTH_SCALE), 0, 65534)
        image.data = millimetres.astype("<u2").tobytes()
        image.format = _IMAGE.FORMAT_RAW
        return
    rgb = shot.images.rgb
    grey = image.pixel_format == _IMAGE.PIXEL_FORMAT_GREYSCALE_U8
    if wanted.image_format == _IMAGE.FORMAT_RAW:
        pixels = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY) if grey else rgb
        image.format, image.data = _IMAGE.FORMAT_RAW, pixels.tobytes()
        return
    pixels = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY) if grey else rgb[:, :, ::-1]
    quality = int(wanted.quality_percent) or 75
    _, data = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, quality])
    image.format, image.data = _IMAGE.FORMAT_JPEG, data.tobytes()
