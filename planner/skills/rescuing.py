"""Search and rescue: each skill is one action of a joint step (LLAMAR-A22).

Whether it can be done, the world decides. The evidence of a result has what the agent carries then,
and the class of a failure, as in docs/rescue.md.
"""

from __future__ import annotations

from planner.skills.attempt import Attempt, Routine
from planner.skills.part import SkillRoutine
from planner.skills.preconditions import Arguments
from planner.skills.results import failure, not_grounded
from planner.world.geometry import Vec3
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName

_ORIGIN: Vec3 = (0.0, 0.0, 0.0)


def on_target(name: PrimitiveName) -> SkillRoutine:
    """The routine of a skill that is a primitive at its only entity."""

    def routine(attempt: Attempt, arguments: Arguments) -> Routine:
        target = arguments.entities[0]
        primitive = Primitive(name, target.point_m)
        return (yield from _do(attempt, primitive, target.name))

    return routine


def alone(name: PrimitiveName) -> SkillRoutine:
    """The routine of a skill that is a primitive without a target."""

    def routine(attempt: Attempt, _arguments: Arguments) -> Routine:
        return (yield from _do(attempt, Primitive(name, attempt.base or _ORIGIN), "the way"))

    return routine


def _do(attempt: Attempt, primitive: Primitive, what: str) -> Routine:
    result = yield from attempt.do(primitive, str(primitive.name).replace("_", " "))
    attempt.evidence.update(result.evidence)
    if result.succeeded:
        return attempt.success()
    if result.code is PrimitiveCode.NOTHING_THERE:
        return not_grounded(primitive.target_m, **attempt.evidence)
    return failure(result, what, **attempt.evidence)
