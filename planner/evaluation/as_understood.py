"""Judges an instruction in plain English by the goal that its planner has understood.

The planner publishes the goal over descriptions, and what the person answered. It is bound here to
the true world at the time of the instruction, by the same rules as the planner binds it to what it
knows.
"""

from __future__ import annotations

import pickle
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pydantic import JsonValue, ValidationError

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Mode
from planner.evaluation.task import Evaluation
from planner.grounding.binding import Choice, choices_of
from planner.grounding.grounder import Binder
from planner.grounding.records import Grounding, Why
from planner.grounding.scene import scene_of_state
from planner.language.goal_form import Goal
from planner.world.episode import Criteria
from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_json
from planner.world.house import House
from planner.world.state import EntityState, WorldState
from planner.world.topics import InstructState

# The states of a run since an instruction, so that it can be judged again by another goal.

# Without an instruction, so much is kept: one may arrive after the states that follow it.
IDLE_S = 5.0
_STAMP_S = 1e-6


@dataclass(frozen=True, slots=True)
class _Change:
    """A state as the difference from the one before."""

    stamp_s: float
    step: int
    revision: int
    entities: Mapping[str, EntityState]
    gone: tuple[str, ...]


# So many changes are packed together: some hundred bytes of a state are the same as before.
_PACKED = 256


@dataclass(frozen=True, slots=True)
class _Packed:
    """Consecutive changes in a twentieth of their memory; `begins_s` is the first one's stamp."""

    begins_s: float
    data: bytes

    @classmethod
    def of(cls, changes: Sequence[_Change]) -> _Packed:
        data = pickle.dumps(changes, pickle.HIGHEST_PROTOCOL)
        return cls(changes[0].stamp_s, zlib.compress(data, 1))

    def changes(self) -> list[_Change]:
        found: list[_Change] = pickle.loads(zlib.decompress(self.data))  # noqa: S301 - made above
        return found


class StateHistory:
    """The states in order; each is kept as its difference from the one before.

    An instruction may last for hours, so all but the newest are packed.
    """

    def __init__(self) -> None:
        self._first: WorldState | None = None
        self._last: WorldState | None = None
        self._packed: list[_Packed] = []
        self._changes: list[_Change] = []

    def take(self, state: WorldState) -> None:
        """Adds the newest state."""
        last, self._last = self._last, state
        if last is None:
            self._first = state
            return
        old = last.entities
        different = {n: entity for n, entity in state.entities.items() if old.get(n) is not entity}
        gone = tuple(name for name in old if name not in state.entities)
        change = _Change(state.stamp_s, state.step, state.revision, different, gone)
        self._changes.append(change)
        if len(self._changes) >= _PACKED:
            self._packed.append(_Packed.of(self._changes))
            self._changes = []

    def forget_before(self, stamp_s: float) -> None:
        """Drops what is older than the last state at or before a time, seconds of the world."""
        limit_s = stamp_s + _STAMP_S
        while self._packed and self._packed[0].begins_s <= limit_s:
            later = self._apply_until(limit_s, self._packed.pop(0).changes())
            if later:
                self._packed.insert(0, _Packed.of(later))
        if not self._packed:
            self._changes = self._apply_until(limit_s, self._changes)

    def _apply_until(self, limit_s: float, changes: list[_Change]) -> list[_Change]:
        """Moves the first state on by what is not later than a time; returns what is."""
        early = bisect_right(changes, limit_s, key=lambda change: change.stamp_s)
        for change in changes[:early]:
            if self._first is not None:
                self._first = _changed(self._first, change)
        return changes[early:]

    def forget_idle(self) -> None:
        """Drops what an instruction can no longer be about."""
        if self._first is not None and self._last is not None:
            newest_s = self._last.stamp_s
            if newest_s - self._first.stamp_s > 2 * IDLE_S:
                self.forget_before(newest_s - IDLE_S)

    def states(self) -> Iterator[WorldState]:
        """All states, oldest first."""
        state = self._first
        if state is None:
            return
        yield state
        packed = (part.changes() for part in self._packed)
        for change in chain(chain.from_iterable(packed), self._changes):
            state = _changed(state, change)
            yield state


def _changed(state: WorldState, change: _Change) -> WorldState:
    entities = {**state.entities, **change.entities}
    for name in change.gone:
        del entities[name]
    return WorldState(
        change.stamp_s, change.step, change.revision, state.house, state.episode_id, entities
    )


# The state before an instruction may be this much later, since messages overtake each other.
_LATE_S = 0.5


