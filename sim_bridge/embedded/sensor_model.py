"""What cameras and localisation that err make of the true world, by `options.SensorModel`.

Everything is a function of the seed, the agent, the camera and the step, so that a run can be
repeated, whoever asks how often.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import Pose
from planner.world.observation import DepthImage, InstanceImage, Intrinsics, RgbImage
from planner.world.shapes import Material
from sim_bridge.embedded.entities import Agent
from sim_bridge.embedded.options import ColourErrors, DepthErrors, LocalisationErrors, SensorModel

Mask: TypeAlias = NDArray[np.bool_]
Shines: TypeAlias = Callable[[InstanceImage], Mask]

SHINY = frozenset({Material.GLASS, Material.METAL})
# Holes are patches of so many pixels square.
_PATCH_PX = 4
# A step of depth: a bend of the inverse depth, which is straight along any plane. 8 cm at 2 m.
_STEP_PER_M = 0.02
# Where planes meet, the inverse depth bends by more than rounding does.
_CREASE_PER_M = 0.0005
# Brightest channel of a surface that reflects too little of the camera's light.
_DARK = 45
# Colours are stored with about this power of light.
_GAMMA = 2.2
# Random streams of a world, beside those of `sensing` and `KinematicWorld`.
_DEPTH_STREAM, _COLOUR_STREAM, _DRIFT_STREAM = 11, 12, 13


class ErringSensors:
    """The sensors of one world."""

    def __init__(self, model: SensorModel, seed: int) -> None:
        self.model, self._seed = model, seed
        angles = model.calibration
        self._turned = _optical_turn(
            *(
                math.radians(angles.strength * degrees)
                for degrees in (angles.pitch_deg, angles.yaw_deg, angles.roll_deg)
            )
        )

    @property
    def needs_instances(self) -> bool:
        """Whether a picture's instance ids are needed to find what shines."""
        return self.model.depth.strength * self.model.depth.shiny_holes > 0

    def camera(self, agent: Agent, on_base: Pose) -> Pose:
        """The optical frame in `map` from which a picture of now was taken.

        Args:
            agent: whose camera it is.
            on_base: where the camera is believed to be in `base_link`.
        """
        late_s = self.model.picture_late_s
        yaw = agent.yaw_rad - late_s * agent.angular_rad_s
        back_m = late_s * agent.linear_m_s
        x, y = agent.x_m - back_m * math.cos(yaw), agent.y_m - back_m * math.sin(yaw)
        return Pose.planar(x, y, yaw).compose(on_base).compose(self._turned)

    def localised(self, agent: Agent, base: Pose) -> Pose:
        """Where a body that is at `base` takes itself to be, in `map`."""
        errors = self.model.localisation
        if not _drifts(errors):
            return base
        legs = agent.walked_m / errors.corrected_every_m
        rng = np.random.default_rng([self._seed, _DRIFT_STREAM, agent.instance_id, int(legs)])
        share = errors.strength * (legs - int(legs))
        away = float(rng.uniform(-math.pi, math.pi))
        turned = math.radians(errors.drift_deg) * share * (1 if rng.random() < 0.5 else -1)
        x, y, z = base.position_m
        far_m = errors.drift_m * share
        return Pose.planar(
            x + far_m * math.cos(away), y + far_m * math.sin(away), base.yaw_rad + turned, z
        )

    def depth(
        self,
        depth_m: DepthImage,
        rgb: RgbImage,
        intrinsics: Intrinsics,
        shiny: Mask | None,
        stream: tuple[int, ...],
    ) -> DepthImage:
        """A depth picture as measured.

        Args:
            depth_m: (h, w) as rendered; 0 = nothing.
            rgb: (h, w, 3) true colours.
            intrinsics: of the camera.
            shiny: (h, w) what shines; None = nothing.
            stream: which picture it is: agent, camera and step.
        """
        rng = np.random.default_rng([self._seed, _DEPTH_STREAM, *stream])
        return measured_depth(depth_m, rgb, intrinsics, shiny, self.model.depth, rng)

    def colours(self, rgb: RgbImage, stream: tuple[int, ...]) -> RgbImage:
        """(h, w, 3) colours as taken; `stream` as in `depth`."""
        rng = np.random.default_rng([self._seed, _COLOUR_STREAM, *stream])
        return taken_colours(rgb, self.model.colour, rng)


