"""Handling by a learned policy: it comes close, points the hand at the target, and grasps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planner.skills.manipulation.space import (
    CAMERA,
    GRASP,
    PICTURE_PX,
    Aim,
    GraspChoice,
    drive_of,
    features_of,
    picture_of,
)
from planner.skills.policy.driving import check_body, driven, sense, shrunk, speeds
from planner.skills.policy.network import scores
from planner.skills.policy.policy_file import PolicyFile
from planner.world.errors import PlannerError
from planner.world.primitive import (
    Capabilities,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
)

if TYPE_CHECKING:
    from planner.skills.attempt import Attempt, Motion

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
        """See `planner.skills.kind.Mover`."""
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
