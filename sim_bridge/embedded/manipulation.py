"""What hands do: the target of each primitive, its preconditions, its effect."""

from __future__ import annotations

import math

from planner.world.geometry import Vec3
from planner.world.house import Joint
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.vocabulary import AFFORDANCE_OF_STATE, Affordance, Relation, State
from sim_bridge.embedded.entities import OPEN_ENOUGH, Agent, Piece, Thing
from sim_bridge.embedded.placing import (
    Spot,
    Support,
    find_spot,
    floor_support,
    nearest_support,
)
from sim_bridge.embedded.rays import Rays
from sim_bridge.embedded.walking import FLOOR_HEIGHT_M
from sim_bridge.embedded.world import KinematicWorld

# A target point means the entity nearest to it, if that is this near or as near as is asked.
POINT_TOLERANCE_M = 0.15
SUPPORT_TOLERANCE_M = 0.3


class RefusalError(Exception):
    """A precondition that does not hold; carries the primitive's result."""

    def __init__(self, code: PrimitiveCode, text: str, **evidence: str) -> None:
        super().__init__(text)
        self.result = PrimitiveResult(code, text, evidence)


def thing_at(world: KinematicWorld, agent: Agent, point_m: Vec3, tolerance_m: float = 0.0) -> Thing:
    """The thing nearest to a point, the agent's own load aside; a tolerance of 0 is ours.

    Raises:
        RefusalError: where none is near.
    """
    near = [
        (thing.state().box.distance_m(point_m), _center_gap(thing, point_m), thing.name)
        for thing in world.things.values()
        if thing.name != agent.holding
    ]
    best = min(near, default=None)
    if best is None or best[0] > (tolerance_m or POINT_TOLERANCE_M):
        raise RefusalError(PrimitiveCode.NOTHING_THERE, "nothing to take is at the target")
    return world.things[best[2]]


def _center_gap(thing: Thing, point_m: Vec3) -> float:
    return sum((a - b) ** 2 for a, b in zip(thing.center_m, point_m, strict=True))


def check_pick(
    world: KinematicWorld, rays: Rays, agent: Agent, point_m: Vec3, tolerance_m: float = 0.0
) -> Thing:
    """The thing that a pick would take.

    Raises:
        RefusalError: with the first precondition that does not hold.
    """
    if agent.holding is not None:
        raise RefusalError(
            PrimitiveCode.HAND_FULL, "the hand already holds something", holding=agent.holding
        )
    thing = thing_at(world, agent, point_m, tolerance_m)
    if thing.relation is Relation.HELD:
        raise RefusalError(
            PrimitiveCode.HELD_BY_OTHER, "another agent holds it", holder=thing.parent
        )
    if world.is_enclosed(thing):
        raise RefusalError(
            PrimitiveCode.CLOSED, "it is inside closed furniture", inside=thing.parent
        )
    _check_reach(agent, thing.center_m)
    _check_view(rays, agent, _view_points(thing), frozenset({thing.instance_id}))
    return thing


def _view_points(thing: Thing) -> list[Vec3]:
    x, y, z = thing.center_m
    sx, sy, sz = (0.35 * s for s in thing.size_m)
    points = [(x, y, z), (x, y, z + sz)]
    points += [(x + a * sx, y + b * sy, z + sz) for a in (-1, 1) for b in (-1, 1)]
    return points


def _check_reach(agent: Agent, point_m: Vec3) -> None:
    if not agent.reaches(point_m):
        raise RefusalError(
            PrimitiveCode.TOO_FAR,
            "the target is out of reach",
            distance_m=f"{agent.distance_m(point_m):.2f}",
            reach_m=f"{agent.body.reach_m:.2f}",
        )


def _check_view(rays: Rays, agent: Agent, points: list[Vec3], instances: frozenset[int]) -> None:
    for eye in agent.viewpoints_m(points[0]):
        if rays.sees(eye, points, instances):
            return
    raise RefusalError(PrimitiveCode.NO_LINE_OF_SIGHT, "something hides the target")


