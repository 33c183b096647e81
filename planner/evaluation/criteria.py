"""ET-Plan-Bench's criteria: whether a task ended as it asks, and went the way it asks.

A criterion is a relation of two variables, each of which stands for one of the entities that may
be meant, another one for each (ETPLAN-4.3):

    success       all success criteria hold in the last state, for one choice of entities
    intermediate  all of these held in one and the same state at or before it, for that choice,
                  and no placement was yet made that only success asks for; this gives the order

A placement that was so at the start was not made, and hinders no order.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from planner.evaluation.progress import CriteriaProgress
from planner.evaluation.relations import holds
from planner.evaluation.scene import Scene
from planner.world.episode import ROBOT, Criteria, Triple
from planner.world.errors import FileError
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind

MAX_CHOICES = 10_000
_PLACEMENTS = ("INSIDE", "ON")
_WORDS = {"CLOSE": "close to", "INSIDE": "inside", "ON": "on", "FACING": "facing"}

_Choice = tuple[str, ...]
_Ground = tuple[str, str, str]


class CriteriaJudge:
    """Judges one episode's criteria; only latches are kept, one for each choice of entities."""

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
        """Takes up the first state, before any action.

        Args:
            criteria: what is asked.
            robot: the agent that `robot` stands for.
            scene: the geometry of `state`, which its owner keeps up to date.
            state: the first that is seen.
            latches: `latches` of a judge of the same episode that was lost.
            all_known: whether every entity that is named has to exist.

        Raises:
            FileError: where an entity is named that does not exist, or too many are possible.
        """
        self._criteria, self._robot = criteria, robot
        self._names = _variables(criteria)
        _check_robot(robot, state, all_known=all_known)
        known = state.entities if all_known else None
        for field, reason in criteria_findings(criteria, known):
            raise FileError(state.episode_id, field, reason)
        self._choices = tuple(_choices(criteria))
        # Where a choice with the robot behind it has each variable.
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
        # How many success criteria hold, and whose standing is to be looked at again.
        self._held = dict.fromkeys(self._choices, 0)
        self._stirred = dict.fromkeys(self._choices)
        self._of: dict[str, list[_Ground]] = {}
        for ground in self._truth:
            for name in ground[1:]:
                self._of.setdefault(name, []).append(ground)
        self._look(scene, state, self._truth)
        self._at_start = frozenset(g for g, true in self._truth.items() if true)
        self._passed: set[_Choice] = set()
        self._first_step: int | None = None
        if latches is not None:
            self._restore(latches)
        self._judge(state.step)

    @property
    def progress(self) -> CriteriaProgress:
        """How the criteria stand if the episode ended now."""
        return self._progress

    def update(self, scene: Scene, state: WorldState, changed: Collection[str]) -> bool:
        """Takes up the next state, of which the scene knows already.

        Args:
            scene: its geometry.
            state: the state.
            changed: the names of all that is new, gone or different.

        Returns:
            Whether anything about the criteria is different.
        """
        stale = {ground for name in changed for ground in self._of.get(name, ())}
        if not scene.told and any(name != self._robot for name in changed):
            # What lies between two things is in the way of seeing one straight below the other.
            stale.update(g for g in self._truth if g[0] in _PLACEMENTS)
        before = self._progress
        if self._look(scene, state, stale):
            self._judge(state.step)
        return self._progress is not before

    def latches(self) -> dict[str, JsonValue]:
        """All that is remembered of earlier states."""
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
        # Of several that are as near the one that went the right way.
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
        """Whether all intermediate criteria hold now and nothing is placed that comes later."""
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
                yield f"At the end {_phrase(ground, 'is not')}."
        if not self._has_passed(choice):
            text = " and ".join(_phrase(ground, "was") for ground in self._on_way[choice])
            later = [
                ground
                for t, ground in zip(self._criteria.success, self._success[choice], strict=True)
                if t[0] in _PLACEMENTS
                and t not in self._criteria.intermediate
                and ground not in self._at_start
            ]
            before = " or ".join(_phrase(ground, "was") for ground in later)
            yield f"At no time {text}{f' before {before}' if before else ''}."


def _phrase(ground: _Ground, verb: str) -> str:
    relation, one, other = ground
    return f"{one} {verb} {_WORDS[relation]} {other}"


def _variables(criteria: Criteria) -> tuple[str, ...]:
    """Those that a criterion speaks of."""
    triples = (*criteria.intermediate, *criteria.success)
    words = (word for _, *pair in triples for word in pair)
    return tuple(dict.fromkeys(word for word in words if word != ROBOT))


def _choices(criteria: Criteria) -> Iterator[_Choice]:
    """Every choice of one entity for each variable, none of them twice."""
    lists = [dict.fromkeys(criteria.variables[name]) for name in _variables(criteria)]
    return (c for c in itertools.product(*lists) if len(set(c)) == len(c))


def criteria_findings(
    criteria: Criteria, known: Collection[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Field and reason of all that keeps criteria from being judged.

    Args:
        criteria: an episode's.
        known: the names of all entities of its world; None = they are not known.
    """
    names, count = _variables(criteria), 1
    for name in names:
        entities = criteria.variables[name]
        count *= len(set(entities))
        if not entities:
            yield f"criteria.variables.{name}", "stands for nothing"
        for entity in entities:
            if known is not None and entity not in known:
                yield f"criteria.variables.{name}", f"there is no entity {entity!r}"
    if count > MAX_CHOICES:
        yield "criteria.variables", f"more than {MAX_CHOICES} choices of entities"
    elif count and next(_choices(criteria), None) is None:
        yield "criteria.variables", "one entity would have to be two of them"


def _check_robot(robot: str, state: WorldState, *, all_known: bool) -> None:
    agent = state.entities.get(robot)
    if all_known and (agent is None or agent.kind is not EntityKind.AGENT):
        raise FileError(state.episode_id, "criteria", f"there is no agent {robot!r}")