def _drifts(errors: LocalisationErrors) -> bool:
    return errors.strength > 0 and (errors.drift_m > 0 or errors.drift_deg > 0)


def _optical_turn(right_rad: float, down_rad: float, ahead_rad: float) -> Pose:
    """A turn of an optical frame around its axes, in this order."""
    turned = np.eye(3)
    for axis, angle in enumerate((right_rad, down_rad, ahead_rad)):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        matrix = np.eye(3)
        matrix[a, a] = matrix[b, b] = math.cos(angle)
        matrix[a, b], matrix[b, a] = -math.sin(angle), math.sin(angle)
        turned = turned @ matrix
    return Pose.from_matrix(np.zeros(3), turned)


# Depth


def measured_depth(
    depth_m: DepthImage,
    rgb: RgbImage,
    intrinsics: Intrinsics,
    shiny: Mask | None,
    errors: DepthErrors,
    rng: np.random.Generator,
) -> DepthImage:
    """(h, w) float32 metres as measured; 0 = nothing. See `ErringSensors.depth`."""
    s = errors.strength
    if s <= 0:
        return depth_m
    measured = _moved(depth_m, s * errors.lateral_px, rng)
    noise_m, growth = s * errors.noise_m, s * errors.noise_per_m2
    if noise_m > 0 or growth > 0:
        beyond_m = np.maximum(measured - np.float32(errors.noise_from_m), 0)
        deviation = np.float32(noise_m) + np.float32(growth) * beyond_m * beyond_m
        measured = measured + deviation * rng.standard_normal(depth_m.shape, np.float32)
    known = (depth_m > 0) & (measured > 0)
    inverse = np.zeros_like(depth_m)
    np.divide(1, depth_m, out=inverse, where=depth_m > 0)
    if s * errors.disparity_step > 0:
        measured = _rounded(measured, known, s * errors.disparity_step)
    if s * errors.edge_holes > 0:
        edges = _near_bends(inverse, _STEP_PER_M, errors.edge_px)
        known &= ~(edges & _patches(depth_m.shape, s * errors.edge_holes, rng))
    if s * errors.dark_holes > 0:
        dark: Mask = rgb.max(axis=2) < _DARK
        known &= ~(dark & _patches(depth_m.shape, s * errors.dark_holes, rng))
    if shiny is not None and s * errors.shiny_holes > 0:
        known &= ~(shiny & _patches(depth_m.shape, s * errors.shiny_holes, rng))
    if errors.grazing_deg < 90:
        turned_deg = 90 - min(1.0, s) * (90 - errors.grazing_deg)
        known &= ~_turned_away(inverse, intrinsics, turned_deg)
    if errors.min_m > 0:
        known &= measured >= errors.min_m
    if errors.max_m > 0:
        known &= measured <= errors.max_m
    return np.where(known, measured, 0).astype(np.float32)


def _moved(depth_m: DepthImage, deviation_px: float, rng: np.random.Generator) -> DepthImage:
    """Each pixel has the depth of one beside it."""
    if deviation_px <= 0:
        return depth_m
    h, w = depth_m.shape
    aside = np.rint(deviation_px * rng.standard_normal((2, h, w), np.float32)).astype(np.int32)
    rows = np.clip(np.arange(h, dtype=np.int32)[:, None] + aside[0], 0, h - 1)
    columns = np.clip(np.arange(w, dtype=np.int32)[None, :] + aside[1], 0, w - 1)
    return np.asarray(depth_m.ravel()[rows * w + columns], np.float32)


def _rounded(measured: DepthImage, known: Mask, step_per_m: float) -> DepthImage:
    """Depth whose inverse is a whole number of steps; the nearest one, at least one step."""
    steps = np.ones_like(measured)
    np.divide(np.float32(1 / step_per_m), measured, out=steps, where=known)
    return (np.float32(1 / step_per_m) / np.maximum(np.rint(steps), 1)).astype(np.float32)


