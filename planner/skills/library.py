"""The skills by name (PARTNR-6.1, EPM-3)."""

from __future__ import annotations

from typing import Protocol

from planner.skills.attempt import Attempt, Routine
from planner.skills.changing import change_state
from planner.skills.handling import pick, place, rearrange
from planner.skills.moving import explore, explore_furniture, look, navigate
from planner.skills.opening import close_furniture, open_furniture
from planner.skills.preconditions import Arguments
from planner.skills.tools import FINDERS, other_agents
from planner.world.primitive import PrimitiveName
from planner.world.skill import SkillCode, SkillName, SkillResult

# Steps without time passing after which a waiting agent makes it pass by looking ahead:
# a world that holds its time while nobody is busy would let it wait for ever.
_PATIENT_STEPS = 20


class Skill(Protocol):
    """One skill: a routine that runs until the call ends.

    Its arguments have passed `preconditions.check`. It may raise what `Attempt.do` raises.
    """

    def __call__(self, attempt: Attempt, arguments: Arguments) -> Routine:
        """Begins it."""


def wait(attempt: Attempt, arguments: Arguments) -> Routine:  # noqa: ARG001
    """Lets a fixed time pass (PARTNR-D50)."""
    port, options = attempt.scene.port, attempt.scene.options
    until_s, last_s, still = attempt.started_s + options.wait_s, attempt.started_s, 0
    can_look = PrimitiveName.LOOK in attempt.scene.capabilities.primitives
    attempt.wakes_s = until_s
    while (now_s := port.now_s()) < until_s - 1e-6:
        attempt.end_if_canceled()
        still = still + 1 if now_s == last_s else 0
        last_s = now_s
        if still >= _PATIENT_STEPS and can_look:
            yield from look(attempt, ((0.0, attempt.camera.tilt_rad),), "waiting")
        else:
            yield "waiting", 1.0 - (until_s - now_s) / options.wait_s
    return attempt.success()


def done(attempt: Attempt, arguments: Arguments) -> Routine:  # noqa: ARG001
    """Declares the task finished; nothing moves."""
    yield from ()
    return attempt.success()


def find(attempt: Attempt, arguments: Arguments) -> Routine:
    """Answers a perception tool from the belief; no simulated time passes (PARTNR-D56)."""
    finder = FINDERS.get(attempt.call.name)
    yield from ()
    if finder is None:
        text = other_agents(attempt.scene.team.actions(besides=attempt.scene.agent))
    else:
        text = finder(attempt.belief, arguments.text)
    return SkillResult(SkillCode.SUCCESS, text, attempt.evidence)


SKILLS: dict[str, Skill] = {
    SkillName.NAVIGATE: navigate,
    SkillName.EXPLORE: explore,
    SkillName.EXPLORE_FURNITURE: explore_furniture,
    SkillName.OPEN: open_furniture,
    SkillName.CLOSE: close_furniture,
    SkillName.PICK: pick,
    SkillName.PLACE: place,
    SkillName.REARRANGE: rearrange,
    SkillName.WAIT: wait,
    SkillName.DONE: done,
    SkillName.CLEAN: change_state,
    SkillName.FILL: change_state,
    SkillName.POUR: change_state,
    SkillName.POWER_ON: change_state,
    SkillName.POWER_OFF: change_state,
    SkillName.FIND_OBJECT: find,
    SkillName.FIND_RECEPTACLE: find,
    SkillName.FIND_ROOM: find,
    SkillName.FIND_AGENT_ACTION: find,
}
