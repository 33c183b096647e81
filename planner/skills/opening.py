"""Doors, drawers and lids: Open and Close, and reaching what an open drawer covers."""

from __future__ import annotations

from collections.abc import Generator

from planner.skills.attempt import Attempt, Motion, Routine
from planner.skills.ground import to_map
from planner.skills.preconditions import Arguments
from planner.skills.results import failure
from planner.skills.spots import opened_center
from planner.world.geometry import Vec3
from planner.world.house import Furniture, Joint
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.skill import SkillCode

_NOTHING_TO_MOVE = PrimitiveResult(PrimitiveCode.SUCCESS, "nothing to move")


def open_furniture(attempt: Attempt, arguments: Arguments) -> Routine:
    """Opens everything that opens; what is already open stays open (PARTNR-D47)."""
    return (yield from _move(attempt, arguments, PrimitiveName.OPEN))


def close_furniture(attempt: Attempt, arguments: Arguments) -> Routine:
    """Closes everything that opens."""
    return (yield from _move(attempt, arguments, PrimitiveName.CLOSE))


def _move(attempt: Attempt, arguments: Arguments, name: str) -> Routine:
    target = arguments.target
    if target is None:
        raise ValueError("internal error: no target after the preconditions")
    attempt.evidence["furniture"] = target.name
    if target.piece is None or not target.piece.joints:
        if attempt.scene.options.lenient_open:
            return attempt.success()
        sentence = f"{target.name} is not articulated: it cannot be opened or closed."
        return attempt.failure(SkillCode.NOT_ARTICULATED, sentence)
    result = yield from move_joints(attempt, target.piece, name)
    if result.code is PrimitiveCode.HAND_FULL:
        return attempt.failure(SkillCode.ALREADY_HOLDING, attempt.already_holding())
    if not result.succeeded:
        return failure(result, target.name, **attempt.evidence)
    return attempt.success(openness="1" if name is PrimitiveName.OPEN else "0")


def move_joints(attempt: Attempt, piece: Furniture, name: str, *, free: bool = False) -> Motion:
    """Moves all joints of a piece of furniture; stops at the first failure.

    Drawers open from bottom to top, so that each can be looked into before the next one covers it,
    and close from top to bottom.
    """
    opens = name is PrimitiveName.OPEN
    joints = sorted(piece.joints, key=lambda j: (j.handle[2], j.name), reverse=not opens)
    result = _NOTHING_TO_MOVE
    low, high = attempt.window
    for index, joint in enumerate(joints):
        step = (high - low) / len(joints)
        attempt.window = (low + index * step, low + (index + 1) * step)
        phase = f"{'opening' if opens else 'closing'} {piece.name} ({joint.name})"
        primitive = Primitive(name, to_map(piece, joint.handle))
        result = yield from attempt.handle_at(primitive, phase, piece, free=free)
        if not result.succeeded:
            break
        if opens:
            yield from _look_inside(attempt, piece, joint)
    attempt.window = (low, high)
    return result


def _look_inside(attempt: Attempt, piece: Furniture, joint: Joint) -> Motion:
    result = _NOTHING_TO_MOVE
    if PrimitiveName.LOOK not in attempt.scene.capabilities.primitives:
        return result
    for hollow in piece.interiors:
        if hollow.joint == joint.name:
            point = to_map(piece, opened_center(piece, hollow, 1.0))
            primitive = Primitive(PrimitiveName.LOOK, point)
            result = yield from attempt.do(primitive, f"looking into {piece.name}")
    return result


def reach_into(
    attempt: Attempt, primitive: Primitive, phase: str, piece: Furniture | None, *, free: bool
) -> Motion:
    """Does something inside furniture, closing a drawer that covers the target."""
    result = yield from attempt.handle_at(primitive, phase, piece, free=free)
    if result.code is not PrimitiveCode.NO_LINE_OF_SIGHT or piece is None:
        return result
    moved = yield from _close_above(attempt, piece, primitive.target_m)
    if moved:
        result = yield from attempt.handle_at(primitive, phase, piece, free=free)
    return result


def _close_above(
    attempt: Attempt, piece: Furniture, point_m: Vec3
) -> Generator[tuple[str, float], None, bool]:
    """Closes the drawers above a point; returns whether there were any."""
    above = [
        hollow
        for hollow in piece.interiors
        if hollow.moves and hollow.center[2] - hollow.size[2] / 2 > point_m[2]
    ]
    for hollow in sorted(above, key=lambda h: -h.center[2]):
        handle = to_map(piece, piece.joint(hollow.joint or "").handle)
        phase = f"closing the {hollow.name} of {piece.name}, which is in the way"
        yield from attempt.handle_at(Primitive(PrimitiveName.CLOSE, handle), phase, piece)
    return bool(above)
