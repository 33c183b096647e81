"""Manipulation and state changes: their targets, preconditions and effects."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from planner.world.geometry import Vec3
from planner.world.house import Joint
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.states import Condition, StateSkill, default_states
from planner.world.vocabulary import (
    Affordance,
    Hand,
    Relation,
    free_hand,
    hand_holding,
    held_things,
    thing_in,
)
from sim_bridge.embedded.entities import OPEN_ENOUGH, Agent, Piece, Thing
from sim_bridge.embedded.placing import (
    Spot,
    Support,
    find_spot,
    floor_support,
    nearest_support,
    support_of_thing,
)
from sim_bridge.embedded.sensing import Rays
from sim_bridge.embedded.walking import FLOOR_HEIGHT_M
from sim_bridge.embedded.world import KinematicWorld

# A target point selects the nearest entity within this distance, or within the primitive's
# tolerance.
POINT_TOLERANCE_M = 0.15
SUPPORT_TOLERANCE_M = 0.3
# Higher above a hollow than any board that covers one is thick.
ABOVE_RIM_M = 0.06


class RefusalError(Exception):
    """A violated precondition, with the primitive's result."""

    def __init__(self, code: PrimitiveCode, text: str, **evidence: str) -> None:
        super().__init__(text)
        self.result = PrimitiveResult(code, text, evidence)


def thing_at(world: KinematicWorld, agent: Agent, point_m: Vec3, tolerance_m: float = 0.0) -> Thing:
    """The thing nearest to a point, except carried ones; a tolerance of 0 is the default.

    Raises:
        RefusalError: if there is none.
    """
    best = _nearest_thing(world, agent, point_m, world.things.values())
    if best is None or best[0] > (tolerance_m or POINT_TOLERANCE_M):
        raise RefusalError(PrimitiveCode.NOTHING_THERE, "nothing to take is at the target")
    return best[1]


def _nearest_thing(
    world: KinematicWorld, agent: Agent, point_m: Vec3, things: Iterable[Thing]
) -> tuple[float, Thing] | None:
    """The thing nearest to a point that the agent does not carry, and its box's distance."""
    carried = {thing.name for thing in world.carried_by(agent)}
    near = [
        (*_gaps(thing, point_m), thing.name)
        for thing in things
        if thing.name not in carried and thing.person is None
    ]
    best = min(near, default=None)
    return None if best is None else (best[0], world.things[best[2]])


def _gaps(thing: Thing, point_m: Vec3) -> tuple[float, float]:
    """Distance of a point from a thing's box, and its squared distance from the centre."""
    return thing.state().box.distance_m(point_m), center_gap(thing, point_m)


def center_gap(thing: Thing, point_m: Vec3) -> float:
    """How far a thing's middle is from a point, squared."""
    return sum((a - b) ** 2 for a, b in zip(thing.center_m, point_m, strict=True))


def check_pick(
    world: KinematicWorld,
    rays: Rays,
    agent: Agent,
    point_m: Vec3,
    tolerance_m: float = 0.0,
    wanted: Hand | None = None,
) -> tuple[Thing, Hand]:
    """The thing that a pick would take, and the hand that would: `wanted`, or the first free one.

    Raises:
        RefusalError: with the first violated precondition.
    """
    hand = wanted or free_hand(agent.hands)
    if hand is None or agent.hands[hand.slot] is not None:
        raise _hand_full(agent)
    thing = thing_at(world, agent, point_m, tolerance_m)
    base = world.base_of(thing)
    holder = base.parent if base.relation is Relation.HELD else base.name
    if base.relation is Relation.HELD or base.person is not None:
        raise RefusalError(PrimitiveCode.HELD_BY_OTHER, "another one holds it", holder=holder)
    if world.is_enclosed(thing):
        raise RefusalError(
            PrimitiveCode.CLOSED, "it is inside closed furniture", inside=base.parent
        )
    check_reach(agent, thing.center_m)
    check_view(rays, agent, view_points(thing), frozenset({thing.instance_id}))
    return thing, hand


def _hand_full(agent: Agent) -> RefusalError:
    what = "the hand already holds" if len(agent.hands) == 1 else "the hands already hold"
    return RefusalError(PrimitiveCode.HAND_FULL, f"{what} something", holding=", ".join(agent.held))


def view_points(thing: Thing) -> list[Vec3]:
    """The points of a thing of which one must be seen to handle it."""
    x, y, z = thing.center_m
    sx, sy, sz = (0.35 * s for s in thing.size_m)
    points = [(x, y, z), (x, y, z + sz)]
    points += [(x + a * sx, y + b * sy, z + sz) for a in (-1, 1) for b in (-1, 1)]
    return points


