"""Going somewhere and looking: Navigate, Explore, ExploreFurniture."""

from __future__ import annotations

import math
from dataclasses import replace

from planner.skills.attempt import Attempt, Motion, Routine
from planner.skills.ground import Stand
from planner.skills.grounding import Target
from planner.skills.looking import AROUND_RAD, ROUND_RAD, Stop, View, stops, views_of
from planner.skills.opening import move_joints
from planner.skills.preconditions import Arguments
from planner.skills.results import failure
from planner.world.geometry import Pose, Vec3
from planner.world.house import Furniture
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.vocabulary import Relation

# Distance at which to stop from another agent that holds the object.
COMPANY_M = 1.0

_ARRIVED = PrimitiveResult(PrimitiveCode.SUCCESS, "there already")
_NOWHERE = PrimitiveResult(PrimitiveCode.UNREACHABLE, "no free floor in front of it")


def navigate(attempt: Attempt, arguments: Arguments) -> Routine:
    """Walks next to furniture or an object, or into a room."""
    target = _required(arguments.target)
    attempt.evidence["target"] = target.name
    result = yield from go_to(attempt, target)
    if not result.succeeded:
        return failure(result, target.name, **attempt.evidence)
    return attempt.success()


def go_to(attempt: Attempt, target: Target) -> Motion:
    """Walks to a target as Navigate does; a body that can approach finds its place itself."""
    if PrimitiveName.APPROACH in attempt.scene.capabilities.primitives and (
        target.is_thing or target.piece is not None
    ):
        approach = Primitive(PrimitiveName.APPROACH, target.point_m)
        return (yield from attempt.do(approach, f"walking to {target.name}"))
    if target.is_thing:
        return (yield from _go_to_thing(attempt, target))
    phase = f"walking to {target.name}"
    stand = _stand(attempt, target)
    if stand is None:
        return _NOWHERE
    return (yield from attempt.walk(stand.point_m, phase, stand.yaw_rad))


def _stand(attempt: Attempt, target: Target) -> Stand | None:
    scene, base = attempt.scene, attempt.base
    if target.piece is not None:
        return scene.ground.at_furniture(target.piece, base, scene.capabilities.reach_m)
    return scene.ground.in_room(target.room, base) if target.room is not None else None


def _go_to_thing(attempt: Attempt, target: Target) -> Motion:
    scene, phase = attempt.scene, f"walking to {target.name}"
    node, belief = target.node, attempt.belief
    node = belief.base_of(node) if node is not None else None
    if node is not None and node.relation is Relation.HELD:
        if node.parent == scene.agent:
            return _ARRIVED
        holder = belief.nodes.get(node.parent or "")
        point = holder.position_m if holder is not None else target.point_m
        to_holder = Primitive(PrimitiveName.NAVIGATE, point, standoff_m=COMPANY_M)
        return (yield from attempt.do(to_holder, phase))
    piece = piece_around(attempt, target)
    is_within = node is not None and node.relation is Relation.WITHIN
    behind_doors = piece is not None and bool(piece.joints) and is_within
    result = _NOWHERE
    if not behind_doors:
        result = yield from attempt.approach(target.point_m, phase)
        if result.code is not PrimitiveCode.UNREACHABLE:
            return result
    # Something inside closed furniture is not visible, so go to the furniture's front.
    if piece is not None:
        stand = scene.ground.at_furniture(piece, attempt.base, scene.capabilities.reach_m)
        if stand is not None:
            result = yield from attempt.walk(stand.point_m, phase, stand.yaw_rad)
    return result


def piece_around(attempt: Attempt, target: Target) -> Furniture | None:
    """The furniture that a thing is on or in, also with what it is on or in."""
    if target.node is None:
        return None
    parent = attempt.belief.base_of(target.node).parent
    return attempt.scene.layout.furniture_by_name.get(parent or "")


def explore_furniture(attempt: Attempt, arguments: Arguments) -> Routine:
    """Walks to one piece of furniture, faces it and looks; opens nothing (EPM-3)."""
    target = _required(arguments.target)
    attempt.evidence["furniture"] = target.name
    if target.piece is None:
        result = yield from go_to(attempt, target)
        if result.succeeded:
            result = yield from look(attempt, AROUND_RAD, f"looking around at {target.name}")
    else:
        result = yield from _visit(attempt, target.piece, opens=False)
    if not result.succeeded:
        return failure(result, target.name, **attempt.evidence)
    return attempt.success()


