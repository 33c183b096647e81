"""What persons in the embedded world do when asked: answer, walk along, give and take."""

from __future__ import annotations

import math

from planner.world.geometry import Vec3, rounded_m
from planner.world.person import (
    COME_ANSWER,
    FOLLOW_ANSWER,
    GOES_TO,
    MAX_SAID,
    NAME_ANSWER,
    NO,
    SIZES_M,
    TALK_M,
    Act,
    Person,
    PersonPlacement,
    Posture,
)
from planner.world.primitive import (
    ANSWER,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    changes_text,
)
from planner.world.primitive import CHANGED as CHANGED_EVIDENCE
from planner.world.vocabulary import Hand, Relation, floor_name, free_hand, hand_holding, thing_in
from sim_bridge.embedded.entities import Agent, Thing
from sim_bridge.embedded.house_ground import standing_cell
from sim_bridge.embedded.manipulation import RefusalError
from sim_bridge.embedded.people import RADIUS_M, Walk, floor_cell, hand_of
from sim_bridge.embedded.world import KinematicWorld

SPEED_M_S = 1.0
# How far behind an agent one comes along, and how far ahead one who is followed waits.
BEHIND_M, AHEAD_M = 1.0, 3.0
# An agent is with whom it follows up to here, and a place is where one stands up to here.
WITH_M, AT_PLACE_M = 2.0, 2.0
_REPLAN_S = 0.5
# Who stands behind an agent for so long without a word stops coming along.
_FORGOTTEN_S = 30.0
# Who is kept from walking for so long squeezes past, as one does.
_SQUEEZES_S = 5.0
# A target means a person no further away than this.
_TOLERANCE_M = 0.5


def check_with_person(
    world: KinematicWorld, agent: Agent, primitive: Primitive, point_m: Vec3
) -> Thing:
    """The person at a point with whom an agent can do a primitive.

    Raises:
        RefusalError: with the first violated precondition.
    """
    near = [(world.things[name].state().box.distance_m(point_m), name) for name in world.persons]
    gap_m, name = min(near, default=(math.inf, ""))
    if gap_m > (primitive.tolerance_m or _TOLERANCE_M):
        raise RefusalError(PrimitiveCode.NOTHING_THERE, "nobody is at the target")
    person = world.things[name]
    away_m = agent.distance_m(person.center_m)
    if away_m > TALK_M or person.room != agent.room:
        text = f"{name} is not within {TALK_M:g} m in the same room"
        raise RefusalError(PrimitiveCode.TOO_FAR, text, distance_m=f"{away_m:.2f}")
    if primitive.name == PrimitiveName.HAND_OVER:
        _check_giving(world, agent, primitive, person)
    elif primitive.name == PrimitiveName.TAKE_FROM:
        hand = primitive.hand or free_hand(agent.hands)
        if hand is None or agent.hands[hand.slot] is not None:
            raise RefusalError(PrimitiveCode.HAND_FULL, "the hand already holds something")
        if world.held_by(person) is None:
            raise RefusalError(PrimitiveCode.NEED_UNMET, f"{name} holds nothing")
    elif primitive.words.partition(" ")[0] not in set(Act):
        known = ", ".join(Act)
        text = f"{primitive.words[:40]!r} begins with none of {known}"
        raise RefusalError(PrimitiveCode.BAD_TARGET, text)
    else:
        _check_place(world, primitive.words)
    return person


def _check_place(world: KinematicWorld, words: str) -> None:
    """A person can be sent only to where there is floor to stand on."""
    act, _, place = words.partition(" ")
    if act != Act.FOLLOW or not place:
        return
    if floor_cell(world.ground.grid(RADIUS_M), world.house, place) is None:
        text = f"there is no floor to stand on at {place!r}"
        raise RefusalError(PrimitiveCode.UNREACHABLE, text)