def _near_bends(inverse: DepthImage, least_per_m: float, reach_px: int) -> Mask:
    """Pixels within a reach of where the inverse depth bends, as at a step of depth."""
    bend = np.zeros(inverse.shape, np.float32)
    across = np.abs(inverse[:, 2:] - 2 * inverse[:, 1:-1] + inverse[:, :-2])
    down = np.abs(inverse[2:] - 2 * inverse[1:-1] + inverse[:-2])
    bend[:, 1:-1] = across
    bend[1:-1] = np.maximum(bend[1:-1], down)
    bends = (bend > least_per_m).astype(np.uint8)
    kernel = np.ones((2 * reach_px - 1, 2 * reach_px - 1), np.uint8)
    return cv2.dilate(bends, kernel).astype(bool)


def _turned_away(inverse: DepthImage, intrinsics: Intrinsics, limit_deg: float) -> Mask:
    """Pixels of surfaces turned away from the ray to them by more than a limit.

    The inverse depth of a plane is linear in the picture, and its slope is the plane's normal.
    """
    across, down = np.zeros_like(inverse), np.zeros_like(inverse)
    across[:, 1:-1] = (inverse[:, 2:] - inverse[:, :-2]) * np.float32(intrinsics.fx_px / 2)
    down[1:-1] = (inverse[2:] - inverse[:-2]) * np.float32(intrinsics.fy_px / 2)
    h, w = inverse.shape
    x = ((np.arange(w, dtype=np.float32) - intrinsics.cx_px) / intrinsics.fx_px)[None, :]
    y = ((np.arange(h, dtype=np.float32) - intrinsics.cy_px) / intrinsics.fy_px)[:, None]
    along = inverse - across * x - down * y
    normal = np.sqrt(across * across + down * down + along * along)
    ray = np.sqrt(1 + x * x + y * y).astype(np.float32)
    # The normal times the ray is the inverse depth itself.
    facing = inverse < np.float32(math.cos(math.radians(limit_deg))) * normal * ray
    flat = ~_near_bends(inverse, _CREASE_PER_M, 1)
    away: Mask = facing & flat & (inverse > 0)
    return away


def _patches(shape: tuple[int, ...], share: float, rng: np.random.Generator) -> Mask:
    """Square patches with a chance of `share` each."""
    h, w = shape
    drawn = rng.random((-(-h // _PATCH_PX), -(-w // _PATCH_PX)), np.float32) < min(1.0, share)
    return drawn.repeat(_PATCH_PX, axis=0).repeat(_PATCH_PX, axis=1)[:h, :w]


# Colours


def taken_colours(rgb: RgbImage, errors: ColourErrors, rng: np.random.Generator) -> RgbImage:
    """(h, w, 3) colours as taken: exposed, blurred, noisy and compressed."""
    if errors.black > 0 and rng.random() < errors.black:
        return np.zeros_like(rgb)
    s, taken = errors.strength, rgb
    if s <= 0:
        return rgb
    if s * errors.exposure_stops > 0:
        gain = 2 ** (s * errors.exposure_stops * float(rng.standard_normal()) / _GAMMA)
        levels = np.clip(np.rint(np.arange(256) * gain), 0, 255).astype(np.uint8)
        taken = levels[taken]
    if s * errors.blur_px > 0:
        blurred = cv2.GaussianBlur(np.ascontiguousarray(taken), (0, 0), s * errors.blur_px)
        taken = np.asarray(blurred, np.uint8)
    if s * errors.noise > 0:
        noise = np.float32(s * errors.noise) * rng.standard_normal(rgb.shape, np.float32)
        taken = np.clip(np.rint(taken + noise), 0, 255).astype(np.uint8)
    if errors.jpeg_quality:
        quality = max(1, round(100 - s * (100 - errors.jpeg_quality)))
        taken = _compressed(taken, quality)
    return taken


def _compressed(rgb: RgbImage, quality: int) -> RgbImage:
    """A picture after JPEG of this quality."""
    _, data = cv2.imencode(".jpg", rgb[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.ascontiguousarray(np.asarray(cv2.imdecode(data, 1), np.uint8)[..., ::-1])