def check_reach(agent: Agent, point_m: Vec3) -> None:
    """Checks that the hand reaches a point.

    Raises:
        RefusalError: if it does not.
    """
    if not agent.reaches(point_m):
        raise RefusalError(
            PrimitiveCode.TOO_FAR,
            "the target is out of reach",
            distance_m=f"{agent.distance_m(point_m):.2f}",
            reach_m=f"{agent.body.reach_m:.2f}",
        )


def check_view(rays: Rays, agent: Agent, points: list[Vec3], instances: frozenset[int]) -> None:
    """Checks that one of the points, or one of the instances, is in view.

    Raises:
        RefusalError: if none is.
    """
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
) -> tuple[Spot, Hand]:
    """Where a place would put a held thing, and the hand that holds it.

    Raises:
        RefusalError: with the first violated precondition.
    """
    name = agent.holding if primitive.hand is None else thing_in(agent.hands, primitive.hand)
    hand = hand_holding(agent.hands, name) if name is not None else None
    if name is None or hand is None:
        raise RefusalError(PrimitiveCode.HAND_EMPTY, "the hand holds nothing")
    thing = world.things[name]
    relation = primitive.relation or Relation.ON
    reference = None
    if reference_m is not None:
        reference = thing_at(world, agent, reference_m, primitive.tolerance_m)
    support = _support(world, agent, primitive, point_m, reference)
    if reference and (reference.parent, reference.part) != (support.parent, support.part):
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
    spot = find_spot(world, agent, thing, support, _corner(support) or point_m, reference)
    if spot is None:
        if agent.distance_m(point_m) > agent.body.reach_m:
            check_reach(agent, point_m)
        raise RefusalError(
            PrimitiveCode.NO_SPACE,
            "no free spot within reach",
            surface=f"{support.parent}/{support.part}",
        )
    x, y, z, _ = spot.pose
    middle = (x, y, z + thing.size_m[2] / 2)
    check_reach(agent, middle)
    top = (x, y, z + thing.size_m[2])
    if isinstance(support.owner, Thing):
        # What already lies on a plate may hide the spot behind it, but not the plate.
        holder = support.owner
        points = [middle, top, *view_points(holder)]
        check_view(rays, agent, points, frozenset({holder.instance_id}))
    else:
        check_view(rays, agent, [middle, top, *_from_above(rays, spot, top)], frozenset())
    return spot, hand


def _from_above(rays: Rays, spot: Spot, top_m: Vec3) -> list[Vec3]:
    """The point over a spot in what is open at the top; none below boards and lids.

    A hand comes down into a laundry basket: it is enough to see its opening.
    """
    support = spot.support
    if support.relation is not Relation.WITHIN or support.owner is None:
        return []
    x, y, z = support.center
    _, _, rim_m = support.owner.to_map((x, y, z + support.clearance_m))
    over_m = (top_m[0], top_m[1], max(rim_m, top_m[2]) + ABOVE_RIM_M)
    return [over_m] if rays.sees(over_m, [top_m], frozenset()) else []


def _support(
    world: KinematicWorld,
    agent: Agent,
    primitive: Primitive,
    point_m: Vec3,
    reference: Thing | None,
) -> Support:
    """The support on or in which a place puts the held thing.

    Without a reference, a tolerance selects a thing at the target, as for `pick`; a thing placed
    next to one in or on a thing goes there, too.
    """
    relation = primitive.relation or Relation.ON
    holder = world.things.get(reference.parent) if reference is not None else None
    if reference is None and primitive.tolerance_m > 0:
        holder = _receptacle_at(world, agent, relation, point_m, primitive.tolerance_m)
    if holder is not None:
        support = support_of_thing(world, holder, relation)
        if support is None:
            part = "top" if relation is Relation.ON else "hollow"
            text = f"the thing there has no {part} to put anything {relation}"
            raise RefusalError(PrimitiveCode.NOTHING_THERE, text, thing=holder.name)
        base = world.base_of(holder)
        if base.relation is Relation.HELD:
            text = "another agent holds what it would be put into"
            raise RefusalError(PrimitiveCode.HELD_BY_OTHER, text, holder=base.parent)
        if world.is_enclosed(holder):
            text = "what it would be put into is inside closed furniture"
            raise RefusalError(PrimitiveCode.CLOSED, text, inside=base.parent)
        return support
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


def _corner(support: Support) -> Vec3 | None:
    """A corner of a thing's hollow or top: in its middle, the first thing would be the only one."""
    if not isinstance(support.owner, Thing):
        return None
    (x, y, z), (depth, width) = support.center, support.size
    return support.owner.to_map((x - depth / 2, y - width / 2, z))


