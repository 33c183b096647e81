"""ET-Plan-Bench's own plans as skill calls, so that what was done can be compared with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.episodes.et_plan.file import EtStep
from planner.world.skill import SkillCall, SkillName

# VirtualHome's verbs (ETPLAN-3.1).
_SKILLS = {
    "WALK": SkillName.NAVIGATE,
    "GRAB": SkillName.PICK,
    "OPEN": SkillName.OPEN,
    "CLOSE": SkillName.CLOSE,
}
_PUTS = {"PUT": "on", "PUTBACK": "on", "PUTIN": "within"}
# Looking round is no action (ETPLAN-1.4).
_TURNS = frozenset({"TURNRIGHT", "TURNLEFT"})


def plan_calls(
    plan: Sequence[EtStep], name_of: Callable[[str, int], str | None]
) -> tuple[str, ...]:
    """The plan's steps as calls; none at all where a step has no such call.

    Args:
        plan: the dataset's own.
        name_of: what an entity of the dataset, a word and a number, is called here.
    """
    calls = [_call(step, name_of) for step in plan if step.verb.upper() not in _TURNS]
    return () if None in calls else tuple(str(call) for call in calls)


def _call(step: EtStep, name_of: Callable[[str, int], str | None]) -> SkillCall | None:
    verb = step.verb.upper()
    names = [name_of(word, number) for word, number in step.arguments]
    if None in names or len(names) != (2 if verb in _PUTS else 1):
        return None
    if verb in _PUTS:
        return SkillCall(SkillName.PLACE, (names[0], _PUTS[verb], names[1], None, None))
    return SkillCall(_SKILLS[verb], tuple(names)) if verb in _SKILLS else None
