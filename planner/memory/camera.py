"""Seen points: their place in `map`, what they rest on or lie in, and their colour."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import FloatArray, Pose, Vec3
from planner.world.house import Furniture, House
from planner.world.observation import CameraFrame, Intrinsics
from planner.world.shapes import Color, color_of
from planner.world.vocabulary import Relation, floor_name


def unproject(
    intrinsics: Intrinsics, pose: Pose, pixel: tuple[float, float], depth_m: float
) -> Vec3:
    """The point of `map` at a pixel (u, v) and a depth along the optical axis.

    `pose` is the optical frame (z forward, x right, y down) in `map` (EPM-2.2).
    """
    u, v = pixel
    x = (u - intrinsics.cx_px) / intrinsics.fx_px * depth_m
    y = (v - intrinsics.cy_px) / intrinsics.fy_px * depth_m
    return pose.apply((x, y, depth_m))


def project(intrinsics: Intrinsics, pose: Pose, points_m: FloatArray) -> FloatArray:
    """(n, 3) of u, v and depth for (n, 3) points of `map`; u and v are NaN behind the camera."""
    optical = (points_m - np.asarray(pose.position_m)) @ pose.rotation()
    depth = optical[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead = np.where(depth > 0, depth, np.nan)
        u = optical[:, 0] / ahead * intrinsics.fx_px + intrinsics.cx_px
        v = optical[:, 1] / ahead * intrinsics.fy_px + intrinsics.cy_px
    projected: FloatArray = np.stack([u, v, depth], axis=1)
    return projected


def in_image(intrinsics: Intrinsics, projected: FloatArray, margin_px: float) -> NDArray[np.bool_]:
    """Which rows of `project` lie in the image, at least `margin_px` from its edges."""
    u, v = projected[:, 0], projected[:, 1]
    inside: NDArray[np.bool_] = (u >= margin_px) & (u < intrinsics.width_px - margin_px)
    inside &= (v >= margin_px) & (v < intrinsics.height_px - margin_px)
    return inside


def point_at_pixel(frame: CameraFrame, pixel: tuple[float, float]) -> tuple[Vec3, float] | str:
    """The point of `map` that a pixel shows and its depth, or why there is none."""
    u, v = pixel
    height, width = frame.depth_m.shape[:2]
    if not (0 <= u < width and 0 <= v < height):
        return f"({u:g}, {v:g}) is outside the image of {width}x{height}"
    depth_m = float(frame.depth_m[int(v), int(u)])
    if not (math.isfinite(depth_m) and depth_m > 0):
        return f"there is no depth at ({u:g}, {v:g})"
    return unproject(frame.intrinsics, frame.pose, pixel, depth_m), depth_m


# Where a seen point belongs: on, within or on the floor, from the layout's geometry alone.
#
# What a camera measures is a point of a thing's visible side, not its underside, so the
# tolerances are wide.

# A seen point lies at most this far beside a surface's edge, below its top or above it.
_BESIDE_M, _BELOW_M, _ABOVE_M = 0.05, 0.05, 0.5
_FLOOR_M = 0.3


@dataclass(frozen=True, slots=True)
class Support:
    """What a thing rests on and in which room; None where geometry does not tell."""

    parent: str | None
    relation: Relation | None
    room: str | None


def support_of(
    layout: House, point_m: Vec3, named: str | None, openness: Mapping[str, float]
) -> Support:
    """The furniture or floor that holds a point of `map`.

    Args:
        layout: rooms and furniture.
        point_m: the seen point.
        named: furniture that the description names; then only the relation is derived.
        openness: of furniture by name, 0 to 1; absent is closed.
    """
    piece = layout.furniture_by_name.get(named) if named is not None else None
    if piece is not None:
        inside = _enclosing(piece, openness.get(piece.name, 0.0), _local(piece, point_m))
        relation = Relation.WITHIN if inside is not None else Relation.ON
        return Support(piece.name, relation, piece.room)
    best: tuple[float, Furniture] | None = None
    for piece in layout.furniture:
        if not piece.box.contains(point_m, _ABOVE_M):
            continue
        local = _local(piece, point_m)
        if _enclosing(piece, openness.get(piece.name, 0.0), local) is not None:
            return Support(piece.name, Relation.WITHIN, piece.room)
        height = _height_above(piece, local)
        if height is not None and (best is None or height < best[0]):
            best = (height, piece)
    if best is not None:
        return Support(best[1].name, Relation.ON, best[1].room)
    room = layout.room_at(point_m[0], point_m[1])
    if room is not None and point_m[2] <= _FLOOR_M:
        return Support(floor_name(room), Relation.ON, room)
    return Support(None, None, room)


def _enclosing(piece: Furniture, openness: float, local: Vec3) -> str | None:
    """The interior that a point of the furniture's frame is in; `openness` is 0 to 1."""
    for hollow in piece.interiors:
        # A drawer is somewhere between closed and as far out as the widest one.
        shifts = [0.0]
        if hollow.joint is not None and hollow.moves:
            shifts.append(openness * piece.joint(hollow.joint).travel)
        for shift in shifts:
            axis = piece.joint(hollow.joint).axis if hollow.joint is not None else (0.0, 0.0, 0.0)
            center = [c + shift * a for c, a in zip(hollow.center, axis, strict=True)]
            if all(abs(p - c) <= s / 2 for p, c, s in zip(local, center, hollow.size, strict=True)):
                return hollow.name
    return None


