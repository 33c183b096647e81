"""Cameras in Rerun: intrinsics in their optical frames, colour pictures as JPEG, depth as PNG."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.replay.export import rerun_paths
from planner.replay.export.rerun_stream import Recording
from planner.replay.export.source import Camera, Received, Source
from planner.world.errors import FileError, PlannerError
from planner.world.picture_codec import decode_colour, decode_depth, encode_colour

_PNG_EFFORT = 1
_MAX_MM = 65534.0
_MAGIC = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG": "image/png"}


class Cameras:
    """All cameras of a bag."""

    def __init__(self, recording: Recording, source: Source) -> None:
        self._recording, self._source = recording, source
        self._of: dict[str, Camera] = {}
        for camera in source.cameras:
            self._of.update((topic, camera) for topic in (camera.rgb, camera.depth, camera.info))
        self._of.pop("", None)
        self.topics = tuple(self._of)
        self._lenses: dict[Camera, tuple[object, ...]] = {}
        self._planes: dict[str, str] = {}

    def add(self, message: Received) -> None:
        """Takes a picture or a camera_info.

        Raises:
            FileError: if a picture cannot be read.
        """
        camera = self._of[message.topic]
        try:
            if message.topic == camera.rgb:
                self._add_rgb(camera, message.content)
            elif message.topic == camera.depth:
                self._add_depth(camera, message.content)
            else:
                self._add_lens(camera, message.content)
        except PlannerError as error:
            where = f"{message.topic} at {message.world_s:.3f} s"
            raise FileError(self._source.folder, where, str(error)) from None

    def _add_lens(self, camera: Camera, content: Any) -> None:
        import rerun as rr

        matrix = tuple(float(value) for value in content.k)
        frame = str(content.header.frame_id)
        lens = (matrix, int(content.width), int(content.height), frame)
        if self._lenses.get(camera) == lens or not matrix[0] > 0 or not frame:
            return
        self._lenses[camera] = lens
        pinhole = rr.Pinhole(
            image_from_camera=np.reshape(matrix, (3, 3)),
            resolution=[int(content.width), int(content.height)],
            camera_xyz=rr.ViewCoordinates.RDF,
            parent_frame=frame,
            child_frame=_plane(frame),
            image_plane_distance=0.4,
        )
        self._recording.log(rerun_paths.camera(camera.agent, camera.name), pinhole)

    def _add_rgb(self, camera: Camera, content: Any) -> None:
        import rerun as rr

        blob, media_type = _jpeg(content)
        path = rerun_paths.rgb(camera.agent, camera.name)
        self._place(path, content)
        self._recording.log(path, rr.EncodedImage(contents=blob, media_type=media_type))

    def _add_depth(self, camera: Camera, content: Any) -> None:
        import cv2
        import rerun as rr

        millimetres = np.minimum(np.rint(decode_depth(content) * 1000), _MAX_MM).astype(np.uint16)
        _, data = cv2.imencode(".png", millimetres, [cv2.IMWRITE_PNG_COMPRESSION, _PNG_EFFORT])
        path = rerun_paths.depth(camera.agent, camera.name)
        self._place(path, content)
        picture = rr.EncodedDepthImage(data.tobytes(), media_type="image/png", meter=1000.0)
        self._recording.log(path, picture)

    def _place(self, path: str, content: Any) -> None:
        """Logs the image plane of the picture's frame."""
        import rerun as rr

        frame = str(content.header.frame_id)
        if frame and self._planes.get(path) != frame:
            self._planes[path] = frame
            self._recording.log(path, rr.CoordinateFrame(_plane(frame)))


def _plane(frame: str) -> str:
    # The name used by Rerun's own reader of bags, which puts intrinsics and pictures into two
    # frames.
    return f"{frame}_image_plane"


def _jpeg(content: Any) -> tuple[bytes, str]:
    """A colour picture as recorded if that is a JPEG or PNG, else as a JPEG."""
    if hasattr(content, "format"):
        data = bytes(content.data)
        for magic, media_type in _MAGIC.items():
            if data.startswith(magic):
                return data, media_type
    return encode_colour(decode_colour(content)), "image/jpeg"
