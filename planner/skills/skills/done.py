"""Skill `Done`."""

from planner.skills.attempt import Attempt, Routine
from planner.skills.part import SkillPart
from planner.skills.preconditions import Arguments


def done(attempt: Attempt, arguments: Arguments) -> Routine:  # noqa: ARG001
    """Declares the task finished; nothing moves."""
    yield from ()
    return attempt.success()


SKILL = SkillPart(
    summary="declares the task finished; nothing moves",
    routine=done,
    partnr_text="says that the whole task is finished. Example (Done[])",
    epm_text="says that the whole task is finished; nothing can be done after it. Example: Done[]",
)
