"""ET-Plan-Bench's reference plans as skill calls, for comparison with what was done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from planner.episodes.et_plan.file import PUTS, EtStep, EtTask
from planner.episodes.et_plan.task_scene import asked_relation
from planner.parts.calls import parse_call
from planner.world.episode import FurnitureChange
from planner.world.house import House, ObjectPlacement
from planner.world.receptacle import part_by_word
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import Relation

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
    things go on what has no hollow, and into what has no top. What does not open here is left
    as it is.

    Args:
        task: with the data set's own plan.
        house: the episode's.
        name_of: our name for an entity of the data set, given as a word and a number.
    """
    calls = [
        _call(task, house, step, name_of)
        for step in task.plan
        if step.verb not in _TURNS and not _opens_nothing(house, step, name_of)
    ]
    return () if None in calls else tuple(str(call) for call in calls)


def _opens_nothing(house: House, step: EtStep, name_of: Callable[[str, int], str | None]) -> bool:
    if step.verb not in ("OPEN", "CLOSE") or house.graph is not None:
        return False
    pieces = [house.furniture_by_name.get(name_of(w, n) or "") for w, n in step.arguments]
    return not any(piece is not None and piece.joints for piece in pieces)


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
    piece, name = house.furniture_by_name.get(names[1] or ""), (names[1] or "").rpartition("_")[0]
    if piece is not None:
        within = bool(piece.interiors) and (within or not piece.surfaces)
    elif house.graph is None:
        hollow, top = (part_by_word(name, each) for each in (Relation.WITHIN, Relation.ON))
        within = hollow is not None and (within or top is None)
    relation = "within" if within else "on"
    return SkillCall(SkillName.PLACE, (names[0], relation, names[1], None, None))


def open_at_start(
    calls: Sequence[str], placed: Iterable[ObjectPlacement], house: House
) -> dict[str, FurnitureChange]:
    """The furniture that calls reach into without opening it; in the benchmark it was open."""
    within = {thing.name: thing.parent for thing in placed if thing.relation is Relation.WITHIN}
    opened: set[str | None] = set()
    found: dict[str, FurnitureChange] = {}
    for call in map(parse_call, calls):
        into = None
        if call.name == SkillName.OPEN:
            opened.add(call.arguments[0])
        elif call.name == SkillName.PICK:
            into = within.get(call.arguments[0] or "")
        elif call.name == SkillName.PLACE and call.arguments[1] == "within":
            into = call.arguments[2]
        piece = house.furniture_by_name.get(into or "")
        if piece is not None and piece.joints and piece.name not in opened:
            found[piece.name] = FurnitureChange(open=True)
    return found
