"""Handling by a learned policy: what it observes and does, in training and on a body."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from planner.skills.policy.policy_file import (
    CELLS,
    Acts,
    Bytes,
    Floats,
    PolicyFile,
    PolicySpace,
    check_body,
    driven,
    scores,
    sense,
    shrunk,
    speeds,
)
from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.observation import DepthImage, Intrinsics
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


# What a policy of handling observes and does: the same in training and on a body.

# The depth picture, square, of the hand's camera.
CAMERA = "hand"
PICTURE_PX = CELLS
# What each plane of the network shows.
LAYERS = ("depth", "target")
ACT_S = 0.2
# Shares of the greatest velocities: forward, turning left, the hand's pan left and tilt down.
MOVES: tuple[tuple[float, float, float, float], ...] = (
    (0.6, 0.0, 0.0, 0.0), (-0.6, 0.0, 0.0, 0.0), (0.0, 0.8, 0.0, 0.0), (0.0, -0.8, 0.0, 0.0),
    (0.0, 0.0, 0.8, 0.0), (0.0, 0.0, -0.8, 0.0), (0.0, 0.0, 0.3, 0.0), (0.0, 0.0, -0.3, 0.0),
    (0.0, 0.0, 0.0, 0.8), (0.0, 0.0, 0.0, -0.8), (0.0, 0.0, 0.0, 0.3), (0.0, 0.0, 0.0, -0.3),
)  # fmt: skip
# The last act closes or opens the gripper, and furniture.
GRASP = len(MOVES)
ACTIONS = GRASP + 1
# Where the target is, how the hand points, whether the last act was hindered or the hand holds
# something, and the last act.
_SEEN = 12
FEATURES = _SEEN + ACTIONS
# A grasp counts where the base is within reach of the target and the hand points at it so well.
AIMED_RAD = 0.2
FAR_M = 3.0

# A body whose aim and gap were not better for so many acts is stuck; better is by more than these.
# Acts are drawn at this temperature then.
_STUCK_ACTS, _NEARER_M, _NEARER_RAD, _STUCK_TEMPERATURE = 10, 0.03, 0.03, 2.0

# Depths up to this fill the bytes of a picture; 0 is nothing.
_SEEN_M = 4.0


@dataclass(frozen=True, slots=True)
class Aim:
    """Where a target is for a body and its hand.

    Attributes:
        gap_m: horizontal distance from the middle of the base.
        bearing_rad: from the base's heading, to the left.
        ahead, left, down: unit vector from the camera to the target, in the camera's axes.
        far_m: from the camera.
        pan_rad, tilt_rad: of the camera, from the base's heading to the left, and downwards.
    """

    gap_m: float
    bearing_rad: float
    ahead: float
    left: float
    down: float
    far_m: float
    pan_rad: float
    tilt_rad: float

    @staticmethod
    def of(base: Pose, camera: Pose, target_m: Vec3) -> Aim:
        """A target in `map`, for a base and an optical frame in `map`."""
        x, y, _ = base.inverse().apply(target_m)
        right, down, ahead = camera.inverse().apply(target_m)
        far_m = max(math.hypot(right, down, ahead), 1e-6)
        axis = camera.rotation()[:, 2]
        pan = wrap_angle_rad(math.atan2(axis[1], axis[0]) - base.yaw_rad)
        return Aim(
            gap_m=math.hypot(x, y),
            bearing_rad=math.atan2(y, x),
            ahead=ahead / far_m,
            left=-right / far_m,
            down=down / far_m,
            far_m=far_m,
            pan_rad=pan,
            tilt_rad=math.asin(max(-1.0, min(1.0, -float(axis[2])))),
        )

    @property
    def off_rad(self) -> float:
        """Angle between where the hand points and the target."""
        return math.acos(max(-1.0, min(1.0, self.ahead)))

    def is_close(self, reach_m: float) -> bool:
        """Whether a grasp counts."""
        return self.gap_m <= reach_m and self.off_rad <= AIMED_RAD


class GraspChoice:
    """Which act of a policy is done: the best one, or one by chance where it comes no closer.

    As `ActChoice` of walking: a policy that always does what it rates best may point its hand to
    and fro for ever, and where it failed once it would fail each time. Chance is that of the
    policy's own scores, and the same in each grasp.
    """

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._gap_m, self._off_rad = math.inf, math.inf
        self._acts = 0

    def of(self, scores: Floats, aim: Aim) -> int:
        """The act for (actions,) scores, of a body whose target is there now."""
        self._acts += 1
        if aim.gap_m < self._gap_m - _NEARER_M or aim.off_rad < self._off_rad - _NEARER_RAD:
            self._gap_m = min(self._gap_m, aim.gap_m)
            self._off_rad = min(self._off_rad, aim.off_rad)
            self._acts = 0
        if self._acts < _STUCK_ACTS:
            return int(np.argmax(scores))
        chances = np.exp((scores - scores.max()).astype(np.float64) / _STUCK_TEMPERATURE)
        return int(self._rng.choice(len(scores), p=chances / chances.sum()))


def drive_of(action: int, limits: DriveLimits) -> Drive:
    """The velocities of one act.

    Raises:
        IndexError: for the act that is not a motion.
    """
    forward, turn, pan, tilt = MOVES[action]
    return Drive(
        ACT_S,
        forward_m_s=forward * limits.forward_m_s,
        turn_rad_s=turn * limits.turn_rad_s,
        pan_rad_s=pan * limits.hand_rad_s,
        tilt_rad_s=tilt * limits.hand_rad_s,
    )


def features_of(aim: Aim, last: int | None, *, hindered: bool, holds: bool) -> Floats:
    """(FEATURES,) numbers beside the picture; `last` is the last act, None at the beginning."""
    features = np.zeros(FEATURES, np.float32)
    features[:_SEEN] = (
        min(aim.gap_m, FAR_M) / FAR_M,
        math.sin(aim.bearing_rad),
        math.cos(aim.bearing_rad),
        aim.ahead,
        aim.left,
        aim.down,
        min(aim.far_m, FAR_M) / FAR_M,
        math.sin(aim.pan_rad),
        math.cos(aim.pan_rad),
        math.sin(aim.tilt_rad),
        hindered,
        holds,
    )
    if last is not None:
        features[_SEEN + last] = 1.0
    return features


# Numbers that change their sign where left and right are exchanged.
_LEFT = [1, 4, 7]
_MIRRORED_MOVES = [MOVES.index((f, -turn, -pan, tilt)) for f, turn, pan, tilt in MOVES]
_MIRRORED = np.array([*_MIRRORED_MOVES, GRASP])


def picture_of(depth_m: DepthImage, intrinsics: Intrinsics, aim: Aim) -> Bytes:
    """(CELLS, CELLS) depths as bytes, of which the highest bit marks where the target is.

    Args:
        depth_m: (PICTURE_PX, PICTURE_PX) metres; 0 = nothing.
        intrinsics: of this picture.
        aim: where the target is.
    """
    near = np.clip(depth_m / _SEEN_M, 0.0, 1.0) * 127.0
    made = np.where(depth_m > 0, np.maximum(near, 1.0), 0.0).astype(np.uint8)
    if aim.ahead > 0.05:
        column = math.floor(intrinsics.cx_px - intrinsics.fx_px * aim.left / aim.ahead + 0.5)
        row = math.floor(intrinsics.cy_px + intrinsics.fy_px * aim.down / aim.ahead + 0.5)
        # A square of three pixels, as far as it is in the picture.
        made[max(0, row - 1) : max(0, row + 2), max(0, column - 1) : max(0, column + 2)] |= 128
    return made


def layers_of(pictures: Bytes, _features: Floats) -> Floats:
    """(n, LAYERS, CELLS, CELLS) what a network reads, of (n, CELLS, CELLS)."""
    layers = np.empty((len(pictures), len(LAYERS), CELLS, CELLS), np.float32)
    layers[:, 0] = (pictures & 127) / np.float32(127.0)
    layers[:, 1] = pictures >= 128
    return layers


def _mirrored(pictures: Bytes, features: Floats, acts: Acts) -> tuple[Bytes, Floats, Acts]:
    features = features.copy()
    features[:, _LEFT] *= -1.0
    features[:, _SEEN:] = features[:, _SEEN:][:, _MIRRORED]
    return np.ascontiguousarray(pictures[:, :, ::-1]), features, _MIRRORED[acts]


MANIPULATION = PolicySpace(
    skill="manipulate",
    version="1",
    described={
        "camera": CAMERA,
        "picture_px": PICTURE_PX,
        "layers": list(LAYERS),
        "features": FEATURES,
        "moves": [list(move) for move in MOVES],
        "act_s": ACT_S,
        "aimed_rad": AIMED_RAD,
    },
    max_code=255,
    layers=len(LAYERS),
    features=FEATURES,
    actions=ACTIONS,
    layers_of=layers_of,
    mirrored=_mirrored,
)


# Of one grasp; the paper gives no number.
MAX_ACTS = 60
HANDLING = frozenset(
    {PrimitiveName.PICK, PrimitiveName.PLACE, PrimitiveName.OPEN, PrimitiveName.CLOSE}
)


class LearnedManipulation:
    """Drives base and hand until the target can be grasped; then the world's own primitive acts.

    As in PARTNR a thing snaps to the gripper, or off it, and furniture moves, where the gripper is
    close enough to the target (PARTNR-D65); every other primitive is the world's own.
    """

    def __init__(
        self, path: Path, policy: PolicyFile, agent: str, capabilities: Capabilities
    ) -> None:
        """Takes a policy's file for one body.

        Raises:
            FileError: for a policy of another body.
            PlannerError: for a body without the policy's camera, or whose hand cannot be driven.
        """
        check_body(path, policy, CAMERA, agent, capabilities)
        if capabilities.drive is not None and capabilities.drive.hand_rad_s <= 0.0:
            raise PlannerError(f"skill_kind learned: the hand of {agent} cannot be driven")
        self._policy = policy
        self._limits = capabilities.drive

    def carry_out(self, attempt: Attempt, primitive: Primitive, phase: str) -> Motion:
        """See `planner.skills.attempt.Mover`."""
        if primitive.name not in HANDLING or primitive.frame != "map":
            return (yield from attempt.carry_out(primitive, phase))
        reached = yield from self._reach(attempt, primitive, phase)
        if not reached.succeeded:
            return reached
        return (yield from attempt.carry_out(primitive, phase))

    def _reach(self, attempt: Attempt, primitive: Primitive, phase: str) -> Motion:
        """Until the policy grasps and the target is close enough."""
        last: int | None = None
        hindered, choice = False, GraspChoice()
        limits, reach_m = speeds(self._limits, attempt), attempt.scene.capabilities.reach_m
        for _ in range(MAX_ACTS):
            seen = yield from sense(attempt, CAMERA, phase)
            frame = seen.cameras[CAMERA]
            aim = Aim.of(seen.base, frame.pose, primitive.target_m)
            depth_m, intrinsics = shrunk(frame, PICTURE_PX)
            features = features_of(aim, last, hindered=hindered, holds=seen.holding)[None]
            picture = picture_of(depth_m, intrinsics, aim)[None]
            layers = self._policy.space.layers_of(picture, features)
            last = choice.of(scores(self._policy.weights, layers, features)[0], aim)
            if last == GRASP:
                if aim.is_close(reach_m):
                    return PrimitiveResult(PrimitiveCode.SUCCESS, "close enough")
                hindered = False
                continue
            result = yield from driven(attempt, drive_of(last, limits), phase)
            if not result.succeeded:
                return result
            hindered = float(result.evidence.get("blocked_s", "0")) > 0.0
        text = f"the policy did not reach the target in {MAX_ACTS} acts"
        return PrimitiveResult(PrimitiveCode.TOO_FAR, text)
