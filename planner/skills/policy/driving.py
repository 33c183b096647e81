"""What skills with a policy share: waiting for a picture, and one act of driving."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np

from planner.world.errors import FileError, PlannerError
from planner.world.observation import CameraFrame, DepthImage, Intrinsics, Observation
from planner.world.primitive import Capabilities, Drive, DriveLimits, Primitive, PrimitiveName

if TYPE_CHECKING:
    from pathlib import Path

    from planner.skills.attempt import Attempt, Motion
    from planner.skills.policy.policy_file import PolicyFile

Sensing = Generator[tuple[str, float], None, Observation]

# How often senses are asked before a body counts as blind.
_MAX_BLIND = 600


def check_body(
    path: Path, policy: PolicyFile, camera: str, agent: str, capabilities: Capabilities
) -> None:
    """Refuses a body that a policy was not made for.

    Raises:
        FileError: for a policy of another body.
        PlannerError: for a body without the policy's camera.
    """
    if policy.body != capabilities.kind:
        reason = f"is of a {policy.body}, and {agent} is a {capabilities.kind}"
        raise FileError(path, "body", reason)
    if camera not in capabilities.cameras:
        raise PlannerError(f"skill_kind learned: {agent} has no camera {camera!r}")


def speeds(declared: DriveLimits | None, attempt: Attempt) -> DriveLimits:
    """The limits that the body has declared, or, over ROS, those of its kind.

    Raises:
        PlannerError: where neither is known.
    """
    from planner.world.agents import body_of

    if declared is not None:
        return declared
    kind = attempt.scene.capabilities.kind
    body = body_of(kind)
    limits = None if body is None else body.capabilities(drives=True).drive
    if limits is None:
        raise PlannerError(f"skill_kind learned: how fast is a {kind} driven?")
    return limits


def sense(attempt: Attempt, camera: str, phase: str) -> Sensing:
    """What the body senses; waits for pictures that have not come yet.

    Raises:
        PlannerError: where none come.
    """
    for _ in range(_MAX_BLIND):
        attempt.end_if_out_of_time()
        seen = attempt.scene.port.observe((camera,))
        # Over ROS pictures come later than results: one of before the last act is no use.
        if seen is not None and camera in seen.cameras and seen.stamp_s >= attempt.ended_s:
            return seen
        yield phase, attempt.share(0.0)
    raise PlannerError(f"{attempt.scene.agent}: no pictures of its camera {camera!r} come")


def driven(attempt: Attempt, drive: Drive, phase: str) -> Motion:
    """Drives for one act."""
    return (yield from attempt.carry_out(Primitive(PrimitiveName.DRIVE, drive=drive), phase))


def shrunk(frame: CameraFrame, picture_px: int) -> tuple[DepthImage, Intrinsics]:
    """A picture with so many pixels a side, as policies were trained with."""
    height, width = frame.depth_m.shape
    rows = ((np.arange(picture_px) + 0.5) * height / picture_px).astype(np.intp)
    columns = ((np.arange(picture_px) + 0.5) * width / picture_px).astype(np.intp)
    depth_m = np.nan_to_num(frame.depth_m[np.ix_(rows, columns)], nan=0.0)
    camera, x, y = frame.intrinsics, picture_px / width, picture_px / height
    # Pixel k of the small picture is pixel rows[k] of the large one.
    return depth_m, Intrinsics(
        picture_px,
        picture_px,
        camera.fx_px * x,
        camera.fy_px * y,
        (camera.cx_px - float(columns[0])) * x,
        (camera.cy_px - float(rows[0])) * y,
    )