def _check_giving(world: KinematicWorld, agent: Agent, primitive: Primitive, person: Thing) -> None:
    if _given(agent, primitive) is None:
        raise RefusalError(PrimitiveCode.HAND_EMPTY, "the hand holds nothing")
    if world.held_by(person) is not None:
        text = f"{person.name} holds something already"
        raise RefusalError(PrimitiveCode.NEED_UNMET, text)


def _given(agent: Agent, primitive: Primitive) -> str | None:
    return agent.holding if primitive.hand is None else thing_in(agent.hands, primitive.hand)


def do_with_person(
    world: KinematicWorld, agent: Agent, primitive: Primitive, person: Thing
) -> PrimitiveResult:
    """Carries out what `check_with_person` has allowed."""
    if primitive.name == PrimitiveName.HAND_OVER:
        return _give(world, agent, primitive, person)
    if primitive.name == PrimitiveName.TAKE_FROM:
        return _take(world, agent, primitive, person)
    _turn(world, person, agent.x_m, agent.y_m)
    word, _, rest = primitive.words.partition(" ")
    answer = _reply(world, agent, person, Act(word), rest)
    if answer is None:
        what = f"{person.name} does not want that" if word != Act.ASK else _silence(person, rest)
        return PrimitiveResult(PrimitiveCode.NEED_UNMET, what)
    evidence = {ANSWER: answer} if answer else {}
    return PrimitiveResult(PrimitiveCode.SUCCESS, f"said to {person.name}", evidence)


def _silence(person: Thing, rest: str) -> str:
    return f"{person.name} does not say the {rest}"


def _reply(world: KinematicWorld, agent: Agent, person: Thing, act: Act, rest: str) -> str | None:
    """What a person answers, "" = nothing; None if the person will not."""
    record, walk = world.persons[person.name], world.walks.get(person.name)
    match act:
        case Act.GREET:
            _note(world, person, "met")
            return "Hello."
        case Act.TELL:
            _note(world, person, f"told {rest[:MAX_SAID]}")
            return ""
        case Act.ASK:
            given = record.name if rest == NAME_ANSWER else ""
            return record.answers.get(rest, given) or None
        case Act.FOLLOW:
            return _lead_the_way(world, agent, person, rest, record)
        case Act.ARRIVED:
            return NO if walk is not None and walk.place else "yes"
        case Act.COME:
            if record.answers.get(COME_ANSWER, "").lower() == NO:
                return None
            world.walks[person.name] = Walk(agent.name)
            return "yes"
        case Act.STAY:
            if walk is not None:
                _note_guided(world, agent, person)
                world.walks.pop(person.name)
            return ""


def _lead_the_way(
    world: KinematicWorld, agent: Agent, person: Thing, place: str, record: PersonPlacement
) -> str | None:
    if record.answers.get(FOLLOW_ANSWER, "").lower() == NO:
        return None
    place = place or record.answers.get(GOES_TO, "")
    if not place:
        _note(world, person, "followed")
        return "I stay here."
    world.walks[person.name] = Walk(agent.name, place)
    return f"To {place}."


# What changes hands


def _give(
    world: KinematicWorld, agent: Agent, primitive: Primitive, person: Thing
) -> PrimitiveResult:
    name = _given(agent, primitive) or ""
    hand, before = hand_holding(agent.hands, name) or Hand.RIGHT, world.snapshot().entities
    pose = hand_of(person, world.things[name].size_m[2])
    thing = world.put(agent, person.name, "hand", Relation.HELD, pose, hand)
    changed = changes_text(before, world.snapshot().entities, [name])
    evidence = {"thing": name, CHANGED_EVIDENCE: changed}
    at_m = rounded_m(thing.center_m)
    return PrimitiveResult(PrimitiveCode.SUCCESS, f"gave {name}", evidence, at_m)


