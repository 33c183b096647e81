"""ET-Plan-Bench's criteria: whether a task ended as required, and in the required order.

A criterion is a relation of two variables, each bound to one of several candidate entities, all
different (ETPLAN-4.3):

    success       all success criteria hold in the last state, for one binding
    intermediate  all of these held together in one state at or before it, for that binding, before
                  any placement that only success requires was made; this defines the order

A placement that held at the start was not made by the agents and does not affect the order.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from planner.evaluation.progress import CriteriaProgress
from planner.evaluation.relations import holds
from planner.evaluation.scene import Scene
from planner.evaluation.steadiness import keeps_relation, shadows_nothing
from planner.world.episode import ROBOT, Criteria, Triple
from planner.world.errors import FileError
from planner.world.geometry import Box
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind, floor_name

MAX_CHOICES = 10_000
_PLACEMENTS = ("INSIDE", "ON")
_WORDS = {"CLOSE": "close to", "INSIDE": "inside", "ON": "on", "FACING": "facing"}

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