def _receptacle_at(
    world: KinematicWorld, agent: Agent, relation: Relation, point_m: Vec3, tolerance_m: float
) -> Thing:
    fitting = [t for t in world.things.values() if support_of_thing(world, t, relation) is not None]
    best = _nearest_thing(world, agent, point_m, fitting)
    if best is None or best[0] > tolerance_m:
        text = f"nothing that things are put {relation} is at the target"
        raise RefusalError(PrimitiveCode.NOTHING_THERE, text)
    return best[1]


def check_joint(
    world: KinematicWorld, rays: Rays, agent: Agent, name: str, point_m: Vec3
) -> tuple[Piece, Joint]:
    """The door, drawer or lid that an open or close selects: the one with the nearest handle.

    Raises:
        RefusalError: with the first violated precondition.
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
        check_reach(agent, handle)
    check_view(rays, agent, [handle], frozenset({piece.instance_id}))
    if name is PrimitiveName.OPEN:
        _check_lid(world, piece, joint)
        if piece.opening[joint.name] < 1.0 and free_hand(agent.hands) is None:
            raise _hand_full(agent)
    return piece, joint


def _handle_gap(piece: Piece, joint: Joint, point_m: Vec3) -> float:
    # People point at the handle's current position, or at the closed one of the layout.
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


# State changes in the embedded world: their targets, preconditions and effects.

# Of a point that means a hand.
HAND_TOLERANCE_M = 0.05


def held_at(agent: Agent, point_m: Vec3) -> str | None:
    """What an agent holds in the hand that rests at a point of the map.

    The thing itself may be elsewhere: in front of furniture it is drawn in towards the body.
    """
    for hand in Hand:
        at_m = agent.to_map(agent.hand_in_base(hand))
        name = thing_in(agent.hands, hand)
        if name is not None and math.dist(at_m, point_m) <= HAND_TOLERANCE_M:
            return name
    return None


def check_state_change(
    world: KinematicWorld,
    rays: Rays,
    agent: Agent,
    skill: StateSkill,
    point_m: Vec3,
    tolerance_m: float = 0.0,
    hand: Hand | None = None,
    held: str | None = None,
) -> Thing | Piece:
    """The entity that a skill at a point would change; a tolerance of 0 is the default.

    `hand` is the one whose load it would be done with; None leaves that open. `held` is what the
    agent holds at the point; None = what is meant may be anything there.

    Raises:
        RefusalError: with the first violated precondition.
    """
    arguments = (point_m, tolerance_m or POINT_TOLERANCE_M, hand)
    own = world.things.get(held or "") if held in agent.held else None
    entity = own if _may_be(own, skill) else _entity_at(world, agent, skill, *arguments)
    if isinstance(entity, Thing):
        base = world.base_of(entity)
        if base.relation is Relation.HELD and base.parent != agent.name:
            raise RefusalError(
                PrimitiveCode.HELD_BY_OTHER, "another agent holds it", holder=base.parent
            )
        if world.is_enclosed(entity):
            raise RefusalError(
                PrimitiveCode.CLOSED, "it is inside closed furniture", inside=base.parent
            )
        if base.name not in agent.held:
            check_reach(agent, entity.center_m)
            check_view(rays, agent, view_points(entity), frozenset({entity.instance_id}))
    elif agent.distance_m(point_m) > agent.body.reach_m:
        check_reach(agent, point_m)
    _check_needs(world, agent, skill, entity, hand)
    return entity


def _may_be(held: Thing | None, skill: StateSkill) -> TypeGuard[Thing]:
    """Whether a skill that needs nothing in a hand can change what is held."""
    needed = default_states().affordance_of[next(iter(skill.sets))]
    return held is not None and skill.needs.hand is None and needed in held.affordances


def change_states(
    world: KinematicWorld,
    agent: Agent,
    skill: StateSkill,
    entity: Thing | Piece,
    hand: Hand | None = None,
) -> None:
    """Applies a skill's effects."""
    held = _tool(world, agent, skill, entity, hand)
    changes = dict(skill.sets)
    if held is not None:
        flags = [f for name in skill.copies for f in default_states().values[name].values()]
        changes |= {flag: True for flag in flags if held.states.get(flag)}
    for state, value in changes.items():
        world.set_state(entity.name, state, value)
    if held is not None:
        for state, value in skill.hand_sets.items():
            world.set_state(held.name, state, value)
    if skill.divides and isinstance(entity, Thing):
        world.divide(entity)


def _tool(
    world: KinematicWorld, agent: Agent, skill: StateSkill, entity: Thing | Piece, hand: Hand | None
) -> Thing | None:
    """What a skill is done with: the load of a hand, or the first that serves it."""
    names = agent.held if hand is None else held_things((thing_in(agent.hands, hand),))
    held = [world.things[name] for name in names if name != entity.name]
    needed = skill.needs.hand
    fit = (t for t in held if needed is not None and _meets(t, needed))
    return next(fit, held[0] if held else None)


