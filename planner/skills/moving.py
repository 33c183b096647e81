"""Going somewhere, looking and opening: Navigate, Explore, ExploreFurniture, Open, Close."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace

from planner.skills.attempt import Attempt, Motion, Routine
from planner.skills.ground import CLOSE_M, Stand, opened_center, to_map
from planner.skills.preconditions import Arguments, Target, required
from planner.skills.results import failure
from planner.world.agents import CameraMount
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.house import Furniture, Interior, Joint
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.skill import SkillCode
from planner.world.vocabulary import Relation

# Where to point the camera to see a piece of furniture or a room.

View = tuple[float, float]

# All around, with the floor in view from near the feet to across the room.
AROUND_RAD: tuple[View, ...] = ((0.0, 0.55), (1.25, 0.55), (2.5, 0.55), (-2.5, 0.55), (-1.25, 0.55))
# Twelve turns of 30 degrees that end where they began (ETPLAN-C16).
ROUND_RAD: tuple[View, ...] = tuple(
    (math.remainder(turn * math.tau / 12, math.tau) if turn < 12 else 0.0, 0.55)
    for turn in range(1, 13)
)
# Under boards and behind doors, more is visible from further away than a hand reaches.
BACK_M = 1.2
_LOW_M = 0.8
_RIM_M = 0.9
_HIGH_M = 1.2
# Width of a surface visible in one view from where an agent stands.
_SPAN_M = 0.9
_ALIKE_RAD = 0.35
_MAX_VIEWS = 8


@dataclass(frozen=True, slots=True)
class Stop:
    """What to look at from one place in front of furniture.

    Attributes:
        away_m: distance from the furniture; None for where its contents are within reach.
        points: to look at, in the map.
        before_m: a point of the furniture to stand at, instead of its middle.
    """

    away_m: float | None
    points: tuple[Vec3, ...]
    before_m: Vec3 | None = None


def stops(piece: Furniture, openness: float) -> tuple[Stop, ...]:
    """Where to look at furniture from: as a whole, then at what that does not show."""
    everything: list[Vec3] = []
    ends: list[Vec3] = []
    under: list[Vec3] = []
    bins: list[Vec3] = []
    for surface in piece.surfaces:
        points = _across(piece, surface.center, surface.size)
        everything += points
        if len(points) > 2 and piece.joints and not ends:
            # An egg at the end of a long counter is too small to be seen from its middle.
            ends = [points[0], points[-1]]
        if surface.clearance < _LOW_M or surface.center[2] > _HIGH_M:
            under += points
    for hollow in piece.interiors:
        if hollow.joint is not None and not openness > 0:
            continue
        center = opened_center(piece, hollow, openness)
        points = _across(piece, center, (hollow.size[0], hollow.size[1]))
        everything += points
        if _is_bin(piece, hollow):
            bins += points
        elif not hollow.moves:
            under += points
    found = [Stop(None, tuple(everything or [piece.box.center_m]))]
    found += [Stop(None, (end,), before_m=end) for end in ends]
    found += [Stop(CLOSE_M, tuple(bins))] if bins else []
    found += [Stop(BACK_M, tuple(under))] if under else []
    return tuple(found)


def _is_bin(piece: Furniture, hollow: Interior) -> bool:
    """Whether a hollow is open at its top, or has a lid there."""
    x, y, z = hollow.center
    top = z + hollow.size[2] / 2
    if any(
        surface.center[2] >= top - 0.05
        and abs(surface.center[0] - x) < surface.size[0] / 2
        and abs(surface.center[1] - y) < surface.size[1] / 2
        for surface in piece.surfaces
    ):
        return False
    if hollow.joint is None:
        return top < _RIM_M
    joint = piece.joint(hollow.joint)
    return joint.kind == "hinge" and abs(joint.axis[2]) < 0.5 and joint.origin[2] > z


def views_of(points: Iterable[Vec3], base: Pose, camera: CameraMount) -> tuple[View, ...]:
    """Pan and tilt (down positive) that together show some points of the map."""
    views: list[View] = []
    for point in points:
        view = view_of(point, base, camera)
        if all(math.dist(view, other) > _ALIKE_RAD for other in views):
            views.append(view)
    # Sorted from side to side, to avoid moving the camera back and forth.
    return tuple(sorted(views[:_MAX_VIEWS]))


def view_of(point_m: Vec3, base: Pose, camera: CameraMount) -> View:
    """Pan and tilt that bring a point of the map to the middle of the image."""
    x, y, _ = base.position_m
    dx, dy = point_m[0] - x, point_m[1] - y
    pan = wrap_angle_rad(math.atan2(dy, dx) - base.yaw_rad)
    ahead = max(math.hypot(dx, dy) - math.hypot(*camera.position_m[:2]), 0.05)
    return pan, math.atan2(camera.position_m[2] - point_m[2], ahead)


def _across(piece: Furniture, center: Vec3, size: tuple[float, float]) -> list[Vec3]:
    """The middle of an area, or several points along it if it is long."""
    along = 0 if size[0] > size[1] else 1
    count = max(1, math.ceil(size[along] / _SPAN_M))
    points = []
    for index in range(count):
        shift = ((index + 0.5) / count - 0.5) * size[along]
        x = center[0] + (shift if along == 0 else 0.0)
        y = center[1] + (shift if along == 1 else 0.0)
        points.append(to_map(piece, (x, y, center[2])))
    return points


# Doors, drawers and lids: Open and Close, and reaching what an open drawer covers.

_NOTHING_TO_MOVE = PrimitiveResult(PrimitiveCode.SUCCESS, "nothing to move")


def open_furniture(attempt: Attempt, arguments: Arguments) -> Routine:
    """Opens everything that opens; what is already open stays open (PARTNR-D47)."""
    return (yield from _move(attempt, arguments, PrimitiveName.OPEN))


def close_furniture(attempt: Attempt, arguments: Arguments) -> Routine:
    """Closes everything that opens."""
    return (yield from _move(attempt, arguments, PrimitiveName.CLOSE))


def _move(attempt: Attempt, arguments: Arguments, name: str) -> Routine:
    target = required(arguments.target)
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


# Distance at which to stop from another agent that holds the object.
COMPANY_M = 1.0

_ARRIVED = PrimitiveResult(PrimitiveCode.SUCCESS, "there already")
_NOWHERE = PrimitiveResult(PrimitiveCode.UNREACHABLE, "no free floor in front of it")


def navigate(attempt: Attempt, arguments: Arguments) -> Routine:
    """Walks next to furniture or an object, or into a room."""
    target = required(arguments.target)
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
    target = required(arguments.target)
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
    target = required(arguments.target)
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
