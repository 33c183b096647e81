"""Exploring by pictures (LLAMAR-2.7): look to all sides, go where the subtasks seem to be.

In each round the agent turns to the four headings of the compass, takes the one whose picture is
most similar to the open subtasks, and steps that way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeVar

from planner.memory.features import Features
from planner.skills.attempt import Attempt, Routine
from planner.skills.eye import Eye, best_heading, heading_scores, least_recent
from planner.skills.moving import look
from planner.skills.preconditions import Arguments
from planner.skills.results import RefusalError, failure
from planner.skills.small_steps import face, step
from planner.world.compass import Heading, heading_of
from planner.world.errors import PlannerError
from planner.world.primitive import PrimitiveCode, PrimitiveResult
from planner.world.skill import SkillCode

# Between the subtasks in a call.
SUBTASK_SEPARATOR = "; "
# These end the whole routine, not only its round.
_ENDING = (PrimitiveCode.STOPPED, PrimitiveCode.NOT_ALLOWED, PrimitiveCode.CANCELED)

ResultT = TypeVar("ResultT")
_Views = Generator[tuple[str, float], None, PrimitiveResult | dict[Heading, Features]]


def explore_by_view(attempt: Attempt, arguments: Arguments) -> Routine:
    """Explores; succeeds if it could make at least one step (LLAMAR-D27)."""
    options, team, agent = attempt.scene.options, attempt.scene.team, attempt.scene.agent
    eye = attempt.scene.eye
    texts = _compared(lambda: _texts(eye, arguments.text))
    steps, taken, by_pictures = 0, [], 0
    blocked: set[Heading] = set()
    for number in range(options.explore_rounds):
        attempt.window = (number / options.explore_rounds, (number + 1) / options.explore_rounds)
        views = yield from _look_round(attempt, eye if texts else None)
        if isinstance(views, PrimitiveResult):
            return failure(views, "the room", **attempt.evidence)
        by_pictures += bool(views)
        # The same picture, of a wall or not, would win again for as long as nobody moves.
        views = {each: view for each, view in views.items() if each not in blocked} or views
        chosen = _best(views, texts) if views else None
        heading = chosen or least_recent(team.headings(agent))
        team.headed(agent, heading)
        taken.append(heading.name.lower())
        attempt.evidence["headings"] = " ".join(taken)
        attempt.evidence["by_pictures"] = str(by_pictures)
        result = yield from face(attempt, heading.yaw_rad)
        before = steps
        for _ in range(options.explore_steps):
            if result.succeeded:
                result = yield from step(attempt, heading.yaw_rad, heading.yaw_rad)
                steps += result.succeeded
        blocked = blocked | {heading} if steps == before else set()
        if result.code in _ENDING:
            return failure(result, "the room", **attempt.evidence)
    attempt.evidence["steps"] = str(steps)
    if not steps:
        return attempt.failure(SkillCode.BLOCKED, "All ways that were tried are blocked.")
    return attempt.success()


def _texts(eye: Eye | None, text: str) -> Sequence[Features]:
    """The open subtasks as vectors, once for each call; none without an encoder."""
    if eye is None:
        return ()
    subtasks = [part.strip() for part in text.split(SUBTASK_SEPARATOR.strip())]
    return tuple(eye.encoder.text(part) for part in subtasks if part)


def _look_round(attempt: Attempt, eye: Eye | None) -> _Views:
    """Turns right four times and takes a picture of each heading; or why it could not turn."""
    pose = attempt.base_pose()
    if pose is None:
        raise RefusalError(SkillCode.BACKEND_FAULT, "The agent's own position is unknown.")
    heading = heading_of(pose.yaw_rad)
    views: dict[Heading, Features] = {}
    ahead = ((0.0, attempt.camera.tilt_rad),)
    for _ in Heading:
        heading = heading.right
        turned = yield from face(attempt, heading.yaw_rad)
        if turned.succeeded:
            # The camera stands still for the picture, and for the memory.
            turned = yield from look(attempt, ahead, f"looking {heading.name.lower()}")
        if not turned.succeeded:
            return turned
        view = _view(eye, attempt.scene.agent) if eye is not None else None
        if view is not None:
            # LLAMAR-C32: the picture is of the heading after the turn.
            views[heading] = view
    return views


def _view(eye: Eye, agent: str) -> Features | None:
    """What an agent's camera shows now; None for a dropped picture."""

    def view() -> Features | None:
        image = eye.picture(agent)
        return None if image is None else eye.encoder.picture(image)

    return _compared(view)


def _best(views: Mapping[Heading, Features], texts: Sequence[Features]) -> Heading:
    return best_heading(_compared(lambda: heading_scores(views, texts)))


def _compared(ask: Callable[[], ResultT]) -> ResultT:
    """What the encoder says.

    Raises:
        RefusalError: if there can be no pictures, or they cannot be compared.
    """
    try:
        return ask()
    except PlannerError as error:
        sentence = f"The pictures cannot be compared with the subtasks: {error}."
        raise RefusalError(SkillCode.BACKEND_FAULT, sentence) from None
