"""Manipulation: Pick, Place, Rearrange."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from planner.evaluation.task import NEXT_TO_M
from planner.skills.attempt import Attempt, Motion, Routine
from planner.skills.ground import Spot, spots, spots_beside
from planner.skills.moving import go_to, move_joints, openness_of, piece_around, reach_into
from planner.skills.preconditions import Arguments, Target, required
from planner.skills.results import Effect, failure, no_placement, not_grounded
from planner.world.geometry import Vec3, rounded_m
from planner.world.house import Furniture
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.vocabulary import Hand, Relation, hand_words, with_thing

_MAX_SPOTS = 8
# A hand that closed on the thing all the same has taken it.
_MISTAKEN = frozenset(
    {PrimitiveCode.GRASP_FAILED, PrimitiveCode.NOTHING_THERE, PrimitiveCode.HAND_FULL}
)
# After these failures another spot may work.
_SPOT_TROUBLE = frozenset({
    PrimitiveCode.NO_SPACE, PrimitiveCode.CLOSED, PrimitiveCode.TOO_FAR,
    PrimitiveCode.NO_LINE_OF_SIGHT, PrimitiveCode.NOTHING_THERE, PrimitiveCode.UNREACHABLE,
})  # fmt: skip


def pick(attempt: Attempt, arguments: Arguments) -> Routine:
    """Picks an object within reach from its remembered position."""
    return (yield from _pick(attempt, required(arguments.target), free=False))


def place(attempt: Attempt, arguments: Arguments) -> Routine:
    """Puts the held object on, or into, furniture within reach, or on the floor."""
    return (yield from _place(attempt, arguments, free=False))


def rearrange(attempt: Attempt, arguments: Arguments) -> Routine:
    """Fetches an object and places it: walks, opens furniture if needed, picks, walks, places.

    Each successful step is reported as a call of its own, so that a memory knows what changed even
    if a later step fails.
    """
    thing, target = required(arguments.thing), required(arguments.target)
    attempt.evidence.update(object=thing.name, furniture=target.name)
    if thing.name not in attempt.held:
        opened = yield from _open_beforehand(attempt, arguments)
        if opened is not None and not opened.succeeded:
            return failure(opened, target.name, **attempt.evidence)
        attempt.window = (0.0, 0.5)
        picked = yield from _fetch(attempt, thing)
        if not picked.succeeded:
            return picked
        attempt.window = (0.5, 1.0)
    if not _stands_at(attempt, target, arguments.reference):
        walked = yield from _go_placing(attempt, target, arguments.reference)
        if not walked.succeeded:
            return failure(walked, target.name, **attempt.evidence)
    placed = yield from _place(attempt, arguments, free=True)
    piece = piece_around(attempt, target) if target.is_thing else target.piece
    may_open = attempt.scene.options.rearrange_opens and piece is not None
    if placed.code is SkillCode.FURNITURE_CLOSED and may_open:
        opened = yield from _open_part(attempt, piece)
        if not opened.succeeded:
            return failure(opened, target.name, **attempt.evidence)
        placed = yield from _place(attempt, arguments, free=True)
    return placed


# Pick


def _pick(attempt: Attempt, thing: Target, *, free: bool) -> Routine:
    options = attempt.scene.options
    attempt.evidence["object"] = thing.name
    piece = piece_around(attempt, thing)
    primitive = Primitive(
        PrimitiveName.PICK,
        thing.point_m,
        tolerance_m=options.grounding_gate_m,
        hand=attempt.hand_for(thing.name),
    )
    phase = f"picking {thing.name}"
    attempt.reaches_for = thing.name
    for _ in range(1 + options.pick_retries):
        result = yield from reach_into(attempt, primitive, phase, piece, free=free)
        if result.code is not PrimitiveCode.GRASP_FAILED or thing.name in attempt.held:
            break
        phase = f"picking {thing.name} again"
    return _picked(attempt, thing, result, piece, primitive.hand)


def _picked(
    attempt: Attempt,
    thing: Target,
    result: PrimitiveResult,
    piece: Furniture | None,
    hand: Hand | None,
) -> SkillResult:
    agent, team = attempt.scene.agent, attempt.scene.team
    if result.succeeded or (result.code in _MISTAKEN and thing.name in attempt.held):
        hands = with_thing(attempt.hands, hand or Hand.RIGHT, thing.name)
        team.picked(agent, hands, thing.name, attempt.scene.port.now_s())
        done = attempt.success(result.position_m or rounded_m(thing.point_m))
        return _with_hand(attempt, done, hand, f"{thing.name} is in")
    if result.code is PrimitiveCode.HAND_FULL:
        if None in attempt.hands:
            team.hands_unknown(agent)
        return attempt.failure(SkillCode.ALREADY_HOLDING, attempt.already_holding())
    if result.code is PrimitiveCode.NOTHING_THERE:
        return not_grounded(thing.point_m, **attempt.evidence)
    if result.code is PrimitiveCode.CLOSED:
        where = piece.name if piece is not None else "furniture"
        sentence = f"{thing.name} is inside {where}, which is closed."
        return attempt.failure(SkillCode.FURNITURE_CLOSED, sentence)
    return failure(result, thing.name, **attempt.evidence)


def _with_hand(
    attempt: Attempt, done: SkillResult, hand: Hand | None, what: str, then: str = ""
) -> SkillResult:
    """A success that says which hand did it, where the body has more than one."""
    if hand is None:
        return done
    words = hand_words(hand, len(attempt.hands))
    text = f"{done.text} {what} {words}{then}."
    return replace(done, text=text, evidence={**done.evidence, "hand": str(hand)})


def _fetch(attempt: Attempt, thing: Target) -> Routine:
    """The first half of Rearrange."""
    if not attempt.within_reach(thing.point_m, 0.3):
        walked = yield from go_to(attempt, thing)
        if not walked.succeeded:
            return failure(walked, thing.name, **attempt.evidence)
    result = yield from _pick(attempt, thing, free=True)
    piece = piece_around(attempt, thing)
    may_open = attempt.scene.options.rearrange_opens and piece is not None
    if result.code is SkillCode.FURNITURE_CLOSED and may_open:
        opened = yield from _open_part(attempt, piece)
        if not opened.succeeded:
            return failure(opened, thing.name, **attempt.evidence)
        # A drawer may have moved it, and a camera may have seen it since.
        node = attempt.belief.nodes.get(thing.name)
        if node is not None and attempt.belief.base_of(node).parent == (piece and piece.name):
            thing = Target(thing.name, thing.kind, node.position_m, node, room=thing.room)
        result = yield from _pick(attempt, thing, free=True)
    if result.succeeded:
        _report_part(attempt, SkillCall(SkillName.PICK, (thing.name,)), result)
    return result


# Place


def _place(attempt: Attempt, arguments: Arguments, *, free: bool) -> Routine:
    thing, target = required(arguments.thing), required(arguments.target)
    relation = arguments.relation or Relation.ON
    attempt.evidence.update(object=thing.name, furniture=target.name, relation=str(relation))
    found = _spots(attempt, target, relation, arguments.reference)[:_MAX_SPOTS]
    hand = attempt.hand_for(thing.name)
    troubles: list[PrimitiveResult] = []
    full: set[str] = set()
    for spot in found:
        if spot.part in full:
            # The rest of a long surface is out of reach.
            walked = yield from _step_along(attempt, target, spot, free=free)
            if not walked.succeeded:
                continue
        result = yield from _place_at(attempt, arguments, spot, free=free)
        if result.succeeded:
            return _placed(attempt, arguments, spot, result, hand)
        if thing.name not in attempt.held and result.code is not PrimitiveCode.HAND_EMPTY:
            # It has let go of the thing, whatever went wrong then.
            let_go = _placed(attempt, arguments, spot, result, hand)
            failed = failure(result, target.name, **attempt.evidence)
            return replace(failed, position_m=let_go.position_m)
        if result.code not in _SPOT_TROUBLE:
            if result.code is PrimitiveCode.HAND_EMPTY:
                attempt.scene.team.hands_unknown(attempt.scene.agent)
            return failure(result, target.name, **attempt.evidence)
        troubles.append(result)
        if result.code is PrimitiveCode.NO_SPACE:
            full.add(spot.part)
    return _no_place(attempt, target, arguments.reference, troubles)


def _place_at(attempt: Attempt, arguments: Arguments, spot: Spot, *, free: bool) -> Motion:
    thing, target = required(arguments.thing), required(arguments.target)
    options, reference = attempt.scene.options, arguments.reference
    beside = reference if reference is not None and reference.is_thing else None
    # Things at the points of a call are grounded as EPM does; furniture needs no tolerance.
    primitive = Primitive(
        PrimitiveName.PLACE,
        spot.point_m,
        relation=arguments.relation,
        reference_m=beside.point_m if beside else None,
        tolerance_m=options.grounding_gate_m if beside or target.is_thing else 0.0,
        hand=attempt.hand_for(thing.name),
    )
    piece = piece_around(attempt, target) if target.is_thing else target.piece
    phase = f"placing {thing.name} {arguments.relation} {target.name}"
    for _ in range(1 + options.place_retries):
        result = yield from reach_into(attempt, primitive, phase, piece, free=free)
        if result.code is not PrimitiveCode.GRASP_FAILED:
            break
        phase = f"placing {thing.name} again"
    return result


def _step_along(attempt: Attempt, target: Target, spot: Spot, *, free: bool) -> Motion:
    base, max_m = attempt.base, attempt.scene.options.adjust_m
    reach = attempt.scene.capabilities.reach_m
    near = base is not None and attempt.scene.ground.walk_m(base, spot.point_m, reach) <= max_m
    if not (free or near):
        return PrimitiveResult(PrimitiveCode.TOO_FAR, "too far to step")
    return (yield from attempt.approach(spot.point_m, f"stepping along {target.name}"))


def _spots(
    attempt: Attempt, target: Target, relation: Relation, reference: Target | None
) -> list[Spot]:
    if target.is_thing:
        return [Spot(target.point_m, str(relation))]
    if target.piece is None:
        return _floor_spots(attempt, target, relation, reference)
    parents = {target.name, target.piece.name}
    things = [node for node in attempt.belief.nodes.values() if node.parent in parents]
    openness = max(openness_of(attempt, target.piece), 0.0)
    if reference is not None and reference.piece is not None:
        beside = reference.piece
        return spots_beside(target.piece, relation, things, beside, openness, NEXT_TO_M)
    next_to = reference.point_m if reference is not None else None
    found = spots(target.piece, relation, things, attempt.base, openness, next_to)
    if next_to is not None and found:
        # The backend searches around the reference; its height selects the surface.
        first = found[0]
        return [Spot((next_to[0], next_to[1], first.point_m[2]), first.part), *found]
    return found


def _floor_spots(
    attempt: Attempt, target: Target, relation: Relation, reference: Target | None
) -> list[Spot]:
    room = target.room
    if room is None or relation is Relation.WITHIN:
        return []
    if reference is not None and reference.is_thing:
        x, y, _ = reference.point_m
        return [Spot((x, y, 0.0), "floor")]
    near = attempt.base or target.point_m
    if reference is not None and reference.piece is not None:
        stand = attempt.scene.ground.at_furniture(reference.piece, attempt.base, 1.0)
        near = stand.point_m if stand is not None else near
        towards = reference.piece.box.center_m
        points = attempt.scene.ground.floor_points(room, near, _MAX_SPOTS)
        points.sort(key=lambda p: (p[0] - towards[0]) ** 2 + (p[1] - towards[1]) ** 2)
    else:
        points = attempt.scene.ground.floor_points(room, near, _MAX_SPOTS)
    return [Spot(point, f"floor {index}") for index, point in enumerate(points)]


def _placed(
    attempt: Attempt, arguments: Arguments, spot: Spot, result: PrimitiveResult, hand: Hand | None
) -> SkillResult:
    thing, target = required(arguments.thing), required(arguments.target)
    position_m = result.position_m or rounded_m(spot.point_m)
    parent = target.piece.name if target.piece is not None else target.name
    now_s = attempt.scene.port.now_s()
    relation = arguments.relation or Relation.ON
    effect = Effect(thing.name, parent, relation, position_m, now_s)
    hands = with_thing(attempt.hands, hand or Hand.RIGHT, None)
    attempt.scene.team.placed(attempt.scene.agent, hands, effect)
    done = attempt.success(position_m, part=spot.part)
    return _with_hand(attempt, done, hand, "Now", " is free")


def _no_place(
    attempt: Attempt, target: Target, reference: Target | None, troubles: list[PrimitiveResult]
) -> SkillResult:
    """The most informative failure: no space, then closed, then hidden, then too far."""
    codes = {trouble.code: trouble for trouble in troubles}
    if PrimitiveCode.NO_SPACE not in codes:
        for code in (
            PrimitiveCode.CLOSED,
            PrimitiveCode.NO_LINE_OF_SIGHT,
            PrimitiveCode.TOO_FAR,
            PrimitiveCode.UNREACHABLE,
        ):
            if code in codes:
                return failure(codes[code], target.name, **attempt.evidence)
        if reference is not None and PrimitiveCode.NOTHING_THERE in codes:
            sentence = f"{no_placement(target.name)} {reference.name} is not there."
            return attempt.failure(SkillCode.REFERENCE_ELSEWHERE, sentence)
    return attempt.failure(SkillCode.NO_PLACEMENT, no_placement(target.name))


# Steps of Rearrange


def _stands_at(attempt: Attempt, target: Target, reference: Target | None) -> bool:
    point = reference.point_m if reference is not None else _front(target)
    return attempt.within_reach(point, 0.3) and _in_room(attempt, target)


def _in_room(attempt: Attempt, target: Target) -> bool:
    base = attempt.base
    return base is not None and attempt.scene.layout.room_at(base[0], base[1]) == target.room


def _front(target: Target) -> Vec3:
    return target.piece.box.center_m if target.piece is not None else target.point_m


def _go_placing(attempt: Attempt, target: Target, reference: Target | None) -> Motion:
    if reference is not None and reference.is_thing:
        return (yield from go_to(attempt, reference))
    return (yield from go_to(attempt, target))


def _open_beforehand(
    attempt: Attempt, arguments: Arguments
) -> Generator[tuple[str, float], None, PrimitiveResult | None]:
    """Opens what the thing goes into while a hand is free for it; None if there is no need."""
    target = required(arguments.target)
    piece, relation = target.piece, arguments.relation
    if target.is_thing and target.node is not None:
        piece = piece_around(attempt, target)
        relation = attempt.belief.base_of(target.node).relation
    if piece is None or not piece.joints or relation is not Relation.WITHIN:
        return None
    may_open = attempt.scene.options.rearrange_opens and attempt.hands.count(None) == 1
    if openness_of(attempt, piece) or not may_open:
        return None
    walked = yield from go_to(attempt, target)
    if not walked.succeeded:
        return walked
    return (yield from _open_part(attempt, piece))


def _open_part(attempt: Attempt, piece: Furniture | None) -> Motion:
    if piece is None:
        return PrimitiveResult(PrimitiveCode.NOT_ARTICULATED, "not furniture")
    result = yield from move_joints(attempt, piece, PrimitiveName.OPEN, free=True)
    if result.succeeded:
        done = SkillResult.success(furniture=piece.name, openness="1")
        _report_part(attempt, SkillCall(SkillName.OPEN, (piece.name,)), done)
    return result


def _report_part(attempt: Attempt, call: SkillCall, result: SkillResult) -> None:
    evidence = {**result.evidence, "agent": attempt.scene.agent}
    attempt.scene.report(call, replace(result, evidence=evidence, part_of=str(attempt.call)))
