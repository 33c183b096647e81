"""State changes in the embedded world: their targets, preconditions and effects."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeGuard

from planner.world.geometry import Vec3
from planner.world.hands import Hand, held_things, thing_in
from planner.world.primitive import PrimitiveCode
from planner.world.state_skills import Condition, StateSkill
from planner.world.states import default_states
from planner.world.vocabulary import Affordance, Relation
from sim_bridge.embedded.entities import Agent, Piece, Thing
from sim_bridge.embedded.manipulation import (
    POINT_TOLERANCE_M,
    RefusalError,
    center_gap,
    check_reach,
    check_view,
    view_points,
)
from sim_bridge.embedded.rays import Rays
from sim_bridge.embedded.world import KinematicWorld

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
    world: KinematicWorld,
    agent: Agent,
    skill: StateSkill,
    entity: Thing | Piece,
    hand: Hand | None,
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
        if uses_hand and thing.name in used:
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
    world: KinematicWorld,
    agent: Agent,
    skill: StateSkill,
    entity: Thing | Piece,
    hand: Hand | None,
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
