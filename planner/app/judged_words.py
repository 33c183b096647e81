"""Judges a run without an episode's goal by what its planner has understood of the words."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from planner.evaluation.as_understood import judged, understood_of
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import Mode, Progress, Verdict
from planner.evaluation.trace_builder import TraceBuilder
from planner.world.errors import PlannerError
from planner.world.geometry import Box
from planner.world.house import House
from planner.world.state import WorldState

NOT_UNDERSTOOD = "Nothing was understood, so there is nothing to judge by."


class WordsEvaluator:
    """Takes the place of an `Evaluator` where the goal becomes known during the run.

    An answer may change the goal after the first steps, so all states are kept.
    """

    def __init__(
        self, house: House, initial: WorldState, robot: str, trace: TraceBuilder | None
    ) -> None:
        self._house, self._robot, self._trace = house, robot, trace
        self._states = [initial]
        self._evaluator: Evaluator | None = None
        self._problem = NOT_UNDERSTOOD

    def take_goal(self, goal: Mapping[str, JsonValue]) -> None:
        """Judges all states anew by the goal as understood."""
        understood = understood_of(goal)
        if understood is None:
            return
        start_s, mode = self._states[0].stamp_s, Mode.STRICT
        try:
            evaluator = judged(
                understood, self._states[:1], start_s, self._house, mode, self._robot
            )
            at_first = evaluator.progress
            for state in self._states[1:]:
                evaluator.update(state)
            self._evaluator = evaluator
        except PlannerError as error:
            self._evaluator, self._problem = None, str(error)
        else:
            if self._trace is not None:
                self._trace.restart_count(evaluator.propositions, self._states[0], at_first)
        self._add_to_trace()

    def update(self, state: WorldState) -> None:
        """Processes the next state."""
        if state is self._states[-1]:
            return
        self._states.append(state)
        if self._evaluator is not None:
            self._evaluator.update(state)
        self._add_to_trace()

    def _add_to_trace(self) -> None:
        if self._trace is not None and self._evaluator is not None:
            self._trace.state(self._states[-1], self._evaluator.progress)

    def keeps(self, reach: Mapping[str, Box]) -> bool:  # noqa: ARG002 - the goal may change
        """Never: every state may count."""
        return False

    @property
    def progress(self) -> Progress:
        """The progress after the last state."""
        if self._evaluator is not None:
            return self._evaluator.progress
        step = self._states[-1].step
        return Progress(0.0, False, step, (), self._problem, Mode.STRICT, Variant.BOXES)

    def finish(self) -> Verdict:
        """The verdict by the goal as understood; a failure without one."""
        if self._evaluator is not None:
            return self._evaluator.finish()
        last, mode = self._states[-1], Mode.STRICT
        return Verdict(
            last.episode_id, 0.0, False, last.step, (), self._problem, mode, Variant.BOXES
        )
