"""The preconditions of LLaMAR's actions (LLAMAR-3.1): nothing is handled from further away."""

from __future__ import annotations

import math

from planner.skills.attempt import Attempt, Routine
from planner.skills.ground import gap_m
from planner.skills.grounding import Target
from planner.skills.moving import go_to, openness_of
from planner.skills.preconditions import Arguments
from planner.skills.results import RefusalError, failure
from planner.world.openness import is_open
from planner.world.skill import SkillCode

# The paper's interaction range, horizontally: to the outline of furniture, the middle of a thing.
RANGE_M = 1.5


def distance_m(attempt: Attempt, target: Target) -> float:
    """How far the agent is from an entity, by its remembered position; 0 for what it holds."""
    base = attempt.base
    if base is None:
        return math.inf
    if target.name in attempt.held:
        return 0.0
    if target.piece is not None:
        return gap_m(target.piece, base)
    if target.room is not None and not target.is_thing:
        at_home = attempt.scene.layout.room_at(base[0], base[1]) == target.room
        return 0.0 if at_home else math.inf
    return math.dist(base[:2], target.point_m[:2])


def is_in_range(attempt: Attempt, arguments: Arguments) -> None:
    """What is handled is within range.

    Raises:
        RefusalError: otherwise.
    """
    target = arguments.target
    if target is not None and distance_m(attempt, target) > RANGE_M:
        raise RefusalError(SkillCode.TOO_FAR, f"{target.name} is too far.")


def is_closed(attempt: Attempt, arguments: Arguments) -> None:
    """What is opened is not known to be open, and nobody else is opening it (LLAMAR-D25).

    Raises:
        RefusalError: otherwise.
    """
    _check_openness(attempt, arguments, wanted=False, words="open", doing="being opened")


def is_opened(attempt: Attempt, arguments: Arguments) -> None:
    """What is closed is known to be open, and nobody else is closing it.

    Raises:
        RefusalError: otherwise.
    """
    _check_openness(attempt, arguments, wanted=True, words="closed", doing="being closed")


def _check_openness(
    attempt: Attempt, arguments: Arguments, *, wanted: bool, words: str, doing: str
) -> None:
    target = arguments.target
    if target is None or target.piece is None or not target.piece.joints:
        # The routine says that nothing opens.
        return
    if bool(is_open(openness_of(attempt, target.piece))) is not wanted:
        raise RefusalError(SkillCode.NEED_UNMET, f"{target.name} is already {words}.")
    same = (
        action.agent
        for action in attempt.scene.team.actions(attempt.scene.agent)
        if action.result is None and action.call == attempt.call
    )
    other = next(same, None)
    if other is not None:
        sentence = f"{target.name} is already {doing} by {other}."
        raise RefusalError(SkillCode.NEED_UNMET, sentence)


def navigate_to(attempt: Attempt, arguments: Arguments) -> Routine:
    """Walks to something, and fails if it is out of range where the walk ends."""
    target = arguments.entities[0]
    attempt.evidence["target"] = target.name
    result = yield from go_to(attempt, target)
    if not result.succeeded:
        return failure(result, target.name, **attempt.evidence)
    if distance_m(attempt, target) > RANGE_M:
        sentence = f"{target.name} was reached, but is out of range."
        return attempt.failure(SkillCode.TOO_FAR, sentence)
    return attempt.success()
