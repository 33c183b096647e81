"""Manipulation: effects and codes of picking, placing, opening and closing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from planner.world.geometry import Vec3
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from planner.world.state import EntityState, WorldState
from planner.world.states import default_state_skills
from planner.world.vocabulary import Affordance, EntityKind, Hand, Relation, floor_name, held_things
from sim_bridge.conformance_checks.trial import (
    MAX_CANDIDATES,
    ConformanceError,
    Trial,
    UnsuitableError,
    expect,
    middle_m,
)

PICK, PLACE = PrimitiveName.PICK, PrimitiveName.PLACE
OPEN, CLOSE = PrimitiveName.OPEN, PrimitiveName.CLOSE
# Tolerance for positions of placed things, and heights of their supports.
PLACE_TOLERANCE_M = 0.6


def pick_takes_and_place_puts(trial: Trial) -> None:
    """A picked thing is in the hand and moves with it; placed, it is where it was put."""
    trial.truth()
    thing = _take(trial)
    target = middle_m(thing)
    before = trial.truth()
    expect(before.entities[trial.agent].holding == thing.name, f"{thing.name} is not in the hand")
    held = before.entities[thing.name]
    expect(held.relation is Relation.HELD, f"a picked thing is {held.relation}, not held")
    expect(held.parent == trial.agent, f"a picked thing is at {held.parent}, not at its holder")
    expect(trial.backend.observe(trial.agent, ()).holding, "the hand does not feel what it holds")
    _expect_goes_along(trial, thing)
    trial.do(PrimitiveName.NAVIGATE, target)
    result = trial.do(PLACE, target, relation=Relation.ON)
    expect(result.succeeded, f"putting {thing.name} back failed: {result.text}")
    after = trial.truth()
    put = after.entities[thing.name]
    expect(put.relation is Relation.ON, f"a thing placed on something is {put.relation}")
    expect(put.parent == thing.parent, f"placed on {thing.parent}, it is on {put.parent}")
    apart_m = math.dist(put.pose.position_m, thing.pose.position_m)
    expect(apart_m < PLACE_TOLERANCE_M, f"{thing.name} lies {apart_m:.2f} m from where it was put")
    expect(after.entities[trial.agent].holding is None, "the hand still holds what it put down")
    expect(not trial.backend.observe(trial.agent, ()).holding, "an empty hand feels something")


def handling_touches_nothing_else(trial: Trial) -> None:
    """Picking one thing changes no other thing, except what is in it."""
    before = trial.truth()
    thing = _take(trial)
    after = trial.truth()
    spared = {thing.name, trial.agent, *_carried(before, thing.name)}
    for name, entity in before.entities.items():
        if name not in spared and entity.kind in (EntityKind.OBJECT, EntityKind.FURNITURE):
            expect(after.entities[name] == entity, f"taking {thing.name} changed {name}")


def place_on_the_floor(trial: Trial) -> None:
    """A thing can be put on free floor, which is named after its room."""
    trial.truth()
    thing = _take(trial)
    base = trial.base()
    for ahead_m, aside_m in ((0.7, 0.0), (0.6, 0.5), (0.6, -0.5), (-0.7, 0.0), (0.9, 0.0)):
        x, y, _ = base.apply((ahead_m, aside_m, 0.0))
        result = trial.do(PLACE, (x, y, 0.0), relation=Relation.ON)
        if result.succeeded:
            put = trial.truth().entities[thing.name]
            floors = {floor_name(room) for room in _rooms(trial.truth())}
            expect(put.parent in floors, f"on the floor, {thing.name} is on {put.parent}")
            height_m = put.pose.position_m[2]
            expect(abs(height_m) < 0.05, f"on the floor, it is {height_m:.2f} m high")
            apart_m = math.dist(put.pose.position_m[:2], (x, y))
            expect(apart_m < PLACE_TOLERANCE_M, f"it lies {apart_m:.2f} m from where it was put")
            return
        busy = (PrimitiveCode.NO_SPACE, PrimitiveCode.NO_LINE_OF_SIGHT, PrimitiveCode.TOO_FAR)
        expect(result.code in busy, f"putting it on the floor ended as {result.code.name}")
    raise UnsuitableError("no free floor around the agent")


def hands_have_limits(trial: Trial) -> None:
    """Full hands cannot pick, empty ones cannot place, and empty space cannot be picked."""
    _need(trial, PICK, PLACE)
    base = trial.base()
    ahead = base.apply((0.6, 0.0, 1.0))
    trial.refused(
        PrimitiveCode.HAND_EMPTY,
        "placing with an empty hand",
        Primitive(PLACE, ahead, relation=Relation.ON),
    )
    trial.refused(PrimitiveCode.NOTHING_THERE, "taking air", Primitive(PICK, ahead))
    thing = _take(trial)
    again = Primitive(PICK, middle_m(thing), hand=Hand.RIGHT)
    trial.refused(PrimitiveCode.HAND_FULL, "taking with a full hand", again)
    if trial.can().hands == 1:
        again = Primitive(PICK, middle_m(thing))
        trial.refused(PrimitiveCode.HAND_FULL, "taking with the only hand full", again)
        left = Primitive(PICK, middle_m(thing), hand=Hand.LEFT)
        trial.refused(PrimitiveCode.NOT_ABLE, "taking with a hand that it has not", left)
    if not trial.backend.simulated:
        # Loading again does not empty a real hand for the next check.
        put = trial.do(PLACE, middle_m(thing), relation=Relation.ON)
        expect(put.succeeded, f"putting {thing.name} back failed: {put.text}")


def opening_needs_a_free_hand(trial: Trial) -> None:
    """With all hands full nothing opens; with one free it does."""
    trial.truth()
    agent = _with_hands(trial, 1)
    _take(trial, agent)
    pieces = _openable(trial.truth())
    if OPEN not in trial.backend.capabilities(agent).primitives:
        raise UnsuitableError(f"{agent} cannot open")
    for piece in pieces[:MAX_CANDIDATES]:
        point = trial.approach(piece, agent)
        if point is None:
            continue
        code = trial.do(OPEN, point, agent).code
        if code in (PrimitiveCode.NO_LINE_OF_SIGHT, PrimitiveCode.TOO_FAR):
            continue
        expect(code is PrimitiveCode.HAND_FULL, f"opening with a full hand ended as {code.name}")
        still = trial.truth().entities[piece.name].openness
        expect(still == 0.0, f"{piece.name} was refused, and is {still} open")
        return
    raise UnsuitableError("nothing to open that can be walked up to")


def two_hands_hold_two_things(trial: Trial) -> None:
    """A body with two hands takes a second thing, says which hand has which, and puts both down."""
    trial.truth()
    agent = _with_hands(trial, 2)
    first, second = _take(trial, agent), _take(trial, agent)
    expected = (first.name, second.name)
    hands = trial.truth().entities[agent].hands
    expect(hands == expected, f"the hands hold {hands}, not {expected}, the right hand's first")
    full = Primitive(PICK, middle_m(second))
    trial.refused(PrimitiveCode.HAND_FULL, "taking with both hands full", full, agent)
    for thing, hand in ((second, Hand.LEFT), (first, Hand.RIGHT)):
        trial.do(PrimitiveName.NAVIGATE, middle_m(thing), agent)
        result = trial.do(PLACE, middle_m(thing), agent, relation=Relation.ON, hand=hand)
        expect(result.succeeded, f"putting {thing.name} back failed: {result.text}")
        now = trial.truth().entities
        expect(now[thing.name].parent == thing.parent, f"{thing.name} is elsewhere than it was put")
        expect(thing.name not in now[agent].hands, f"the {hand} hand still holds what it put down")
    expect(not held_things(trial.truth().entities[agent].hands), "the hands are not empty")


def _with_hands(trial: Trial, count: int) -> str:
    """The first agent whose body has so many hands and can pick."""
    for agent in trial.backend.agents:
        can = trial.backend.capabilities(agent)
        if can.hands == count and PICK in can.primitives:
            return agent
    raise UnsuitableError(f"no agent with {count} hand{'s' if count > 1 else ''} that picks")


def reach_has_limits(trial: Trial) -> None:
    """What is out of reach is TOO_FAR, and stays where it is."""
    _need(trial, PICK)
    trial.truth()
    base, reach_m = trial.base(), trial.can().reach_m
    far = [e for e in trial.lying_open() if e.box.distance_m(base.position_m) > reach_m + 2.0]
    if not far:
        raise UnsuitableError("nothing lies out of reach")
    trial.refused(PrimitiveCode.TOO_FAR, "taking from afar", Primitive(PICK, middle_m(far[0])))
    after = trial.truth().entities[far[0].name]
    expect(after == far[0], f"{far[0].name} was touched from afar")


def open_opens_and_close_closes(trial: Trial) -> None:
    """Opening shows in `openness` and hides nothing inside; closing reverses it."""
    piece, handle = _open_some(trial, _openable(trial.truth()))
    opened = trial.truth().entities[piece.name]
    expect((opened.openness or 0.0) > 0.9, f"an opened {piece.name} is {opened.openness} open")
    inside = _inside(trial.truth(), piece.name)
    result = trial.do(CLOSE, handle)
    expect(result.succeeded, f"closing {piece.name} failed: {result.text}")
    closed = trial.truth().entities[piece.name]
    expect(closed.openness == 0.0, f"a closed {piece.name} is {closed.openness} open")
    still = _inside(trial.truth(), piece.name)
    expect(set(still) == set(inside), f"opening and closing {piece.name} lost what is inside")


def only_doors_open(trial: Trial) -> None:
    """Furniture without a joint is NOT_ARTICULATED."""
    _need(trial, OPEN)
    entities = trial.truth().entities.values()
    plain = [e for e in entities if e.kind is EntityKind.FURNITURE and e.openness is None]
    for piece in sorted(plain, key=lambda e: e.name)[:MAX_CANDIDATES]:
        point = trial.approach(piece)
        if point is not None:
            result = trial.do(OPEN, point)
            expect(
                result.code is PrimitiveCode.NOT_ARTICULATED,
                f"opening {piece.name} ended as {result.code.name}, not NOT_ARTICULATED",
            )
            return
    raise UnsuitableError("no plain furniture that can be walked up to")


def closed_hides_and_open_gives(trial: Trial) -> None:
    """A thing behind a closed door can be neither seen nor picked; both after opening it."""
    state = trial.truth()
    hidden = [e for e in state.entities.values() if _is_shut_in(state, e)]
    if not hidden:
        raise UnsuitableError("nothing lies in closed furniture")
    for thing in sorted(hidden, key=lambda e: e.name)[:MAX_CANDIDATES]:
        trial.reload()
        handle = trial.approach(state.entities[thing.parent or ""])
        if handle is None:
            continue
        trial.do(PrimitiveName.LOOK, middle_m(thing))
        _expect_unseen(trial, thing)
        result = trial.do(PICK, middle_m(thing))
        shut = (PrimitiveCode.CLOSED, PrimitiveCode.NO_LINE_OF_SIGHT, PrimitiveCode.TOO_FAR)
        expect(result.code in shut, f"taking from closed furniture ended as {result.code.name}")
        if trial.do(OPEN, handle).succeeded:
            now = trial.truth().entities[thing.name]
            if trial.approach(now) and trial.do(PICK, middle_m(now)).succeeded:
                return
    raise ConformanceError("from no closed furniture could a thing be taken after opening it")


def states_change_as_asked(trial: Trial) -> None:
    """Cleaning, powering and so on set their state, only on things that afford it."""
    tried = 0
    for agent in trial.backend.agents:
        can = trial.backend.capabilities(agent).primitives
        for name, skill in default_state_skills().items():
            state, value = next(iter(skill.sets.items()))
            if name in can and not skill.needs.conditions:
                tried += _change_state(trial, agent, name, state, value)
    if not tried:
        raise UnsuitableError("no agent and thing to change a state of")


def _need(trial: Trial, *primitives: str) -> None:
    """Raises UnsuitableError for a body that cannot do one of these."""
    for name in primitives:
        if name not in trial.can().primitives:
            raise UnsuitableError(f"{trial.agent} cannot {name}")


def _change_state(trial: Trial, agent: str, name: str, state: str, value: bool) -> int:
    entities = trial.truth().entities.values()
    able = [e for e in entities if e.states is not None and state in e.states]
    for thing in sorted(able, key=lambda e: e.name)[:MAX_CANDIDATES]:
        if thing.relation is Relation.WITHIN:
            continue
        walk = Primitive(PrimitiveName.NAVIGATE, middle_m(thing))
        if not trial.finish(trial.backend.start(agent, walk)).succeeded:
            continue
        result = trial.finish(trial.backend.start(agent, Primitive(name, middle_m(thing))))
        if not result.succeeded:
            excuses = (
                PrimitiveCode.NO_LINE_OF_SIGHT,
                PrimitiveCode.NO_FAUCET,
                PrimitiveCode.TOO_FAR,
            )
            expect(result.code in excuses, f"{name} of {thing.name}: {result.text}")
            continue
        now = trial.truth().entities[thing.name].states or {}
        shown = now.get(state, False)
        expect(shown is value, f"after {name}, {thing.name} is {state}={shown}")
        return 1
    return 0


def _take(trial: Trial, agent: str = "") -> EntityState:
    """Walks to a thing and picks it; returns its state before."""
    agent = agent or trial.agent
    if PICK not in trial.backend.capabilities(agent).primitives:
        raise UnsuitableError(f"{agent} cannot pick")
    reasons = []
    for thing in trial.lying_open()[:MAX_CANDIDATES]:
        if not trial.do(PrimitiveName.NAVIGATE, middle_m(thing), agent).succeeded:
            continue
        result = trial.do(PICK, middle_m(thing), agent)
        if result.succeeded:
            return thing
        reasons.append(f"{thing.name}: {result.code.name}, {result.text}")
    if not reasons:
        raise UnsuitableError("no thing that can be walked up to")
    raise ConformanceError(f"nothing could be taken: {'; '.join(reasons)}")


def _expect_goes_along(trial: Trial, thing: EntityState) -> None:
    home = trial.base()
    away = max(trial.lying_open(), key=lambda e: e.box.distance_m(home.position_m))
    walk = trial.start(PrimitiveName.NAVIGATE, middle_m(away))
    reach_m = trial.can().reach_m
    for _ in range(20):
        trial.step(0.25)
        state = trial.truth()
        agent, held = state.entities[trial.agent], state.entities[thing.name]
        apart_m = math.dist(agent.pose.position_m[:2], held.pose.position_m[:2])
        expect(apart_m <= reach_m + 0.2, f"what it holds is {apart_m:.2f} m away while it walks")
    trial.finish(walk)


def _carried(state: WorldState, name: str) -> Iterator[str]:
    """The things on or in a thing, recursively."""
    for entity in state.entities.values():
        if entity.parent == name and entity.kind is EntityKind.OBJECT:
            yield entity.name
            yield from _carried(state, entity.name)


def _openable(state: WorldState) -> list[EntityState]:
    pieces = (e for e in state.entities.values() if Affordance.OPENABLE in e.affordances)
    return sorted((e for e in pieces if e.openness == 0.0), key=lambda e: e.name)


def _open_some(trial: Trial, pieces: Iterable[EntityState]) -> tuple[EntityState, Vec3]:
    """Walks to furniture and opens it; returns its state before, and the target."""
    if OPEN not in trial.can().primitives:
        raise UnsuitableError(f"{trial.agent} cannot open")
    reasons = []
    for piece in list(pieces)[:MAX_CANDIDATES]:
        point = trial.approach(piece)
        if point is None:
            continue
        result = trial.do(OPEN, point)
        if result.succeeded:
            return piece, point
        reasons.append(f"{piece.name}: {result.code.name}, {result.text}")
    if not reasons:
        raise UnsuitableError("nothing to open that can be walked up to")
    raise ConformanceError(f"nothing could be opened: {'; '.join(reasons)}")


def _rooms(state: WorldState) -> list[str]:
    return [e.name for e in state.entities.values() if e.kind is EntityKind.ROOM]


def _inside(state: WorldState, name: str) -> dict[str, Vec3]:
    return {
        e.name: e.pose.position_m
        for e in state.entities.values()
        if e.parent == name and e.relation is Relation.WITHIN
    }


def _is_shut_in(state: WorldState, entity: EntityState) -> bool:
    parent = state.entities.get(entity.parent or "")
    within = entity.relation is Relation.WITHIN
    return within and parent is not None and parent.openness == 0.0


def _expect_unseen(trial: Trial, thing: EntityState) -> None:
    for name, frame in trial.look(trial.can().cameras).cameras.items():
        if frame.instances is not None:
            seen = bool((frame.instances == thing.instance_id).any())
            expect(not seen, f"{name} sees {thing.name} through a closed door")


CHECKS = (
    pick_takes_and_place_puts, handling_touches_nothing_else, place_on_the_floor,
    hands_have_limits, opening_needs_a_free_hand, two_hands_hold_two_things, reach_has_limits,
    open_opens_and_close_closes, only_doors_open, closed_hides_and_open_gives,
    states_change_as_asked,
)  # fmt: skip
