"""What certainly keeps its truth while things are moved inside known boxes.

A thing carried through a house is usually far from everything that counts, and then the steps need
not be judged one by one. All checks are conservative.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from planner.evaluation.predicates import ON_FLOOR_M
from planner.evaluation.propositions import Watch
from planner.evaluation.scene import EPSILON_M, RAISED_M, Scene
from planner.evaluation.task import Predicate, asked_word
from planner.world.geometry import Box

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