def _local(piece: Furniture, point_m: Vec3) -> Vec3:
    return piece.pose.inverse().apply(point_m)


def _height_above(piece: Furniture, local: Vec3) -> float | None:
    """The height of a point above the nearest surface below it, or None."""
    heights = [
        local[2] - surface.center[2]
        for surface in piece.surfaces
        if abs(local[0] - surface.center[0]) <= surface.size[0] / 2 + _BESIDE_M
        and abs(local[1] - surface.center[1]) <= surface.size[1] / 2 + _BESIDE_M
        and -_BELOW_M <= local[2] - surface.center[2] <= min(surface.clearance, _ABOVE_M)
    ]
    return min(heights, default=None)


def surface_point(piece: Furniture, relation: Relation) -> Vec3:
    """Where a thing put on or within furniture is thought to be when nobody measured it."""
    hollows = piece.interiors if relation is Relation.WITHIN else ()
    if hollows:
        return piece.pose.apply(hollows[0].center)
    if piece.surfaces:
        return piece.pose.apply(max(piece.surfaces, key=lambda s: s.center[2]).center)
    return (piece.x_m, piece.y_m, piece.size_m[2])


# The colour of a seen thing, in words, from the pixels that show it.

# Levels of a channel that are told apart.
_LEVELS = 32
# What lamps light best is white or nearly so; nothing is brightened by more.
_WHITE, _MAX_GAIN = 0.95, 1.5
# What is of several colours has none of its own. Openings and undersides are dark in all colours.
_MIN_SHARE = 0.6


# Brightest channel of a pixel that shows anything, and the share of pixels that have to.
_BLACK, _SHOWN_SHARE = 16, 0.01


def is_black(rgb: NDArray[np.uint8]) -> bool:
    """Whether a picture, (h, w, 3), shows nothing, as of a camera that is covered or broken."""
    some = rgb[::4, ::4].max(axis=2, initial=0)
    return bool(np.mean(some > _BLACK) < _SHOWN_SHARE)


def exposure_gain(rgb: NDArray[np.uint8]) -> float:
    """The factor that makes the brightest of an 8-bit picture white."""
    brightest = float(np.percentile(rgb[::4, ::4].max(axis=2), 99)) / 255
    return min(_WHITE / max(brightest, 1e-3), _MAX_GAIN)


def color_votes(pixels: NDArray[np.uint8], gain: float) -> Counter[Color]:
    """How many of (n, 3) pixels have each colour, in light of that gain."""
    levels = np.clip(pixels.astype(np.float32) * (gain * _LEVELS / 256), 0, _LEVELS - 1)
    found, counts = np.unique(levels.astype(np.uint8), axis=0, return_counts=True)
    votes: Counter[Color] = Counter()
    for (red, green, blue), count in zip(found.tolist(), counts.tolist(), strict=True):
        top = _LEVELS - 1
        votes[color_of((red / top, green / top, blue / top))] += count
    return votes


def color_by_votes(votes: Mapping[Color, float]) -> Color | None:
    """The colour that a thing is believed to have; None if no colour is clearly its own."""
    if votes.get(Color.BLACK, 0.0) >= _MIN_SHARE * sum(votes.values()):
        return Color.BLACK if votes else None
    light = {color: count for color, count in votes.items() if color is not Color.BLACK}
    best = max(light, key=light.__getitem__)
    return best if light[best] >= _MIN_SHARE * sum(light.values()) else None