def _entity_at(
    world: KinematicWorld,
    agent: Agent,
    skill: StateSkill,
    point_m: Vec3,
    tolerance_m: float,
    hand: Hand | None,
) -> Thing | Piece:
    """The thing or furniture at a point, preferring one that can have the states."""
    needed = default_states().affordance_of[next(iter(skill.sets))]
    used = agent.held if hand is None else (thing_in(agent.hands, hand),)
    uses_hand = skill.needs.hand is not None and len(used) == 1
    found: list[tuple[bool, float, float, str]] = []
    for thing in world.things.values():
        if thing.person is not None or (uses_hand and thing.name in used):
            continue
        distance = thing.state().box.distance_m(point_m)
        if distance <= tolerance_m:
            lacks = needed not in thing.affordances
            found.append((lacks, distance, center_gap(thing, point_m), thing.name))
    for piece in world.pieces.values():
        distance = piece.record.box.distance_m(point_m)
        if distance <= tolerance_m:
            lacks = needed not in piece.record.affordances
            # A thing takes precedence over the furniture under it.
            found.append((lacks, distance + 0.02, 0.0, piece.name))
    if not found:
        raise RefusalError(PrimitiveCode.NOTHING_THERE, "nothing is at the target")
    lacks, _, _, best = min(found)
    if lacks:
        raise RefusalError(
            PrimitiveCode.NO_AFFORDANCE, f"what is at the target is not {needed}", entity=best
        )
    return world.things.get(best) or world.pieces[best]


def _check_needs(
    world: KinematicWorld, agent: Agent, skill: StateSkill, entity: Thing | Piece, hand: Hand | None
) -> None:
    needs = skill.needs
    divided = entity if skill.divides and isinstance(entity, Thing) else None
    if divided is not None and world.base_of(divided).relation is Relation.HELD:
        raise RefusalError(PrimitiveCode.NEED_UNMET, f"{divided.name} is in a hand")
    for condition in needs.near:
        if not any(_meets(one, condition) for one in _in_reach(world, agent)):
            code = PrimitiveCode.NEED_UNMET
            if Affordance.FAUCET in condition.affordances:
                code = PrimitiveCode.NO_FAUCET
            raise RefusalError(code, f"no {condition.what} is within reach")
    if needs.hand is not None:
        _check_hand(_tool(world, agent, skill, entity, hand), needs.hand)
    if needs.thing is not None and not _meets(entity, needs.thing):
        text = f"{entity.name} is not {needs.thing.what}"
        raise RefusalError(PrimitiveCode.NEED_UNMET, text, entity=entity.name)
    for condition in needs.at:
        if not any(_meets(one, condition) for one in _under(world, entity)):
            text = f"{entity.name} is not on or in {condition.what}"
            raise RefusalError(PrimitiveCode.NEED_UNMET, text, entity=entity.name)


def _check_hand(held: Thing | None, condition: Condition) -> None:
    if held is None:
        raise RefusalError(PrimitiveCode.HAND_EMPTY, f"the hand does not hold {condition.what}")
    if not condition.is_kind(held.class_name, held.affordances):
        text = f"the hand does not hold {condition.what}"
        raise RefusalError(PrimitiveCode.NEED_UNMET, text, holding=held.name)
    if not condition.has_states(held.states):
        code = PrimitiveCode.SOURCE_EMPTY
        raise RefusalError(code, "what the hand holds is empty", holding=held.name)


def _meets(one: Thing | Piece, condition: Condition) -> bool:
    record = one.record if isinstance(one, Piece) else one
    kind = condition.is_kind(record.class_name, record.affordances)
    return kind and condition.has_states(one.states)


def _in_reach(world: KinematicWorld, agent: Agent) -> Iterator[Thing | Piece]:
    reach_m = agent.body.reach_m
    for piece in world.pieces.values():
        faucet = piece.record.faucet
        at = piece.to_map(faucet) if faucet is not None else piece.record.box.center_m
        if agent.distance_m(at) <= reach_m:
            yield piece
    for thing in world.things.values():
        if agent.distance_m(thing.center_m) <= reach_m:
            yield thing


def _under(world: KinematicWorld, entity: Thing | Piece) -> Iterator[Thing | Piece]:
    """The support of a thing, then that one's support, and so on."""
    while isinstance(entity, Thing):
        below = world.things.get(entity.parent) or world.pieces.get(entity.parent)
        if below is None:
            return
        yield below
        entity = below
