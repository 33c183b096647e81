"""Walking by a learned policy, in the place of the primitive `navigate`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from planner.skills.navigation.network import scores
from planner.skills.navigation.policy_file import PolicyFile
from planner.skills.navigation.space import (
    ACT_S,
    ARRIVED_M,
    CAMERA,
    PICTURE_PX,
    DepthMap,
    Goal,
    drive_of,
    features_of,
    layers_of,
)
from planner.world.errors import FileError, PlannerError
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.observation import CameraFrame, DepthImage, Intrinsics, Observation
from planner.world.primitive import (
    Capabilities,
    Drive,
    DriveLimits,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
)

if TYPE_CHECKING:
    from planner.skills.attempt import Attempt, Motion

# A walk that takes more acts than this has failed, as those of PARTNR do.
MAX_ACTS = 250
FACING_RAD = 0.1
_MAX_TURNS = 20
# How often senses are asked before a body counts as blind.
_MAX_BLIND = 600


class LearnedNavigation:
    """Drives to where `navigate` would walk; every other primitive is the world's own."""

    def __init__(
        self, path: Path, policy: PolicyFile, agent: str, capabilities: Capabilities
    ) -> None:
        """Takes a policy's file for one body.

        Raises:
            FileError: for a policy of another body.
            PlannerError: for a body without the policy's camera.
        """
        if policy.body != capabilities.kind:
            reason = f"is of a {policy.body}, and {agent} is a {capabilities.kind}"
            raise FileError(path, "body", reason)
        if CAMERA not in capabilities.cameras:
            raise PlannerError(f"skill_kind learned: {agent} has no camera {CAMERA!r}")
        self._policy = policy
        self._limits = capabilities.drive

    def carry_out(self, attempt: Attempt, primitive: Primitive, phase: str) -> Motion:
        """See `planner.skills.kind.Mover`."""
        if primitive.name != PrimitiveName.NAVIGATE or primitive.frame != "map":
            return (yield from attempt.carry_out(primitive, phase))
        goal_m = _goal_of(attempt, primitive.target_m)
        if goal_m is None:
            text = "no free floor within reach of the target can be walked to"
            return PrimitiveResult(PrimitiveCode.UNREACHABLE, text)
        walked = yield from self._drive_to(attempt, goal_m, phase)
        if not walked.succeeded:
            return walked
        return (yield from self._face(attempt, primitive, phase))

    def _drive_to(self, attempt: Attempt, goal_m: tuple[float, float], phase: str) -> Motion:
        depth_map: DepthMap | None = None
        last: int | None = None
        hindered = False
        for _ in range(MAX_ACTS):
            seen = yield from _sense(attempt, phase)
            frame = seen.cameras[CAMERA]
            depth_map = depth_map or DepthMap(seen.base)
            depth_m, intrinsics = shrunk(frame)
            depth_map.add(depth_m, intrinsics, frame.pose, seen.base)
            goal = Goal.of(seen.base, goal_m)
            if goal.distance_m <= ARRIVED_M:
                return PrimitiveResult(PrimitiveCode.SUCCESS, "arrived")
            features = features_of(goal, last, hindered=hindered)[None]
            layers = layers_of(depth_map.around(seen.base)[None], features)
            last = int(np.argmax(scores(self._policy.weights, layers, features)[0]))
            result = yield from _driven(attempt, drive_of(last, self._speeds(attempt)), phase)
            if not result.succeeded:
                return result
            hindered = float(result.evidence.get("blocked_s", "0")) > 0.0
        text = f"the policy did not arrive in {MAX_ACTS} acts"
        return PrimitiveResult(PrimitiveCode.BLOCKED, text)

    def _face(self, attempt: Attempt, primitive: Primitive, phase: str) -> Motion:
        """Turns on the spot to the wanted heading, or else to the target."""
        limits = self._speeds(attempt)
        for _ in range(_MAX_TURNS):
            base = attempt.base_pose()
            if base is None:
                break
            off = wrap_angle_rad(_heading(primitive, base) - base.yaw_rad)
            if abs(off) <= FACING_RAD:
                break
            speed = min(limits.turn_rad_s, abs(off) / ACT_S)
            turn = Drive(ACT_S, turn_rad_s=math.copysign(speed, off))
            result = yield from _driven(attempt, turn, phase)
            if not result.succeeded:
                return result
        return PrimitiveResult(PrimitiveCode.SUCCESS, "arrived")

    def _speeds(self, attempt: Attempt) -> DriveLimits:
        """The limits that the body has declared, or, over ROS, those of its kind."""
        from planner.world.agents import body_of

        if self._limits is not None:
            return self._limits
        kind = attempt.scene.capabilities.kind
        body = body_of(kind)
        limits = None if body is None else body.capabilities(drives=True).drive
        if limits is None:
            raise PlannerError(f"skill_kind learned: how fast is a {kind} driven?")
        return limits


def shrunk(frame: CameraFrame) -> tuple[DepthImage, Intrinsics]:
    """A picture with `PICTURE_PX` pixels a side, as the policy was trained with."""
    height, width = frame.depth_m.shape
    rows = ((np.arange(PICTURE_PX) + 0.5) * height / PICTURE_PX).astype(np.intp)
    columns = ((np.arange(PICTURE_PX) + 0.5) * width / PICTURE_PX).astype(np.intp)
    depth_m = np.nan_to_num(frame.depth_m[np.ix_(rows, columns)], nan=0.0)
    camera, x, y = frame.intrinsics, PICTURE_PX / width, PICTURE_PX / height
    # Pixel k of the small picture is pixel rows[k] of the large one.
    return depth_m, Intrinsics(
        PICTURE_PX,
        PICTURE_PX,
        camera.fx_px * x,
        camera.fy_px * y,
        (camera.cx_px - float(columns[0])) * x,
        (camera.cy_px - float(rows[0])) * y,
    )


def _goal_of(attempt: Attempt, target_m: Vec3) -> tuple[float, float] | None:
    """The free floor to drive to: the target, or the nearest to it within reach."""
    grid = attempt.scene.ground.grid
    if grid.is_free(target_m[0], target_m[1]):
        return (target_m[0], target_m[1])
    cell = grid.nearest_free(target_m[0], target_m[1], attempt.scene.capabilities.reach_m)
    return None if cell is None else grid.point(cell)


def _heading(primitive: Primitive, base: Pose) -> float:
    if not math.isnan(primitive.heading_rad):
        return primitive.heading_rad
    dx = primitive.target_m[0] - base.position_m[0]
    dy = primitive.target_m[1] - base.position_m[1]
    return base.yaw_rad if math.hypot(dx, dy) < ARRIVED_M else math.atan2(dy, dx)


def _sense(attempt: Attempt, phase: str) -> _Sensing:
    """What the body senses; waits for pictures that have not come yet.

    Raises:
        PlannerError: where none come.
    """
    for _ in range(_MAX_BLIND):
        attempt.end_if_out_of_time()
        seen = attempt.scene.port.observe((CAMERA,))
        # Over ROS pictures come later than results: one of before the last act is no use.
        if seen is not None and CAMERA in seen.cameras and seen.stamp_s >= attempt.ended_s:
            return seen
        yield phase, attempt.share(0.0)
    raise PlannerError(f"{attempt.scene.agent}: no pictures of its camera {CAMERA!r} come")


def _driven(attempt: Attempt, drive: Drive, phase: str) -> Motion:
    return (yield from attempt.carry_out(Primitive(PrimitiveName.DRIVE, drive=drive), phase))


if TYPE_CHECKING:
    from collections.abc import Generator

    _Sensing = Generator[tuple[str, float], None, Observation]
