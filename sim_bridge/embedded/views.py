"""The request for a picture and its result, whatever the renderer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.world.agents import CameraMount
from planner.world.geometry import Pose
from planner.world.observation import DepthImage, InstanceImage, Intrinsics, RgbImage


@dataclass(frozen=True, slots=True)
class View:
    """A pinhole camera: `pose` is its optical frame (z forward, y down) in `map`.

    `hidden` is an instance that is left out: the body that carries the camera. Without `instances`
    no instance ids are rendered, which halves the cost.
    """

    pose: Pose
    intrinsics: Intrinsics
    near_m: float
    far_m: float
    hidden: int = -1
    ceiling: bool = True
    instances: bool = True


@dataclass(frozen=True, slots=True)
class Images:
    """(h, w, 3) uint8 colours, (h, w) float32 metres (0: nothing), (h, w) int32 instances.

    Instances may be all 0 if the view did not request them. Read-only: the images of an unchanged
    world are reused.
    """

    rgb: RgbImage
    depth_m: DepthImage
    instances: InstanceImage


def intrinsics_of(mount: CameraMount) -> Intrinsics:
    """Square pixels, principal point in the centre (pixel centres at integers)."""
    focal = mount.width_px / 2 / math.tan(mount.horizontal_fov_rad / 2)
    return Intrinsics(
        width_px=mount.width_px,
        height_px=mount.height_px,
        fx_px=focal,
        fy_px=focal,
        cx_px=(mount.width_px - 1) / 2,
        cy_px=(mount.height_px - 1) / 2,
    )
