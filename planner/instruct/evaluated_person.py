"""The answer of a simulated person who sees the evaluator's progress. No ROS here (HELPER-D83)."""

from __future__ import annotations

from collections.abc import Sequence

from planner.evaluation.feedback import feedback
from planner.evaluation.language import read_evaluation
from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_json


def answer_from(goal: str, satisfied: Sequence[bool] | None) -> str:
    """Says "done", or what is not as the goal wants it.

    Args:
        goal: the structured goal as JSON, as in /instruct/status; "" = there is none.
        satisfied: of each proposition, from /evaluation; None = nothing was heard.

    Raises:
        PlannerError: if there is no goal or no progress of it, so that nobody can say.
    """
    if satisfied is None:
        raise PlannerError("the simulated person has heard nothing from the evaluator")
    try:
        document = parse_json(goal, "the instruction", "goal") if goal else {}
    except FileError as error:
        raise PlannerError(f"the goal of the instruction is no JSON: {error.reason}") from None
    if not isinstance(document, dict) or "propositions" not in document:
        raise PlannerError("the simulated person knows only the goal of an episode")
    propositions = read_evaluation(document, "the instruction", "goal").propositions
    if len(propositions) != len(satisfied):
        raise PlannerError(
            f"the evaluator judges {len(satisfied)} propositions, the goal has {len(propositions)}"
        )
    return feedback(propositions, satisfied)
