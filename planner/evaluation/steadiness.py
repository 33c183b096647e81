"""What certainly keeps its truth while things are moved inside known boxes.

A thing carried through a house is usually far from everything that counts, and then the steps need
not be judged one by one. All checks are conservative.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping

from planner.evaluation.grid import EPSILON_M
from planner.evaluation.predicates import ON_FLOOR_M
from planner.evaluation.propositions import Watch
from planner.evaluation.relations import CLOSE_M
from planner.evaluation.scene import RAISED_M, Scene
from planner.evaluation.task import Predicate, asked_word
from planner.world.agents import body_of
from planner.world.geometry import Box
from planner.world.vocabulary import EntityKind, Relation, floor_name

# More than the tolerances of the predicates.
_SLACK_M = 10 * EPSILON_M
Reach = Mapping[str, Box]


def keeps(watch: Watch, scene: Scene, reach: Reach) -> bool:
    """Whether a proposition keeps its witnesses while things move.

    Args:
        watch: as updated last.
        scene: the position of everything that does not move.
        reach: for each moving thing, the box in the map that contains all of it from the watch's
            last update on.

    Returns:
        True if certainly no moving thing becomes or ceases to be a witness.
    """
    proposition, predicate = watch.proposition, watch.proposition.predicate
    movers = [name for name in watch.names if name in reach]
    if asked_word(predicate) or not movers:
        return True
    if predicate in (Predicate.IS_NEXT_TO, Predicate.IS_CLUSTERED):
        return all(
            _is_apart(scene, reach, name, other, proposition.threshold_m)
            for name in movers
            for other in _partners(watch, name)
        )
    if predicate is Predicate.IS_ON_FLOOR:
        return all(_is_lifted(reach[name]) for name in movers)
    first, second = proposition.lists[:2]
    if predicate is Predicate.IS_IN_ROOM:
        return all(scene.on_one_side(reach[name], room) for name in movers for room in second)
    is_clear = _is_outside if predicate is Predicate.IS_INSIDE else _is_clear
    for name in movers:
        others = second if name in first else ()
        carried = first if name in second else ()
        if not all(is_clear(scene, reach, name, other) for other in (*others, *carried)):
            return False
    return True


def shadows_nothing(cast: Iterable[str], scene: Scene, reach: Reach) -> bool:
    """Whether no moving thing gets between any of the ray-casting things and their supports."""
    return not any(
        _may_shadow(scene, mover, around, reach.get(name) or scene.box(name))
        for name in cast
        for mover, around in reach.items()
        if name != mover
    )


def keeps_relation(scene: Scene, reach: Reach, ground: tuple[str, str, str], *, held: bool) -> bool:
    """Whether a relation of ET-Plan-Bench's keeps its truth while agents and things move.

    Args:
        scene: the position of everything that does not move.
        reach: as of `keeps`, and for each agent the box of its centre's way.
        ground: the relation and its two entities.
        held: whether it holds now.
    """
    relation, one, other = ground
    room = other.removeprefix(floor_name(""))
    place = scene.entities.get(room)
    if place is not None and place.kind is EntityKind.ROOM:
        if one not in reach:
            return True
        on_floor = relation == "ON" or other != room
        return _is_lifted(reach[one]) if on_floor else scene.on_one_side(reach[one], room)
    if relation == "CLOSE":
        return _keeps_close(scene, reach, one, other, held=held)
    if relation == "FACING" or held:
        return False
    movers = [(a, b) for a, b in ((one, other), (other, one)) if a in reach]
    return all(_is_clear(scene, reach, a, b) for a, b in movers)


def _keeps_close(scene: Scene, reach: Reach, one: str, other: str, *, held: bool) -> bool:
    first, second = (reach.get(name) or scene.box(name) for name in (one, other))
    if first is None or second is None:
        return False
    if not held:
        return not _overlap(first, second, CLOSE_M)
    for agent, thing in ((one, other), (other, one)):
        if _is_in_hand(scene, thing, agent):
            # Its middle stays as near as the hand.
            return True
    # The gap between a point and a box is convex: it is widest at a corner of where the point is.
    (x0, y0, _), (x1, y1, _) = first.minimum_m, first.maximum_m
    (u0, v0, _), (u1, v1, _) = second.minimum_m, second.maximum_m
    far = max(x1 - u0, u1 - x0, 0.0), max(y1 - v0, v1 - y0, 0.0)
    if other in reach or one not in reach:
        return math.hypot(*far) < CLOSE_M - _SLACK_M
    corners = ((x, y) for x in (x0, x1) for y in (y0, y1))
    return all(
        math.hypot(max(u0 - x, x - u1, 0.0), max(v0 - y, y - v1, 0.0)) < CLOSE_M - _SLACK_M
        for x, y in corners
    )


def _is_in_hand(scene: Scene, thing: str, agent: str) -> bool:
    """Whether an agent holds a thing, in a hand that is near enough to be CLOSE."""
    item, who = scene.entities.get(thing), scene.entities.get(agent)
    if item is None or who is None or item.relation is not Relation.HELD or item.parent != agent:
        return False
    body = body_of(who.class_name)
    return body is not None and math.hypot(*body.hand_m[:2]) < CLOSE_M - _SLACK_M


def _may_shadow(scene: Scene, mover: str, around: Box, box: Box | None) -> bool:
    if box is None or not _overlap(box, around, 0.0):
        return False
    # Rays go down and hit tops, so whatever is above their start cannot obstruct them.
    lowest_top_m = around.minimum_m[2] + scene.lowest_top_m(mover)
    return lowest_top_m <= box.maximum_m[2] + RAISED_M + _SLACK_M


def _partners(watch: Watch, name: str) -> Iterable[str]:
    if watch.proposition.predicate is Predicate.IS_CLUSTERED:
        return watch.names
    first, second = watch.proposition.lists[:2]
    return itertools.chain(second if name in first else (), first if name in second else ())


def _is_apart(scene: Scene, reach: Reach, name: str, other: str, threshold_m: float) -> bool:
    if name == other:
        return True
    box, near = reach[name], reach.get(other) or scene.box(other)
    if near is None:
        return True
    low = max(box.minimum_m[2], near.minimum_m[2])
    high = min(box.maximum_m[2], near.maximum_m[2])
    return low > high + _SLACK_M or not _overlap(near, box, threshold_m)


def _is_clear(scene: Scene, reach: Reach, name: str, other: str) -> bool:
    """Whether a mover stays clear of another entity, so that neither is on or in the other."""
    if name == other:
        return True
    if other.startswith("floor_"):
        return _is_lifted(reach[name])
    around = reach.get(other) or scene.surroundings(other)
    return around is None or not _overlap(around, reach[name], 0.0)


def _is_outside(scene: Scene, reach: Reach, name: str, other: str) -> bool:
    """Whether a mover stays beside or above another entity, so that neither is in the other."""
    around = reach.get(other) or scene.surroundings(other)
    if around is not None and reach[name].minimum_m[2] > around.maximum_m[2] + _SLACK_M:
        return True
    return _is_clear(scene, reach, name, other)


def _is_lifted(box: Box) -> bool:
    return box.minimum_m[2] > ON_FLOOR_M + _SLACK_M


def _overlap(a: Box, b: Box, apart_m: float) -> bool:
    """Whether two boxes are closer than this, seen from above."""
    margin = apart_m + _SLACK_M
    (ax0, ay0, _), (ax1, ay1, _) = a.minimum_m, a.maximum_m
    (bx0, by0, _), (bx1, by1, _) = b.minimum_m, b.maximum_m
    return (
        ax0 - margin <= bx1 and bx0 <= ax1 + margin and ay0 - margin <= by1 and by0 <= ay1 + margin
    )
