"""Search and rescue: each skill is one action of a joint step (LLAMAR-A22).

Whether it can be done, the world decides. The evidence of a result has what the agent carries then,
and the class of a failure, as in docs/rescue.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.evaluation.metrics.metric import done
from planner.evaluation.subtasks import SubtaskRules
from planner.evaluation.trace import CallLine, EpisodeTrace, SubtaskLine
from planner.skills.attempt import Attempt, Routine
from planner.skills.part import SkillPart, SkillRoutine
from planner.skills.preconditions import Arguments
from planner.skills.results import failure, not_grounded
from planner.world.episode import Act, Subtask
from planner.world.geometry import Vec3
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from planner.world.skill import AsReported, Role

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


# The records; the names of the skills stand with the entry points.

SCOUT = SkillPart(
    summary="goes some way in a random direction, to find lost persons",
    routine=alone(PrimitiveName.SCOUT),
    abilities=frozenset({PrimitiveName.SCOUT}),
    named_text="goes some way in a random direction, to find lost persons. Example (Scout[])",
)
CARRY = SkillPart(
    summary="takes hold of a lost person, whom at least two have to carry",
    routine=on_target(PrimitiveName.CARRY),
    roles=(Role.OBJECT,),
    abilities=frozenset({PrimitiveName.CARRY}),
    effects=(AsReported(),),
    named_text=(
        "takes hold of a lost person who is near; the person moves once at least two agents "
        "hold on, and supplies are dropped. Example (Carry[lost_person_timmy_6])"
    ),
)
DISCARD_SUPPLIES = SkillPart(
    summary="throws all sand and water away",
    routine=alone(PrimitiveName.DISCARD_SUPPLIES),
    abilities=frozenset({PrimitiveName.DISCARD_SUPPLIES}),
    named_text="throws all sand and water of the agent away. Example (DiscardSupplies[])",
)
DROP_OFF = SkillPart(
    summary="puts the person whom the agent holds into a deposit",
    routine=on_target(PrimitiveName.DROP_OFF),
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.DROP_OFF}),
    effects=(AsReported(),),
    named_text=(
        "puts the person whom the agent holds into a deposit; all who hold the person have to "
        "be near it and do so. Example (DropOff[deposit_facility_5])"
    ),
)
STORE_SUPPLIES = SkillPart(
    summary="puts all sand and water into a deposit",
    routine=on_target(PrimitiveName.STORE_SUPPLIES),
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.STORE_SUPPLIES}),
    named_text=(
        "puts all sand and water of the agent into a deposit, which must be near. Example "
        "(StoreSupplies[deposit_facility_5])"
    ),
)
TAKE_SAND = SkillPart(
    summary="takes sand from a reservoir, or as much as fits from a deposit",
    routine=on_target(PrimitiveName.TAKE_SAND),
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.TAKE_SAND}),
    named_text=(
        "takes one unit of sand from a reservoir, or as many as fit from a deposit, which "
        "must be near. Example (TakeSand[reservoir_utah_3])"
    ),
)
TAKE_WATER = SkillPart(
    summary="takes water from a reservoir, or as much as fits from a deposit",
    routine=on_target(PrimitiveName.TAKE_WATER),
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.TAKE_WATER}),
    named_text=(
        "takes one unit of water from a reservoir, or as many as fit from a deposit, which "
        "must be near. Example (TakeWater[reservoir_york_4])"
    ),
)
USE_SAND = SkillPart(
    summary="throws one unit of sand onto a fire, around where the agent is",
    routine=on_target(PrimitiveName.USE_SAND),
    roles=(Role.OBJECT_OR_FURNITURE,),
    abilities=frozenset({PrimitiveName.USE_SAND}),
    effects=(AsReported(),),
    named_text=(
        "throws one unit of sand onto a chemical fire; it works on the cells around the "
        "agent. Example (UseSand[caldor_fire_1])"
    ),
)
USE_WATER = SkillPart(
    summary="throws one unit of water onto a fire, around where the agent is",
    routine=on_target(PrimitiveName.USE_WATER),
    roles=(Role.OBJECT_OR_FURNITURE,),
    abilities=frozenset({PrimitiveName.USE_WATER}),
    effects=(AsReported(),),
    named_text=(
        "throws one unit of water onto a fire that is not chemical; it works on the cells "
        "around the agent. Example (UseWater[great_fire_2])"
    ),
)


# The subtasks of search and rescue (LLAMAR-A23).
#
# A fire ends, and a person is dropped off, when the goal's proposition about it first holds;
# whoever was acting on it then did it. A person counts as spotted with the first successful call
# on them, since nobody can go to a person whom none has seen.

_ENDING = {Act.END_FIRE: frozenset({"UseSand", "UseWater"}), Act.DROP_OFF: frozenset({"DropOff"})}
_ON_PERSONS = frozenset({"Navigate", "NavigateTo", "Carry"})


def rescue_lines(trace: EpisodeTrace, items: Sequence[Subtask]) -> dict[int, SubtaskLine]:
    """The subtasks of these kinds that were done, by their index."""
    lines: dict[int, SubtaskLine] = {}
    for index, item in enumerate(items):
        line = _ended(trace, item) if item.act in _ENDING else _spotted(trace, item)
        if line is not None:
            step, agent = line
            lines[index] = SubtaskLine(step, agent, index)
    return lines


def _ended(trace: EpisodeTrace, item: Subtask) -> tuple[int, str] | None:
    for number, proposition in enumerate(trace.episode.propositions):
        step = trace.end.first_steps[number]
        if step is None or set(proposition.lists[0]) != set(item.entities[:1]):
            continue
        doer = _acting(trace, _ENDING[item.act], step)
        return step, doer.agent if doer is not None else ""
    return None


def _acting(trace: EpisodeTrace, names: frozenset[str], step: int) -> CallLine | None:
    """The successful call of these that was going on in a step."""
    calls = [line for line, _ in done(trace, names)]
    return next((line for line in calls if line.started_step < step <= line.ended_step), None)


def _spotted(trace: EpisodeTrace, item: Subtask) -> tuple[int, str] | None:
    if item.act is not Act.SPOT:
        return None
    for line, call in done(trace, _ON_PERSONS):
        if call.arguments and call.arguments[0] in item.entities:
            return line.ended_step, line.agent
    return None


SUBTASKS = SubtaskRules(
    summary="fires that end, and persons spotted and dropped off, in search and rescue",
    acts={
        "TakeSand": Act.GET_SUPPLY,
        "TakeWater": Act.GET_SUPPLY,
        "UseSand": Act.USE_SUPPLY,
        "UseWater": Act.USE_SUPPLY,
        "Carry": Act.CARRY,
    },
    done=rescue_lines,
)
