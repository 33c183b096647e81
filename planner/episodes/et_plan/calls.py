"""ET-Plan-Bench's reference plans as skill calls, for comparison with what was done."""

from __future__ import annotations

from collections.abc import Callable

from planner.episodes.et_plan.file import EtStep, EtTask
from planner.episodes.et_plan.task_scene import PUTS, asked_relation
from planner.world.house import House
from planner.world.skill import SkillCall, SkillName

# VirtualHome's verbs (ETPLAN-3.1).
_SKILLS = {
    "WALK": SkillName.NAVIGATE,
    "GRAB": SkillName.PICK,
    "OPEN": SkillName.OPEN,
    "CLOSE": SkillName.CLOSE,
}
# Looking around is not an action (ETPLAN-1.4).
_TURNS = frozenset({"TURNRIGHT", "TURNLEFT"})


def plan_calls(
    task: EtTask, house: House, name_of: Callable[[str, int], str | None]
) -> tuple[str, ...]:
    """A task's plan as calls in a house; none at all if a step has no corresponding call.

    The criteria determine whether a thing goes on or within a place; if they do not, the verb does;
    things go on furniture without a hollow, and into furniture without a top.

    Args:
        task: with the data set's own plan.
        house: the episode's.
        name_of: our name for an entity of the data set, given as a word and a number.
    """
    calls = [_call(task, house, step, name_of) for step in task.plan if step.verb not in _TURNS]
    return () if None in calls else tuple(str(call) for call in calls)


def _call(
    task: EtTask, house: House, step: EtStep, name_of: Callable[[str, int], str | None]
) -> SkillCall | None:
    names = [name_of(word, number) for word, number in step.arguments]
    if None in names or len(names) != (2 if step.verb in PUTS else 1):
        return None
    if step.verb not in PUTS:
        return SkillCall(_SKILLS[step.verb], tuple(names)) if step.verb in _SKILLS else None
    (thing, _), (place, _) = step.arguments
    asked = asked_relation(task, thing, place)
    within = asked == "INSIDE" or (not asked and step.verb == "PUTIN")
    piece = house.furniture_by_name.get(names[1] or "")
    if piece is not None:
        within = bool(piece.interiors) and (within or not piece.surfaces)
    relation = "within" if within else "on"
    return SkillCall(SkillName.PLACE, (names[0], relation, names[1], None, None))