def check_place(
    world: KinematicWorld,
    rays: Rays,
    agent: Agent,
    primitive: Primitive,
    point_m: Vec3,
    reference_m: Vec3 | None,
) -> Spot:
    """Where a place would put the held thing.

    Raises:
        RefusalError: with the first precondition that does not hold.
    """
    if agent.holding is None:
        raise RefusalError(PrimitiveCode.HAND_EMPTY, "the hand holds nothing")
    thing = world.things[agent.holding]
    relation = primitive.relation or Relation.ON
    support = _support(world, relation, point_m)
    reference = None
    if reference_m is not None:
        reference = thing_at(world, agent, reference_m, primitive.tolerance_m)
        if (reference.parent, reference.part) != (support.parent, support.part):
            raise RefusalError(
                PrimitiveCode.NOTHING_THERE,
                "the reference is not on the same surface",
                reference=reference.name,
                surface=f"{support.parent}/{support.part}",
            )
    if support.piece is not None and relation is Relation.WITHIN:
        hollow = next(i for i in support.piece.record.interiors if i.name == support.part)
        if not support.piece.is_open(hollow):
            raise RefusalError(
                PrimitiveCode.CLOSED, "the furniture is closed", furniture=support.parent
            )
    spot = find_spot(world, agent, thing, support, point_m, reference)
    if spot is None:
        if agent.distance_m(point_m) > agent.body.reach_m:
            _check_reach(agent, point_m)
        raise RefusalError(
            PrimitiveCode.NO_SPACE,
            "no free spot within reach",
            surface=f"{support.parent}/{support.part}",
        )
    x, y, z, _ = spot.pose
    middle = (x, y, z + thing.size_m[2] / 2)
    _check_reach(agent, middle)
    top = (x, y, z + thing.size_m[2])
    _check_view(rays, agent, [middle, top], frozenset())
    return spot


def _support(world: KinematicWorld, relation: Relation, point_m: Vec3) -> Support:
    support = nearest_support(world, relation, point_m, SUPPORT_TOLERANCE_M)
    if (
        relation is Relation.ON
        and point_m[2] <= FLOOR_HEIGHT_M
        and (support is None or support.center[2] > FLOOR_HEIGHT_M)
    ):
        support = floor_support(world, point_m)
    if support is None:
        what = "surface" if relation is Relation.ON else "interior"
        raise RefusalError(PrimitiveCode.NOTHING_THERE, f"no {what} is at the target")
    return support


def check_joint(
    world: KinematicWorld, rays: Rays, agent: Agent, name: PrimitiveName, point_m: Vec3
) -> tuple[Piece, Joint]:
    """The door, drawer or lid that an open or close means: the one whose handle is nearest.

    Raises:
        RefusalError: with the first precondition that does not hold.
    """
    near = [
        (_handle_gap(piece, joint, point_m), piece.name, joint.name)
        for piece in world.pieces.values()
        if piece.record.box.distance_m(point_m) <= SUPPORT_TOLERANCE_M + 1.0
        for joint in piece.record.joints
    ]
    inside = [p for p in world.pieces.values() if p.record.box.contains(point_m, 0.05)]
    if inside and not any(p.record.joints for p in inside):
        raise RefusalError(
            PrimitiveCode.NOT_ARTICULATED, "it has nothing to open", furniture=inside[0].name
        )
    names = {p.name for p in inside}
    best = min((n for n in near if not names or n[1] in names), default=None)
    if best is None or (not names and best[0] > SUPPORT_TOLERANCE_M):
        raise RefusalError(PrimitiveCode.NOTHING_THERE, "nothing that opens is at the target")
    piece = world.pieces[best[1]]
    joint = piece.record.joint(best[2])
    handle = piece.handle(joint)
    if agent.distance_m(handle) > agent.body.reach_m:
        _check_reach(agent, handle)
    _check_view(rays, agent, [handle], frozenset({piece.instance_id}))
    if name is PrimitiveName.OPEN:
        _check_lid(world, piece, joint)
    return piece, joint


def _handle_gap(piece: Piece, joint: Joint, point_m: Vec3) -> float:
    # People point at a handle where it is or where the layout says that it is when closed.
    return min(
        math.dist(piece.handle(joint), point_m), math.dist(piece.to_map(joint.handle), point_m)
    )


def _check_lid(world: KinematicWorld, piece: Piece, joint: Joint) -> None:
    """A lid cannot be lifted with things on it."""
    lying = (
        joint.kind == "hinge"
        and abs(joint.axis[2]) < 0.5
        and joint.origin[2] > 0.5 * (piece.record.size_m[2])
    )
    lid = {p.center[2] + p.size[2] / 2 for p in piece.record.parts if p.joint == joint.name}
    if not lying or not lid or piece.opening[joint.name] >= OPEN_ENOUGH:
        return
    for surface in piece.record.surfaces:
        on_it = world.resting_on(piece.name, surface.name)
        if on_it and abs(surface.center[2] - max(lid)) < 0.03:
            raise RefusalError(
                PrimitiveCode.BLOCKED, "something lies on the lid", thing=on_it[0].name
            )


