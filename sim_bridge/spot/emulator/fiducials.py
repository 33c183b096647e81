"""The printed markers that the emulated robot sees, with frames as the SDK's documents define them.

Who looks at the page sees x point up, y left and z out of the page, at the viewer
(geometry_and_frames.md, "Frames in the Spot robot world"; map_processing.proto,
WorldObjectAnchorHint).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.world.geometry import Pose, Vec3


def on_wall(position_m: Vec3, faces_rad: float) -> Pose:
    """The frame of an upright page whose printed side faces `faces_rad` in the map."""
    out = np.array([math.cos(faces_rad), math.sin(faces_rad), 0.0])
    up = np.array([0.0, 0.0, 1.0])
    return Pose.from_matrix(np.array(position_m), np.stack([up, np.cross(out, up), out], axis=1))


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker as detected.

    Attributes:
        tag: its number.
        in_map: the page's frame.
        age_s: how long ago it was last detected.
        status: of the raw pose, a name of the SDK's AprilTagPoseStatus.
        filtered_status: of the filtered pose.
    """

    tag: int
    in_map: Pose
    age_s: float = 0.0
    status: str = "STATUS_OK"
    filtered_status: str = "STATUS_OK"


# On the wall at the map's origin, facing +x; by it clients localise in recorded maps.
FIDUCIAL, FIDUCIAL_IN_MAP = 500, on_wall((0.0, 0.0, 1.0), 0.0)
