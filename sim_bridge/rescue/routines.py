"""The primitives of rescuers as actions of joint steps (LLAMAR-A22)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from planner.world.geometry import Vec3
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.reported import CHANGED
from sim_bridge.rescue.actions import Action, Failure, Verb
from sim_bridge.rescue.fire import Supply
from sim_bridge.rescue.names import CELL_M, cell_at, middle_m
from sim_bridge.rescue.options import RescueOptions
from sim_bridge.rescue.turns import Mover, Proposal, Turns
from sim_bridge.stepped import Routine

_CODES = {
    Failure.BLOCKED: PrimitiveCode.BLOCKED,
    Failure.NOT_VISIBLE: PrimitiveCode.NO_LINE_OF_SIGHT,
    Failure.NO_FREE_CELL: PrimitiveCode.UNREACHABLE,
    Failure.NOT_INTERACTABLE: PrimitiveCode.NEED_UNMET,
    Failure.FULL: PrimitiveCode.NEED_UNMET,
    Failure.EMPTY: PrimitiveCode.NEED_UNMET,
    Failure.NO_SUPPLY: PrimitiveCode.NEED_UNMET,
    Failure.WRONG_TYPE: PrimitiveCode.NEED_UNMET,
    Failure.NOT_ALL_DROPPED: PrimitiveCode.NEED_UNMET,
    Failure.RESTRICTED_ACTION: PrimitiveCode.NEED_UNMET,
}
_REASONS = {
    Failure.BLOCKED: "the way is blocked",
    Failure.NOT_VISIBLE: "nobody has seen it",
    Failure.NO_FREE_CELL: "there is no free place near it",
    Failure.NOT_INTERACTABLE: "it does not allow that now",
    Failure.FULL: "the agent has no free slot",
    Failure.EMPTY: "the deposit has none of that",
    Failure.NO_SUPPLY: "the agent has none of that",
    Failure.WRONG_TYPE: "this supply does not fit",
    Failure.NOT_ALL_DROPPED: "not all who carry the person have dropped off",
    Failure.RESTRICTED_ACTION: "not while the agent holds a person",
}
_SUPPLIES: Mapping[str, tuple[Verb, Supply]] = {
    PrimitiveName.TAKE_SAND: (Verb.GET_SUPPLY, Supply.SAND),
    PrimitiveName.TAKE_WATER: (Verb.GET_SUPPLY, Supply.WATER),
    PrimitiveName.USE_SAND: (Verb.USE_SUPPLY, Supply.SAND),
    PrimitiveName.USE_WATER: (Verb.USE_SUPPLY, Supply.WATER),
}
_ON_TARGETS: Mapping[str, Verb] = {
    PrimitiveName.APPROACH: Verb.NAVIGATE_TO,
    PrimitiveName.STORE_SUPPLIES: Verb.STORE_SUPPLY,
    PrimitiveName.CARRY: Verb.CARRY,
    PrimitiveName.DROP_OFF: Verb.DROP_OFF,
}
_ALONE: Mapping[str, Verb] = {
    PrimitiveName.SCOUT: Verb.EXPLORE,
    PrimitiveName.DISCARD_SUPPLIES: Verb.CLEAR_INVENTORY,
}
ABLE = frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK, *_SUPPLIES, *_ON_TARGETS, *_ALONE})
# Of a target point from the middle of what it means, unless the primitive says.
_TOLERANCE_M = CELL_M


@dataclass(frozen=True, slots=True)
class Act:
    """A primitive that an agent carries out; its target is in `map`."""

    turns: Turns
    mover: Mover
    primitive: Primitive
    target_m: Vec3
    heading_rad: float
    options: RescueOptions


def routine(act: Act) -> Routine:
    """The routine of a primitive that its body supports."""
    if act.primitive.name == PrimitiveName.LOOK:
        return _look(act)
    return _join(act)


def _look(act: Act) -> Routine:
    passed_s = 0.0
    while passed_s < act.options.look_s - 1e-9:
        passed_s += yield "looking", passed_s / act.options.look_s, 0.0
    if not act.primitive.views_rad:
        _face(act, act.target_m)
    return PrimitiveResult(PrimitiveCode.SUCCESS, "looked")


def _face(act: Act, point_m: Vec3) -> None:
    dx, dy = point_m[0] - act.mover.x_m, point_m[1] - act.mover.y_m
    if math.hypot(dx, dy) > 1e-6:
        act.turns.turn(act.mover.name, math.atan2(dy, dx))


def _join(act: Act) -> Routine:
    action = _action(act)
    if isinstance(action, PrimitiveResult):
        yield "looking for the target", 0.0, 0.0
        return action
    turns, name = act.turns, act.mover.name
    proposal = turns.propose(name, action)
    while proposal.result is None:
        yield "waiting for the team", 0.0, 0.0
    whole_s = proposal.ends_s - proposal.began_s
    while (left_s := proposal.ends_s - turns.time_s) > 1e-9:
        yield str(action.verb), 1.0 - left_s / whole_s, 0.0
    if action.verb is Verb.NAVIGATE_TO and not math.isnan(act.heading_rad):
        turns.turn(name, act.heading_rad)
    elif action.verb is not Verb.EXPLORE:
        _face(act, act.target_m)
    return _ended(turns, name, proposal)


def _action(act: Act) -> Action | PrimitiveResult:
    """The action that a primitive asks for, or the result that refuses it."""
    name, world = act.primitive.name, act.turns.world
    if name in _ALONE:
        return Action(_ALONE[name])
    if name == PrimitiveName.NAVIGATE:
        cell = cell_at(act.target_m[0], act.target_m[1])
        if cell is None:
            return PrimitiveResult(PrimitiveCode.UNREACHABLE, "the target is not on the grid")
        return Action(Verb.NAVIGATE_TO, cell=cell)
    within_m = act.primitive.tolerance_m or _TOLERANCE_M
    supply = _SUPPLIES.get(name)
    verb = supply[0] if supply is not None else _ON_TARGETS[name]
    target = act.turns.target_at(act.target_m, within_m, verb)
    if target is None:
        return PrimitiveResult(PrimitiveCode.NOTHING_THERE, f"nothing to {name} is there")
    person = world.agents[act.mover.name].carried if verb is Verb.DROP_OFF else ""
    if verb is Verb.DROP_OFF and not person:
        return PrimitiveResult(PrimitiveCode.NEED_UNMET, "the agent holds nobody")
    return Action(verb, target, supply=supply[1] if supply is not None else None, person=person)


def _ended(turns: Turns, agent: str, proposal: Proposal) -> PrimitiveResult:
    who, result = turns.world.agents[agent], proposal.result
    if result is None:
        raise RuntimeError("a joint step has ended that was never made")
    evidence = {"action": str(result.action)}
    if proposal.changed:
        evidence[CHANGED] = proposal.changed
    evidence |= {str(supply).lower(): str(count) for supply, count in who.supplies.items()}
    evidence["person"] = turns.names.entity(who.carried) if who.carried else ""
    where_m = middle_m(who.cell)
    if result.failure is None:
        return PrimitiveResult(PrimitiveCode.SUCCESS, f"{result.action}", evidence, where_m)
    evidence["failure"] = str(result.failure)
    code, reason = _CODES[result.failure], _REASONS[result.failure]
    target = result.action.target
    if result.failure is Failure.NOT_INTERACTABLE and not turns.world.is_near(who, target):
        code, reason = PrimitiveCode.TOO_FAR, "it is too far away"
    return PrimitiveResult(code, reason, evidence)