def check_state_change(
    world: KinematicWorld,
    rays: Rays,
    agent: Agent,
    name: PrimitiveName,
    point_m: Vec3,
    tolerance_m: float = 0.0,
) -> tuple[str, State, bool]:
    """The entity, state and value that a clean, fill, pour or power primitive sets.

    Raises:
        RefusalError: with the first precondition that does not hold.
    """
    state, value = {
        PrimitiveName.CLEAN: (State.CLEAN, True),
        PrimitiveName.FILL: (State.FILLED, True),
        PrimitiveName.POUR: (State.FILLED, True),
        PrimitiveName.POWER_ON: (State.POWERED_ON, True),
        PrimitiveName.POWER_OFF: (State.POWERED_ON, False),
    }[name]
    tolerance_m = tolerance_m or POINT_TOLERANCE_M
    needed = AFFORDANCE_OF_STATE[state]
    entity = _entity_at(world, agent, name, point_m, needed, tolerance_m)
    if isinstance(entity, Thing):
        if entity.relation is Relation.HELD and entity.parent != agent.name:
            raise RefusalError(
                PrimitiveCode.HELD_BY_OTHER, "another agent holds it", holder=entity.parent
            )
        if world.is_enclosed(entity):
            raise RefusalError(
                PrimitiveCode.CLOSED, "it is inside closed furniture", inside=entity.parent
            )
        if entity.name != agent.holding:
            _check_reach(agent, entity.center_m)
            _check_view(rays, agent, _view_points(entity), frozenset({entity.instance_id}))
    elif agent.distance_m(point_m) > agent.body.reach_m:
        _check_reach(agent, point_m)
    needs_faucet = (name is PrimitiveName.FILL and world.options.require_faucet_for_fill) or (
        name is PrimitiveName.CLEAN and world.options.require_faucet_for_clean
    )
    if needs_faucet and not _faucet_in_reach(world, agent):
        raise RefusalError(PrimitiveCode.NO_FAUCET, "no faucet is within reach")
    if name is PrimitiveName.POUR:
        source = world.things[agent.holding] if agent.holding else None
        if source is None:
            raise RefusalError(PrimitiveCode.HAND_EMPTY, "the hand holds nothing to pour from")
        if not source.states.get(State.FILLED, False):
            raise RefusalError(
                PrimitiveCode.SOURCE_EMPTY, "what the hand holds is empty", holding=source.name
            )
    return entity.name, state, value


def _entity_at(
    world: KinematicWorld,
    agent: Agent,
    name: PrimitiveName,
    point_m: Vec3,
    needed: Affordance,
    tolerance_m: float,
) -> Thing | Piece:
    """The thing or piece of furniture at a point: one with the affordance before one without."""
    found: list[tuple[bool, float, float, str]] = []
    for thing in world.things.values():
        if name is PrimitiveName.POUR and thing.name == agent.holding:
            continue
        distance = thing.state().box.distance_m(point_m)
        if distance <= tolerance_m:
            lacks = needed not in thing.affordances
            found.append((lacks, distance, _center_gap(thing, point_m), thing.name))
    for piece in world.pieces.values():
        distance = piece.record.box.distance_m(point_m)
        if distance <= tolerance_m:
            lacks = needed not in piece.record.affordances
            # A thing on the furniture is meant before the furniture under it.
            found.append((lacks, distance + 0.02, 0.0, piece.name))
    if not found:
        raise RefusalError(PrimitiveCode.NOTHING_THERE, "nothing is at the target")
    lacks, _, _, best = min(found)
    if lacks:
        raise RefusalError(
            PrimitiveCode.NO_AFFORDANCE, f"what is at the target is not {needed}", entity=best
        )
    return world.things.get(best) or world.pieces[best]


def _faucet_in_reach(world: KinematicWorld, agent: Agent) -> bool:
    return any(
        piece.record.faucet is not None
        and agent.distance_m(piece.to_map(piece.record.faucet)) <= agent.body.reach_m
        for piece in world.pieces.values()
    )
