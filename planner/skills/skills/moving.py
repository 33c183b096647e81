"""Skills that move the body or turn its camera."""

from collections.abc import Mapping

from planner.skills.attempt import Attempt, Routine
from planner.skills.moving import look, look_round, navigate
from planner.skills.part import SkillPart
from planner.skills.preconditions import Arguments
from planner.world.primitive import PrimitiveName
from planner.world.skill import Role

# Steps without time passing, after which a waiting agent advances time by looking ahead; otherwise
# a world that stops its clock while nobody is busy would let it wait forever.
_PATIENT_STEPS = 20


def wait(attempt: Attempt, arguments: Arguments) -> Routine:  # noqa: ARG001
    """Waits for a fixed time (PARTNR-D50)."""
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


SKILLS: Mapping[str, SkillPart] = {
    "Navigate": SkillPart(
        summary="walks next to furniture or a thing, or into a room",
        routine=navigate,
        roles=(Role.TARGET,),
        abilities=frozenset({PrimitiveName.NAVIGATE}),
        timed_out_text="Unsuccessful execution - skill timed out on the way to target",
        named_text="goes next to furniture, a room or an object. Example (Navigate[table_3])",
        numbered_text="goes next to a thing or furniture. Example: Navigate[Object.101]",
        timeout_s=180.0,
    ),
    "LookRound": SkillPart(
        summary="turns round in twelve turns of 30 degrees, and looks after each (ET-Plan-Bench)",
        routine=look_round,
        abilities=frozenset({PrimitiveName.LOOK}),
    ),
    "Wait": SkillPart(
        summary="lets a fixed time pass",
        routine=wait,
        named_text="does nothing for a while. Example (Wait[])",
    ),
    "Done": SkillPart(
        summary="declares the task finished; nothing moves",
        routine=done,
        named_text="says that the whole task is finished. Example (Done[])",
        numbered_text=(
            "says that the whole task is finished; nothing can be done after it. Example: Done[]"
        ),
    ),
}