def _take(
    world: KinematicWorld, agent: Agent, primitive: Primitive, person: Thing
) -> PrimitiveResult:
    thing, before = world.held_by(person), world.snapshot().entities
    hand = primitive.hand or free_hand(agent.hands) or Hand.RIGHT
    if thing is None:
        return PrimitiveResult(PrimitiveCode.NEED_UNMET, f"{person.name} holds nothing")
    world.release(person, thing)
    world.take(agent, thing, hand)
    changed = changes_text(before, world.snapshot().entities, [thing.name])
    evidence = {"thing": thing.name, CHANGED_EVIDENCE: changed}
    at_m = rounded_m(thing.center_m)
    return PrimitiveResult(PrimitiveCode.SUCCESS, f"took {thing.name}", evidence, at_m)


# Walking


def advance_persons(world: KinematicWorld, dt_s: float) -> None:
    """Lets persons who come along, are followed, or walk by themselves do so for some seconds."""
    for name, strolls in world.strolls.items():
        if strolls and name not in world.walks and strolls[0].after_s <= world.time_s:
            world.walks[name] = Walk("", strolls.pop(0).to)
    for name, walk in list(world.walks.items()):
        person = world.things[name]
        if not walk.agent:
            _stroll_on(world, person, walk, dt_s)
            continue
        agent = world.agents[walk.agent]
        away_m = math.dist((person.x_m, person.y_m), (agent.x_m, agent.y_m))
        if walk.place:
            _lead_on(world, person, walk, away_m, dt_s)
        elif away_m > BEHIND_M or person.room != agent.room:
            walk.still_s = 0.0
            _plan_to(world, person, walk, (agent.x_m, agent.y_m))
            _step(world, person, walk, dt_s)
        else:
            walk.still_s = 0.0 if agent.remaining_path else walk.still_s + dt_s
            if walk.still_s >= _FORGOTTEN_S:
                world.walks.pop(name)


def _stroll_on(world: KinematicWorld, person: Thing, walk: Walk, dt_s: float) -> None:
    """A step of one who walks alone."""
    if walk.planned_s == -math.inf:
        _stand_up(world, person)
        walk.corners, walk.planned_s = _way_to(world, person, walk), world.time_s
    if walk.corners:
        _step(world, person, walk, dt_s)
    else:
        world.walks.pop(person.name)


def _lead_on(world: KinematicWorld, person: Thing, walk: Walk, away_m: float, dt_s: float) -> None:
    """A step of one who is followed, and who waits for an agent that is behind."""
    if walk.planned_s == -math.inf:
        _stand_up(world, person)
        walk.corners = _way_to(world, person, walk)
        walk.planned_s = world.time_s
    if walk.corners and away_m <= AHEAD_M:
        _step(world, person, walk, dt_s)
    elif not walk.corners and away_m <= WITH_M:
        places = (walk.place, person.room or "")
        for deed in ("followed", *(f"followed {place}" for place in places)):
            _note(world, person, deed)
        world.walks.pop(person.name)


def _way_to(world: KinematicWorld, person: Thing, walk: Walk) -> list[tuple[float, float]]:
    """The corners of a person's way to the walk's place, around agents if there is one."""
    grid, ways = world.ground.grid(RADIUS_M), world.ground.ways(RADIUS_M)
    if walk.goal is None:
        walk.goal = floor_cell(grid, world.house, walk.place)
    here, goal = standing_cell(grid, person.x_m, person.y_m), walk.goal
    if goal is None:
        return []
    apart_m = 2 * RADIUS_M + grid.cell_m
    discs = tuple((agent.x_m, agent.y_m, apart_m) for agent in world.agents.values())
    cells = ways.between(here, goal, discs).cells
    if cells:
        return [grid.point(cell) for cell in cells[1:]]
    return world.ground.way(RADIUS_M, (person.x_m, person.y_m), goal).corners


def _plan_to(world: KinematicWorld, person: Thing, walk: Walk, goal_m: tuple[float, float]) -> None:
    if world.time_s - walk.planned_s < _REPLAN_S:
        return
    _stand_up(world, person)
    goal = standing_cell(world.ground.grid(RADIUS_M), *goal_m)
    walk.corners = world.ground.way(RADIUS_M, (person.x_m, person.y_m), goal).corners
    walk.planned_s = world.time_s