def look_round(attempt: Attempt, _arguments: Arguments) -> Routine:
    """Turns round once on the spot and looks after each turn (ETPLAN-1.2)."""
    result = yield from look(attempt, ROUND_RAD, "looking round")
    if not result.succeeded:
        return failure(result, "the view", **attempt.evidence)
    return attempt.success()


def explore(attempt: Attempt, arguments: Arguments) -> Routine:
    """Looks around in a room, then at its furniture piece by piece, the nearest next."""
    target = _required(arguments.target)
    attempt.evidence["room"] = target.name
    room = target.room or target.name
    pieces = [
        piece
        for piece in attempt.scene.layout.furniture
        if piece.room == room and (piece.surfaces or piece.interiors)
    ]
    stops = len(pieces) + 1
    attempt.window = (0.0, 1.0 / stops)
    result = yield from go_to(attempt, target)
    if result.succeeded:
        result = yield from look(attempt, AROUND_RAD, f"looking around in {target.name}")
    seen: list[str] = []
    for stop in range(1, stops):
        attempt.window = (stop / stops, (stop + 1) / stops)
        piece = pieces.pop(_nearest(pieces, attempt.base))
        visited = yield from _visit(attempt, piece, opens=attempt.scene.options.open_on_explore)
        if visited.succeeded:
            seen.append(piece.name)
        elif visited.code in (PrimitiveCode.STOPPED, PrimitiveCode.NOT_ALLOWED):
            return failure(visited, piece.name, **attempt.evidence)
        else:
            result = visited
    attempt.evidence["visited"] = " ".join(seen)
    if not seen and not result.succeeded:
        return failure(result, target.name, **attempt.evidence)
    return attempt.success()


def _nearest(pieces: list[Furniture], base: Vec3 | None) -> int:
    if base is None:
        return 0
    gaps = [math.dist((piece.x_m, piece.y_m), base[:2]) for piece in pieces]
    return gaps.index(min(gaps))


def _visit(attempt: Attempt, piece: Furniture, *, opens: bool) -> Motion:
    scene = attempt.scene
    stand = scene.ground.at_furniture(piece, attempt.base, scene.capabilities.reach_m)
    if stand is None:
        return _NOWHERE
    result = yield from attempt.walk(stand.point_m, f"walking to {piece.name}", stand.yaw_rad)
    if not result.succeeded:
        return result
    if opens and piece.joints and not openness_of(attempt, piece):
        result = yield from move_joints(attempt, piece, PrimitiveName.OPEN)
        if result.code in (PrimitiveCode.STOPPED, PrimitiveCode.NOT_ALLOWED):
            return result
    first, *more = stops(piece, openness_of(attempt, piece))
    phase = f"looking at {piece.name}"
    result = yield from _look_at(attempt, first, stand, phase)
    for stop in more:
        # A blocked way to a further viewpoint does not undo what was seen so far.
        elsewhere = (
            scene.ground.at_furniture(
                piece, attempt.base, scene.capabilities.reach_m, stop.before_m
            )
            if stop.away_m is None
            else scene.ground.to_look(piece, attempt.base, stop.away_m)
        )
        if result.succeeded and elsewhere is not None:
            walked = yield from attempt.walk(elsewhere.point_m, phase, elsewhere.yaw_rad)
            if walked.succeeded:
                result = yield from _look_at(attempt, stop, elsewhere, phase)
            elif walked.code in (PrimitiveCode.STOPPED, PrimitiveCode.NOT_ALLOWED):
                return walked
    return result


def _look_at(attempt: Attempt, stop: Stop, stand: Stand, phase: str) -> Motion:
    base = attempt.base_pose() or Pose.planar(stand.x_m, stand.y_m, stand.yaw_rad)
    return (yield from look(attempt, views_of(stop.points, base, attempt.camera), phase))


def openness_of(attempt: Attempt, piece: Furniture) -> float:
    """How far furniture is believed to be open; unknown counts as closed."""
    node = attempt.belief.nodes.get(piece.name)
    return (node.openness or 0.0) if node is not None else 0.0


def look(attempt: Attempt, views: tuple[View, ...], phase: str) -> Motion:
    """Points the camera in several directions, one after another."""
    primitive = Primitive(PrimitiveName.LOOK, views_rad=views)
    if attempt.base is not None:
        primitive = replace(primitive, target_m=attempt.base)
    return (yield from attempt.do(primitive, phase))


def _required(target: Target | None) -> Target:
    if target is None:
        raise ValueError("internal error: no target after the preconditions")
    return target
