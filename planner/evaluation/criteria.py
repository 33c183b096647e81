"""ET-Plan-Bench's criteria: whether a task ended as required, and in the required order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from planner.evaluation.layout import EPSILON_M
from planner.evaluation.predicates import CLOSE_M, ON_FLOOR_M, Watch, holds
from planner.evaluation.progress import CriteriaProgress
from planner.evaluation.scene import RAISED_M, Scene
from planner.evaluation.task import Predicate, asked_word, is_about_person
from planner.world.agents import body_of
from planner.world.episode import ROBOT, Criteria, Triple
from planner.world.errors import FileError
from planner.world.geometry import Box
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind, Relation, floor_name

# What certainly keeps its truth while things are moved inside known boxes.
#
# A thing carried through a house is usually far from everything that counts, and then the steps
# need not be judged one by one. All checks are conservative.

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
    if is_about_person(predicate):
        return False
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
    if relation in ("FACING", "HELD") or held:
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


MAX_CHOICES = 10_000
_PLACEMENTS = ("INSIDE", "ON")
_WORDS = {
    "CLOSE": "close to", "INSIDE": "inside", "ON": "on", "FACING": "facing", "HELD": "held by",
}  # fmt: skip

_Choice = tuple[str, ...]
_Ground = tuple[str, str, str]


class CriteriaJudge:
    """Judges one episode's criteria; keeps only latches, one for each binding."""

    def __init__(
        self,
        criteria: Criteria,
        robot: str,
        scene: Scene,
        state: WorldState,
        latches: Mapping[str, Any] | None = None,
        *,
        all_known: bool = True,
    ) -> None:
        """Processes the first state, before any action.

        Args:
            criteria: the goal.
            robot: the agent that `robot` stands for.
            scene: the geometry of `state`; its owner keeps it up to date.
            state: the first state.
            latches: `latches` of an earlier judge of the same episode, to be restored.
            all_known: whether every named entity must exist.

        Raises:
            FileError: if a named entity does not exist, or there are too many bindings.
        """
        self._criteria, self._robot = criteria, robot
        self._names = variables_of(criteria)
        _check_robot(robot, state, all_known=all_known)
        known = state.entities if all_known else None
        for field, reason in criteria_findings(criteria, known):
            raise FileError(state.episode_id, field, reason)
        self._choices = tuple(choices(criteria))
        # The position of each variable in a binding, with the robot last.
        self._positions = {name: i for i, name in enumerate((*self._names, ROBOT))}
        self._success = {c: self._grounds(criteria.success, c) for c in self._choices}
        self._on_way = {c: self._grounds(criteria.intermediate, c) for c in self._choices}
        self._users: dict[_Ground, dict[_Choice, int]] = {}
        for choice in self._choices:
            for ground in self._on_way[choice]:
                self._users.setdefault(ground, {}).setdefault(choice, 0)
            for ground in self._success[choice]:
                users = self._users.setdefault(ground, {})
                users[choice] = users.get(choice, 0) + 1
        self._truth = dict.fromkeys(self._users, False)
        # The number of success criteria that hold, and the bindings to be re-evaluated.
        self._held = dict.fromkeys(self._choices, 0)
        self._stirred = dict.fromkeys(self._choices)
        self._of: dict[str, list[_Ground]] = {}
        for ground in self._truth:
            for name in ground[1:]:
                self._of.setdefault(name, []).append(ground)
        # Anything that gets between these and what they lie on changes the rays.
        self._cast = tuple({ground[1] for ground in self._truth if ground[0] in _PLACEMENTS})
        self._look(scene, state, self._truth)
        self._at_start = frozenset(g for g, true in self._truth.items() if true)
        self._passed: set[_Choice] = set()
        self._first_step: int | None = None
        if latches is not None:
            self._restore(latches)
        self._judge(state.step)

    @property
    def progress(self) -> CriteriaProgress:
        """The state of the criteria if the episode ended now."""
        return self._progress

    def names(self, name: str) -> bool:
        """Whether an entity may be one of those that the criteria are about."""
        return name in self._of

    def update(self, scene: Scene, state: WorldState, changed: Collection[str]) -> bool:
        """Processes the next state, which the scene already contains.

        Args:
            scene: its geometry.
            state: the state.
            changed: the names of everything new, gone or different.

        Returns:
            Whether anything about the criteria has changed.
        """
        stale = {ground for name in changed for ground in self._of.get(name, ())}
        if not scene.has_edges and any(name != self._robot for name in changed):
            # An entity between two others can break a ray from one down to the other.
            stale.update(g for g in self._truth if g[0] in _PLACEMENTS)
        before = self._progress
        if self._look(scene, state, stale):
            self._judge(state.step)
        return self._progress is not before

    def keeps(self, scene: Scene, reach: Mapping[str, Box], things: Mapping[str, Box]) -> bool:
        """Whether all criteria certainly keep their truth while agents and things move.

        Args:
            scene: as of the last state.
            reach: for each agent the box of its centre's way, for each moving thing its own.
            things: those of `reach` that are things.
        """
        if self._robot not in reach or not shadows_nothing(self._cast, scene, things):
            return False
        grounds = {ground for name in reach for ground in self._of.get(name, ())}
        return all(keeps_relation(scene, reach, g, held=self._truth[g]) for g in grounds)

    def latches(self) -> dict[str, JsonValue]:
        """Everything that is remembered of earlier states."""
        return {
            "at_start": [list(ground) for ground in sorted(self._at_start)],
            "passed": [list(choice) for choice in sorted(self._passed)],
            "first_step": self._first_step,
        }

    def _restore(self, latches: Mapping[str, Any]) -> None:
        self._at_start = frozenset(tuple(ground) for ground in latches["at_start"])
        self._passed = {tuple(choice) for choice in latches["passed"]}
        self._first_step = latches["first_step"]

    def _grounds(self, triples: Sequence[Triple], choice: _Choice) -> tuple[_Ground, ...]:
        bound = (*choice, self._robot)
        at = self._positions
        return tuple((relation, bound[at[a]], bound[at[b]]) for relation, a, b in triples)

    def _look(self, scene: Scene, state: WorldState, grounds: Collection[_Ground]) -> bool:
        different = False
        for ground in grounds:
            true = holds(scene, state, *ground)
            if true is self._truth[ground]:
                continue
            different, self._truth[ground] = True, true
            for choice, count in self._users[ground].items():
                self._held[choice] += count if true else -count
                self._stirred[choice] = None
        return different

    def _judge(self, step: int) -> None:
        criteria = self._criteria
        if criteria.intermediate:
            self._passed |= {c for c in self._stirred if self._is_on_its_way(c)}
        self._stirred.clear()
        # Among equally near bindings prefer one that had the right order.
        best = (
            max(self._choices, key=lambda c: (self._count(c), c in self._passed))
            if self._passed
            else max(self._choices, key=self._held.__getitem__)
        )
        missing = tuple(self._missing(best))
        if not missing and self._first_step is None:
            self._first_step = step
        all_of_them = len(criteria.success) + bool(criteria.intermediate)
        self._progress = CriteriaProgress(
            success=not missing,
            share=self._count(best) / all_of_them,
            entities=tuple(zip(self._names, best, strict=True)),
            first_step=self._first_step,
            explanation=" ".join(missing),
        )

    def _is_on_its_way(self, choice: _Choice) -> bool:
        """Whether all intermediate criteria hold now and no later placement has been made."""
        return all(self._truth[ground] for ground in self._on_way[choice]) and not any(
            self._early(choice)
        )

    def _early(self, choice: _Choice) -> Iterator[_Ground]:
        for triple, ground in zip(self._criteria.success, self._success[choice], strict=True):
            if (
                triple[0] in _PLACEMENTS
                and triple not in self._criteria.intermediate
                and ground not in self._at_start
                and self._truth[ground]
            ):
                yield ground

    def _has_passed(self, choice: _Choice) -> bool:
        return not self._criteria.intermediate or choice in self._passed

    def _count(self, choice: _Choice) -> int:
        return self._held[choice] + (choice in self._passed)

    def _missing(self, choice: _Choice) -> Iterator[str]:
        for ground in self._success[choice]:
            if not self._truth[ground]:
                yield f"At the end {phrase(ground, 'is not')}."
        if not self._has_passed(choice):
            text = " and ".join(phrase(ground, "was") for ground in self._on_way[choice])
            later = [
                ground
                for t, ground in zip(self._criteria.success, self._success[choice], strict=True)
                if t[0] in _PLACEMENTS
                and t not in self._criteria.intermediate
                and ground not in self._at_start
            ]
            before = " or ".join(phrase(ground, "was") for ground in later)
            yield f"At no time {text}{f' before {before}' if before else ''}."


