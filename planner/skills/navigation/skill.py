"""Walking by a learned policy, in the place of the primitive `navigate`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from planner.skills.navigation.goal import goal_of, others
from planner.skills.navigation.open_doors import open_doors
from planner.skills.navigation.space import (
    ACT_S,
    ARRIVED_M,
    CAMERA,
    PICTURE_PX,
    ActChoice,
    DepthMap,
    Goal,
    drive_of,
    features_of,
    layers_of,
)
from planner.skills.policy.driving import check_body, driven, sense, shrunk, speeds
from planner.skills.policy.network import scores
from planner.skills.policy.policy_file import PolicyFile
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.primitive import (
    Capabilities,
    Drive,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
)

if TYPE_CHECKING:
    from planner.skills.attempt import Attempt, Motion

# A walk that takes more acts than this has failed, as those of PARTNR do.
MAX_ACTS = 250
# Persons make way. Who has not after so many hindered acts is an obstacle, as all else is.
PATIENCE_ACTS = 15
_NEAR_ONE_M = 1.2
# A body that moved less in an act stood still.
_STILL_M = 0.05
FACING_RAD = 0.1
_MAX_TURNS = 20


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
        check_body(path, policy, CAMERA, agent, capabilities)
        self._policy = policy
        self._limits = capabilities.drive

    def carry_out(self, attempt: Attempt, primitive: Primitive, phase: str) -> Motion:
        """See `planner.skills.kind.Mover`."""
        if primitive.name != PrimitiveName.NAVIGATE or primitive.frame != "map":
            return (yield from attempt.carry_out(primitive, phase))
        goal_m = goal_of(attempt, primitive.target_m)
        if goal_m is None:
            text = "no free floor within reach of the target can be walked to"
            return PrimitiveResult(PrimitiveCode.UNREACHABLE, text)
        walked = yield from self._drive_to(attempt, goal_m, primitive.target_m, phase)
        if not walked.succeeded:
            return walked
        return (yield from self._face(attempt, primitive, phase))

    def _drive_to(
        self, attempt: Attempt, goal_m: tuple[float, float], target_m: Vec3, phase: str
    ) -> Motion:
        levelled = yield from self._level(attempt, phase)
        if not levelled.succeeded:
            return levelled
        depth_map: DepthMap | None = None
        last: int | None = None
        before: Pose | None = None
        hindered, hindered_acts = False, 0
        limits, choice = speeds(self._limits, attempt), ActChoice()
        for _ in range(MAX_ACTS):
            seen = yield from sense(attempt, CAMERA, phase)
            frame = seen.cameras[CAMERA]
            depth_map = depth_map or _empty_map(attempt, seen.base)
            depth_m, intrinsics = shrunk(frame, PICTURE_PX)
            held_m = seen.base.apply(seen.hand.position_m) if seen.holding else None
            persons_m = () if hindered_acts >= PATIENCE_ACTS else _others_m(attempt)
            depth_map.add(
                depth_m, intrinsics, frame.pose, seen.base, held_m=held_m, persons_m=persons_m
            )
            if (
                hindered
                and _stood_still(before, seen.base)
                and not _is_near_one(attempt, seen.base)
            ):
                depth_map.touch(seen.base)
            before = seen.base
            goal = Goal.of(seen.base, goal_m)
            if goal.distance_m <= ARRIVED_M:
                return PrimitiveResult(PrimitiveCode.SUCCESS, "arrived")
            features = features_of(goal, last, hindered=hindered)[None]
            layers = layers_of(depth_map.around(seen.base, goal_m)[None], features)
            last = choice.of(scores(self._policy.weights, layers, features)[0], seen.base)
            result = yield from driven(attempt, drive_of(last, limits), phase)
            if not result.succeeded:
                return result
            hindered = float(result.evidence.get("blocked_s", "0")) > 0.0
            if hindered and _is_near_one(attempt, seen.base):
                hindered_acts += 1
                if hindered_acts == PATIENCE_ACTS:
                    # Who made way may have done so onto the goal.
                    goal_m = goal_of(attempt, target_m) or goal_m
        text = f"the policy did not arrive in {MAX_ACTS} acts"
        return PrimitiveResult(PrimitiveCode.BLOCKED, text)

    def _level(self, attempt: Attempt, phase: str) -> Motion:
        """Points the hand's camera ahead, as it was while the policy was trained."""
        limits = speeds(self._limits, attempt)
        seen = yield from sense(attempt, CAMERA, phase)
        axis = seen.cameras[CAMERA].pose.rotation()[:, 2]
        pan = wrap_angle_rad(math.atan2(axis[1], axis[0]) - seen.base.yaw_rad)
        tilt = math.asin(max(-1.0, min(1.0, -float(axis[2]))))
        off = (-pan, attempt.camera.tilt_rad - tilt)
        longest = max(abs(off[0]), abs(off[1]))
        if limits.hand_rad_s <= 0.0 or longest <= FACING_RAD:
            return PrimitiveResult(PrimitiveCode.SUCCESS, "ahead")
        acts = math.ceil(longest / (limits.hand_rad_s * ACT_S))
        turn = Drive(ACT_S, pan_rad_s=off[0] / (acts * ACT_S), tilt_rad_s=off[1] / (acts * ACT_S))
        for _ in range(acts):
            result = yield from driven(attempt, turn, phase)
            if not result.succeeded:
                return result
        return PrimitiveResult(PrimitiveCode.SUCCESS, "ahead")

    def _face(self, attempt: Attempt, primitive: Primitive, phase: str) -> Motion:
        """Turns on the spot to the wanted heading, or else to the target."""
        limits = speeds(self._limits, attempt)
        for _ in range(_MAX_TURNS):
            base = attempt.base_pose()
            if base is None:
                break
            off = wrap_angle_rad(_heading(primitive, base) - base.yaw_rad)
            if abs(off) <= FACING_RAD:
                break
            speed = min(limits.turn_rad_s, abs(off) / ACT_S)
            turn = Drive(ACT_S, turn_rad_s=math.copysign(speed, off))
            result = yield from driven(attempt, turn, phase)
            if not result.succeeded:
                return result
        return PrimitiveResult(PrimitiveCode.SUCCESS, "arrived")


def _empty_map(attempt: Attempt, base: Pose) -> DepthMap:
    """Of a body that begins at `base`. What stands open hinders it only where it stops a drive."""
    made = DepthMap(base)
    for doors in open_doors(attempt.belief, attempt.scene.layout):
        made.pass_over(doors.leaves_m, doors.closed_m)
    return made


def _others_m(attempt: Attempt) -> list[Vec3]:
    return [other.position_m for other in others(attempt)]


def _stood_still(before: Pose | None, base: Pose) -> bool:
    """Whether a body that was hindered got nowhere; otherwise it slid along something."""
    return before is not None and math.dist(before.position_m, base.position_m) < _STILL_M


def _is_near_one(attempt: Attempt, base: Pose) -> bool:
    """Whether another agent is so near that it may be what hinders."""
    here = base.position_m[:2]
    return any(math.dist(here, other[:2]) < _NEAR_ONE_M for other in _others_m(attempt))


def _heading(primitive: Primitive, base: Pose) -> float:
    if not math.isnan(primitive.heading_rad):
        return primitive.heading_rad
    dx = primitive.target_m[0] - base.position_m[0]
    dy = primitive.target_m[1] - base.position_m[1]
    return base.yaw_rad if math.hypot(dx, dy) < ARRIVED_M else math.atan2(dy, dx)
