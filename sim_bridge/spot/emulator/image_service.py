"""Image service: the hand's cameras and the five of the body, colour, grey and depth."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from bosdyn.api import image_pb2

from planner.world.errors import PlannerError
from sim_bridge.embedded.sensing import intrinsics_of
from sim_bridge.spot.convert import set_stamp
from sim_bridge.spot.emulator import frames
from sim_bridge.spot.emulator.body_geometry import SOURCES, Kind, mount_of
from sim_bridge.spot.emulator.house_world import Shot
from sim_bridge.spot.emulator.machine import Machine
from sim_bridge.spot.emulator.service import Handler

DEPTH_SCALE = 1000.0
_IMAGE = image_pb2.Image
# Default format of each kind of source, and other supported ones.
_FORMATS = {
    Kind.COLOR: (_IMAGE.PIXEL_FORMAT_RGB_U8, _IMAGE.PIXEL_FORMAT_GREYSCALE_U8),
    Kind.COLOR_OR_GREY: (_IMAGE.PIXEL_FORMAT_GREYSCALE_U8, _IMAGE.PIXEL_FORMAT_RGB_U8),
    Kind.GREY: (_IMAGE.PIXEL_FORMAT_GREYSCALE_U8,),
    Kind.DEPTH: (_IMAGE.PIXEL_FORMAT_DEPTH_U16,),
}


def handlers() -> dict[str, dict[str, Handler]]:
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
    frames.fill(capture.transforms_snapshot, machine)
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