def phrase(ground: _Ground, verb: str) -> str:
    """A relation of two entities in words, such as `apple_0 is not inside fridge_0`."""
    relation, one, other = ground
    return f"{one} {verb} {_WORDS[relation]} {other}"


def variables_of(criteria: Criteria) -> tuple[str, ...]:
    """The variables that occur in the criteria."""
    triples = (*criteria.intermediate, *criteria.success)
    words = (word for _, *pair in triples for word in pair)
    return tuple(dict.fromkeys(word for word in words if word != ROBOT))


def choices(criteria: Criteria) -> Iterator[_Choice]:
    """All bindings of variables to different entities."""
    lists = [dict.fromkeys(criteria.variables[name]) for name in variables_of(criteria)]
    return (c for c in itertools.product(*lists) if len(set(c)) == len(c))


def criteria_findings(
    criteria: Criteria, known: Collection[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Everything that prevents criteria from being judged, as (field, reason).

    Args:
        criteria: an episode's.
        known: the names of all entities of its world; None = unknown.
    """
    names, count = variables_of(criteria), 1
    for name in names:
        entities = criteria.variables[name]
        count *= len(set(entities))
        if not entities:
            yield f"criteria.variables.{name}", "stands for nothing"
        for entity in entities:
            # A floor exists if its room does.
            room = entity.removeprefix(floor_name(""))
            if known is not None and entity not in known and room not in known:
                yield f"criteria.variables.{name}", f"there is no entity {entity!r}"
    if count > MAX_CHOICES:
        yield "criteria.variables", f"more than {MAX_CHOICES} choices of entities"
    elif count and next(choices(criteria), None) is None:
        yield "criteria.variables", "one entity would have to be two of them"


def _check_robot(robot: str, state: WorldState, *, all_known: bool) -> None:
    agent = state.entities.get(robot)
    if all_known and (agent is None or agent.kind is not EntityKind.AGENT):
        raise FileError(state.episode_id, "criteria", f"there is no agent {robot!r}")