@dataclass(frozen=True, slots=True)
class UnderstoodGoal:
    """A goal over descriptions, and what was answered about it, by keys of descriptions."""

    goal: Goal
    choices: Mapping[str, Choice]

    def evaluator(
        self, state: WorldState, house: House, mode: Mode, robot: str = "agent_0"
    ) -> Evaluator:
        """Judges by this goal, from the state in which its descriptions hold.

        Raises:
            PlannerError: if it only asks to find something before a later step, or the mode is not
                strict.
        """
        if mode is not Mode.STRICT:
            raise PlannerError(f"{mode} has no goals as understood from words")
        found = Binder(self.goal, self.choices, settle=True).update(scene_of_state(state, house))
        evaluation = Evaluation(())
        if found.evaluation is not None:
            evaluation = read_evaluation(dict(found.evaluation), "the goal as understood")
        unmet = unmet_parts(found)
        only_told = any(part.why is Why.FIND for part in found.unbound)
        if only_told and not (evaluation.propositions or found.criteria or unmet):
            raise PlannerError("whether something was found, the state of the world does not show")
        criteria = None if found.criteria is None else Criteria.model_validate(found.criteria)
        return Evaluator(
            evaluation, house, state, mode, criteria=criteria, robot=robot, unmet=unmet
        )


def unmet_parts(found: Grounding) -> tuple[str, ...]:
    """What cannot be done as understood, a sentence each."""
    return tuple(
        f'"{found.request_words[part.request]}" cannot be done: {part.text}'
        for part in found.unbound
        if part.fails
    )


def read_understood(text: str) -> UnderstoodGoal | None:
    """The goal of an /instruct/status; None if it is not one as understood from words."""
    try:
        document = parse_json(text, "") if text else None
    except FileError:
        return None
    return understood_of(document) if isinstance(document, dict) else None


def understood_of(document: Mapping[str, JsonValue]) -> UnderstoodGoal | None:
    """The same from the document itself."""
    if "understood" not in document:
        return None
    answers = document.get("answers")
    try:
        goal = Goal.model_validate(document["understood"])
    except ValidationError:
        return None
    return UnderstoodGoal(goal, choices_of(answers if isinstance(answers, list) else ()))


class WordsJudge:
    """Follows instructions and states, and makes the evaluator of the goal as understood.

    Attributes:
        start_s: time of the instruction, seconds of the world's clock.
        goal: of the running instruction, or of the last one; None if nothing was understood.
    """

    def __init__(self) -> None:
        self.start_s: float | None = None
        self.goal: UnderstoodGoal | None = None
        self._id = ""
        self._text = ""
        # Whether the running instruction may yet be understood, or be so in another way.
        self._is_open = False
        self._history = StateHistory()

    def take(self, state: WorldState) -> None:
        """Records the newest state."""
        self._history.take(state)
        if not self._is_open:
            self._history.forget_idle()

    def instruct(self, goal_id: str, stamp_s: float, state: InstructState, goal: str) -> bool:
        """Processes an instruction's status; True if the goal as understood is new."""
        if state not in (InstructState.RUNNING, InstructState.WAITING):
            self._is_open = self._is_open and goal_id != self._id
            return False
        if goal_id != self._id:
            self._id, self._text, self.goal, self.start_s = goal_id, "", None, stamp_s
            self._is_open = True
            self._history.forget_before(stamp_s)
        if goal == self._text:
            return False
        self._text = goal
        found = read_understood(goal)
        # A structured goal, which nothing has to be understood for, comes instead of words.
        self._is_open = found is not None
        if found is not None:
            self.goal = found
        return found is not None

    def evaluator(self, house: House, mode: Mode, robot: str = "agent_0") -> Evaluator:
        """Judges the states since the instruction.

        Raises:
            PlannerError: if the goal cannot be judged, or the world was not seen at that time.
        """
        if self.goal is None or self.start_s is None:
            raise PlannerError("no goal was understood")
        return judged(self.goal, self._history.states(), self.start_s, house, mode, robot)


def judged(
    goal: UnderstoodGoal,
    states: Iterable[WorldState],
    start_s: float,
    house: House,
    mode: Mode,
    robot: str,
) -> Evaluator:
    """Judges states of which the first is that at the time of the instruction.

    Raises:
        PlannerError: if there is none, or the goal cannot be judged.
    """
    evaluator: Evaluator | None = None
    for state in states:
        if evaluator is not None:
            evaluator.update(state)
            continue
        if state.stamp_s > start_s + _LATE_S:
            raise PlannerError("the world was not seen at the time of the instruction")
        evaluator = goal.evaluator(state, house, mode, robot)
    if evaluator is None:
        raise PlannerError("no state of the world was seen yet")
    return evaluator
