"""Maps results of primitives to those of skills: codes and literal texts.

Codes are stable; texts follow PARTNR-6.2 and PARTNR-D48 and EPM-3.
"""

from __future__ import annotations

from dataclasses import replace

from planner.world.geometry import Vec3
from planner.world.primitive import PrimitiveCode, PrimitiveResult
from planner.world.reported import REASON
from planner.world.skill import SkillCode, SkillResult

TOOK_TOO_LONG = "Skill took too long to finish."


class RefusalError(Exception):
    """A call that cannot be executed (any further): its code and its sentence."""

    def __init__(self, code: SkillCode, sentence: str) -> None:
        self.code = code
        self.sentence = sentence
        super().__init__(sentence)


_MEANINGS: dict[PrimitiveCode, tuple[SkillCode, str]] = {
    PrimitiveCode.CANCELED: (SkillCode.CANCELED, "The skill was canceled."),
    PrimitiveCode.NOT_ABLE: (SkillCode.NOT_ABLE, "This agent cannot do that."),
    PrimitiveCode.BUSY: (SkillCode.BUSY, "The agent is busy with something else."),
    PrimitiveCode.STOPPED: (SkillCode.NOT_ALLOWED, "The agent was stopped."),
    PrimitiveCode.NOT_ALLOWED: (SkillCode.NOT_ALLOWED, "The agent is not allowed to move."),
    PrimitiveCode.UNREACHABLE: (SkillCode.UNREACHABLE, "{what} is unreachable."),
    PrimitiveCode.BLOCKED: (SkillCode.BLOCKED, "{what}: {reason}."),
    PrimitiveCode.TOO_FAR: (SkillCode.TOO_FAR, "{what} is too far."),
    PrimitiveCode.NO_LINE_OF_SIGHT: (SkillCode.NOT_VISIBLE, "{what} is not visible."),
    PrimitiveCode.HAND_FULL: (SkillCode.ALREADY_HOLDING, "The agent is already holding an object."),
    PrimitiveCode.HAND_EMPTY: (SkillCode.NOT_HOLDING, "The agent is not holding an object."),
    PrimitiveCode.HELD_BY_OTHER: (SkillCode.HELD_BY_OTHER, "{what} is held by the other agent."),
    PrimitiveCode.NOT_ARTICULATED: (
        SkillCode.NOT_ARTICULATED,
        "{what} is not articulated: it cannot be opened or closed.",
    ),
    PrimitiveCode.CLOSED: (SkillCode.FURNITURE_CLOSED, "{what} is closed."),
    PrimitiveCode.NO_SPACE: (
        SkillCode.NO_PLACEMENT,
        "No valid placements found for entity {what}.",
    ),
    PrimitiveCode.NO_AFFORDANCE: (SkillCode.NO_AFFORDANCE, "{what} does not afford that."),
    PrimitiveCode.NO_FAUCET: (SkillCode.NO_FAUCET, "There is no faucet within reach."),
    PrimitiveCode.SOURCE_EMPTY: (
        SkillCode.SOURCE_EMPTY,
        "What the agent holds is empty: there is nothing to pour.",
    ),
    PrimitiveCode.NEED_UNMET: (SkillCode.NEED_UNMET, "{reason}."),
    PrimitiveCode.GRASP_FAILED: (SkillCode.GRASP_FAILED, "The grasp of {what} failed."),
}


def failure(result: PrimitiveResult, what: str, **evidence: str) -> SkillResult:
    """The skill's failure for a failed primitive; `what` names its target.

    Codes for an invalid request or a broken world become the backend's fault, since no planner can
    avoid them.
    """
    if reason := result.evidence.get(REASON):
        evidence[REASON] = reason
    meaning = _MEANINGS.get(result.code)
    if meaning is None:
        sentence = f"The world could not do it: {result.text}."
        return SkillResult.failure(SkillCode.BACKEND_FAULT, sentence, **evidence)
    code, sentence = meaning
    text = sentence.format(what=what, reason=result.text)
    return replace(SkillResult.failure(code, text, **evidence), rule=result.rule)


def not_grounded(point_m: Vec3, **evidence: str) -> SkillResult:
    """EPM's literal failure if nothing is near the remembered position."""
    sentence = nothing_near(point_m)
    return SkillResult.failure(SkillCode.NOT_GROUNDED, sentence, **evidence)


def nothing_near(point_m: Vec3) -> str:
    """EPM's sentence with the three numbers in full precision."""
    x, y, z = (float(value) for value in point_m)
    return f"No object found near the target position {x!r}, {y!r}, {z!r}"


def no_placement(furniture: str) -> str:
    """The paper's sentence if nothing can be put down (PARTNR-6.2)."""
    return f"No valid placements found for entity {furniture}."


def timed_out(text: str, **evidence: str) -> SkillResult:
    """A call that took too long; `text` if its skill has a text of its own."""
    if text:
        return SkillResult(SkillCode.TIMED_OUT, text, evidence)
    return SkillResult.failure(SkillCode.TIMED_OUT, TOOK_TOO_LONG, **evidence)


def canceled(**evidence: str) -> SkillResult:
    """A call that was canceled."""
    return SkillResult.failure(SkillCode.CANCELED, "The skill was canceled.", **evidence)
