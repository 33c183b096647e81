"""The goal that the expert pursues for what an instruction means so far."""

from __future__ import annotations

from dataclasses import replace

from planner.grounding.records import Grounding, Missing
from planner.language.goal_form import Goal as Meaning
from planner.planning.goal import Goal, read_goal

NO_GOAL = Goal((), {}, (), (), frozenset())
# A subgoal that never comes true, before those that must wait.
_NEVER = -1


def bound_goal(grounding: Grounding, meaning: Meaning) -> Goal:
    """The propositions that can be worked on.

    Later steps wait while something has yet to be found for an earlier one.
    """
    if grounding.evaluation is None:
        return NO_GOAL
    goal = read_goal(grounding.evaluation)
    steps = [number for number, step in enumerate(meaning.steps) for _ in step]
    sought = [
        steps[wanted.request]
        for wanted in grounding.sought
        if wanted.request < len(steps) and not (isinstance(wanted, Missing) and wanted.condition)
    ]
    if not sought:
        return goal
    before = dict(goal.before)
    for index, request in enumerate(grounding.requests):
        if request < len(steps) and steps[request] > min(sought):
            before[index] |= {_NEVER}
    return replace(goal, before=before)