def _step(world: KinematicWorld, person: Thing, walk: Walk, dt_s: float) -> None:
    """Walks on along the corners, unless an agent or another person is in the way."""
    left_m = SPEED_M_S * dt_s
    x, y, yaw = person.x_m, person.y_m, person.yaw_rad
    while walk.corners and left_m > 1e-9:
        to_x, to_y = walk.corners[0]
        gap_m = math.hypot(to_x - x, to_y - y)
        if gap_m > 1e-9:
            yaw = math.atan2(to_y - y, to_x - x)
            share = min(1.0, left_m / gap_m)
            x, y = x + (to_x - x) * share, y + (to_y - y) * share
        if gap_m <= left_m:
            walk.corners.pop(0)
        left_m -= gap_m
    walk.blocked_s += dt_s
    if walk.blocked_s < _SQUEEZES_S and _in_the_way(world, person, x, y):
        walk.planned_s = min(walk.planned_s, world.time_s - _REPLAN_S)
        if walk.place:
            walk.corners = _way_to(world, person, walk)
        return
    walk.blocked_s = 0.0
    room = world.house.room_at(x, y, guess=person.room) or person.room
    person.parent = floor_name(room or "")
    world.move(person, (x, y, 0.0, yaw), room)


def _in_the_way(world: KinematicWorld, person: Thing, x: float, y: float) -> bool:
    others = [(a.x_m, a.y_m) for a in world.agents.values()]
    others += [(p.x_m, p.y_m) for n in world.persons if (p := world.things[n]) is not person]
    return any(
        math.dist((x, y), other) < 2 * RADIUS_M
        and math.dist((x, y), other) < math.dist((person.x_m, person.y_m), other)
        for other in others
    )


def _stand_up(world: KinematicWorld, person: Thing) -> None:
    """Stands on the nearest free floor, with both arms down; no effect on who stands already."""
    known = person.person
    if known is None or (known.posture is Posture.STANDING and known.gesture is None):
        return
    grid = world.ground.grid(RADIUS_M)
    x, y = grid.point(standing_cell(grid, person.x_m, person.y_m))
    person.person = Person(known.name, known.clothes, done=known.done)
    person.size_m = SIZES_M[Posture.STANDING]
    room = world.house.room_at(x, y) or person.room
    person.parent, person.part = floor_name(room or ""), "floor"
    world.move(person, (x, y, 0.0, person.yaw_rad), room)
    # Another shape: views are made anew.
    world.division += 1


def _turn(world: KinematicWorld, person: Thing, x_m: float, y_m: float) -> None:
    """Turns one who stands towards a point."""
    if person.person is not None and person.person.posture is Posture.STANDING:
        yaw = math.atan2(y_m - person.y_m, x_m - person.x_m)
        world.move(person, (person.x_m, person.y_m, person.z_m, yaw), person.room)


def _note(world: KinematicWorld, person: Thing, deed: str) -> None:
    if person.person is not None:
        person.person = person.person.with_done(deed)
        world.touch(person.name)


def _note_guided(world: KinematicWorld, agent: Agent, person: Thing) -> None:
    """A person who came behind an agent is where it was guided to: in a room, at furniture."""
    at_m = (person.x_m, person.y_m)
    if math.dist(at_m, (agent.x_m, agent.y_m)) > AHEAD_M or person.room is None:
        return
    beside = [
        name
        for name, piece in world.pieces.items()
        if piece.record.room == person.room
        and piece.record.box.distance_m((*at_m, 0.1)) <= AT_PLACE_M
    ]
    met = [
        other
        for other in world.persons
        if other != person.name
        and math.dist((world.things[other].x_m, world.things[other].y_m), at_m) <= WITH_M + BEHIND_M
    ]
    for place in (person.room, *beside, *met):
        _note(world, person, f"guided {place}")
