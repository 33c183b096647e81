"""Learned skills: each primitive by the policy that was trained for it, walking in full."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from planner.skills.policy.handling import HANDLING, MANIPULATION, LearnedManipulation
from planner.skills.policy.navigation_space import (
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
from planner.skills.policy.policy_file import (
    PolicyFile,
    check_body,
    driven,
    scores,
    sense,
    shrunk,
    speeds,
)
from planner.world.agents import body_of
from planner.world.belief import Belief
from planner.world.geometry import FloatArray, Pose, Vec3, wrap_angle_rad
from planner.world.house import Furniture, House
from planner.world.primitive import (
    Capabilities,
    Drive,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
)
from planner.world.vocabulary import EntityKind

if TYPE_CHECKING:
    from planner.skills.attempt import Attempt, Motion, Mover
    from planner.world.belief import BeliefNode


# The free floor that a policy drives to, for a target of the primitive `navigate`.

# Shares of the reach within which to stand, of which the first that has free floor counts, and what
# a metre closer to the target is worth.
_SHARES, _CLOSER = (0.85, 0.95), 2.0
# The simulators keep two bodies 0.05 m apart; as much again, as nobody stands quite still.
_APART_M = 0.1


def goal_of(attempt: Attempt, target_m: Vec3) -> tuple[float, float] | None:
    """The free floor to drive to: the target, or else what is within reach of it.

    Of that the floor in the target's room counts if there is any, and the cell that is the least to
    walk; close to the target is better, as more of it is in view from there. Where another agent
    stands is no goal unless there is no other: who stands in a nook cannot make way.
    """
    grid, base = attempt.scene.ground.grid, attempt.base
    taken = _Taken(attempt)
    is_free = grid.is_free(target_m[0], target_m[1])
    if is_free and not taken.at(target_m[0], target_m[1]):
        return (target_m[0], target_m[1])
    here = None if base is None else grid.nearest_free(base[0], base[1])
    if here is None:
        return None
    house = attempt.scene.layout
    room = house.room_at(target_m[0], target_m[1])
    from_here = grid.field(here)
    found: list[tuple[bool, bool, float, float, float]] = []
    for share in _SHARES:
        near = grid.free_within(
            target_m[0], target_m[1], share * attempt.scene.capabilities.reach_m
        )
        for cell in near.tolist():
            x, y = grid.point(cell)
            walk_m, gap_m = from_here.at(cell), math.dist((x, y), target_m[:2])
            if math.isfinite(walk_m):
                cost = walk_m + _CLOSER * gap_m
                found.append((taken.at(x, y), house.room_at(x, y) != room, cost, x, y))
        if found and not min(found)[0]:
            break
    if is_free and (not found or min(found)[0]):
        return (target_m[0], target_m[1])
    return min(found)[3:] if found else None


def others(attempt: Attempt) -> list[BeliefNode]:
    """The other agents, where they are believed to be."""
    agents = attempt.belief.of_kind(EntityKind.AGENT)
    return [one for one in agents if one.name != attempt.scene.agent]


class _Taken:
    """The floor on which other agents are believed to stand."""

    def __init__(self, attempt: Attempt) -> None:
        own_m = attempt.scene.capabilities.radius_m
        self._agents: list[tuple[tuple[float, float], float]] = []
        for other in others(attempt):
            body = body_of(other.class_name)
            apart_m = own_m + (own_m if body is None else body.radius_m) + _APART_M
            self._agents.append(((other.position_m[0], other.position_m[1]), apart_m))

    def at(self, x_m: float, y_m: float) -> bool:
        """Whether a body there would stand too near to another one."""
        return any(math.dist(at, (x_m, y_m)) < apart_m for at, apart_m in self._agents)


# Where doors and drawers that are believed open stick out, which hinder no body in a simulator.


@dataclass(frozen=True)
class OpenDoors:
    """What is open of one piece of furniture, seen from above, in `map`.

    Attributes:
        leaves_m: (n, 2) corners of each door, lid or drawer where it is now, in no order.
        closed_m: (4, 2) corners of the furniture when all is closed, in order.
    """

    leaves_m: tuple[FloatArray, ...]
    closed_m: FloatArray


def open_doors(belief: Belief, house: House) -> Iterator[OpenDoors]:
    """What is believed open.

    A belief says how far the widest joint is open, so that all of them count as open that far.
    """
    pieces = house.furniture_by_name
    for node in belief.of_kind(EntityKind.FURNITURE):
        piece = pieces.get(node.name)
        if piece is not None and piece.joints and node.openness:
            yield OpenDoors(_leaves(piece, node.openness), _outline(piece))


def _leaves(piece: Furniture, openness: float) -> tuple[FloatArray, ...]:
    found = []
    for part in piece.parts:
        if part.joint is None:
            continue
        joint = piece.joint(part.joint)
        (cx, cy, cz), (sx, sy, sz) = part.center, part.size
        corners = [
            joint.moved((cx + x * sx, cy + y * sy, cz + z * sz), openness)
            for x, y, z in itertools.product((-0.5, 0.5), repeat=3)
        ]
        found.append(np.array([piece.pose.apply(corner)[:2] for corner in corners]))
    return tuple(found)


def _outline(piece: Furniture) -> FloatArray:
    x, y = piece.size_m[0] / 2, piece.size_m[1] / 2
    corners = ((-x, -y), (x, -y), (x, y), (-x, y))
    return np.array([piece.pose.apply((*corner, 0.0))[:2] for corner in corners])


# Walking by a learned policy, in the place of the primitive `navigate`.

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
        """See `planner.skills.attempt.Mover`."""
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


class LearnedMover:
    """Walks and handles things by policies; without one for a primitive, by the world's own."""

    def __init__(
        self, policies: Iterable[tuple[Path, PolicyFile]], agent: str, capabilities: Capabilities
    ) -> None:
        """Takes files and policies for one body.

        Raises:
            FileError: for a policy of another body.
            PlannerError: for a body that cannot be driven by one of them.
        """
        self._movers: dict[str, Mover] = {}
        for path, policy in policies:
            if policy.space is MANIPULATION:
                handling = LearnedManipulation(path, policy, agent, capabilities)
                self._movers.update(dict.fromkeys(HANDLING, handling))
            else:
                walking = LearnedNavigation(path, policy, agent, capabilities)
                self._movers[PrimitiveName.NAVIGATE] = walking

    def carry_out(self, attempt: Attempt, primitive: Primitive, phase: str) -> Motion:
        """See `planner.skills.attempt.Mover`."""
        mover = self._movers.get(primitive.name)
        if mover is None:
            return (yield from attempt.carry_out(primitive, phase))
        return (yield from mover.carry_out(attempt, primitive, phase))
