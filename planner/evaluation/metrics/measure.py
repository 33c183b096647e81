"""The value of a metric for one episode, and queries of a trace that several metrics share."""

from __future__ import annotations

from dataclasses import dataclass

from planner.evaluation.task import Predicate, asked_open, asked_state
from planner.evaluation.trace import CallLine, EpisodeTrace, TracedProposition
from planner.parts.calls import acted_as, parse_call
from planner.world.skill import CallError, SkillCall, SkillCode, SkillName
from planner.world.states import default_state_skills
from planner.world.vocabulary import AgentKind, floor_name


@dataclass(frozen=True, slots=True)
class Measure:
    """A value, or the reason why there is none: a vacuous case is never scored.

    `left_out` uses the same words for the same cause, so that causes can be counted.
    """

    value: float | None
    left_out: str = ""


COMPLETE_AT_START = "vacuous: complete at the start"
NOT_SUCCESSFUL = "not successful"

# Perception tools, and calls that end or pass time: they neither act nor fail.
_IDLE = frozenset(
    {
        SkillName.WAIT,
        SkillName.DONE,
        SkillName.FIND_OBJECT,
        SkillName.FIND_RECEPTACLE,
        SkillName.FIND_ROOM,
        SkillName.FIND_AGENT_ACTION,
    }
)
PLACEMENTS = frozenset({SkillName.PLACE, SkillName.REARRANGE})
STATE_CHANGES = frozenset(skill.name for skill in default_state_skills().values())
# PARTNR-D59: calls that can raise percent complete.
EFFECTIVE = PLACEMENTS | STATE_CHANGES
OPENINGS = frozenset({SkillName.OPEN, SkillName.CLOSE})
# Of search and rescue, which `SkillName` does not list.
RESCUES = frozenset({"TakeSand", "TakeWater", "UseSand", "UseWater", "Carry", "DropOff"})
INTERACTIONS = EFFECTIVE | OPENINGS | RESCUES | {SkillName.PICK}
SPATIAL = frozenset({Predicate.IS_NEXT_TO, Predicate.IS_CLUSTERED})


def parsed(call: CallLine) -> SkillCall | None:
    """The call, or None if its text is invalid (a planner's mistake, counted as a failed call).

    What is done by a skill under other preconditions counts as the same: `PickupObject` as `Pick`.
    """
    try:
        return acted_as(parse_call(call.call))
    except CallError:
        return None


def done(trace: EpisodeTrace, names: frozenset[str]) -> list[tuple[CallLine, SkillCall]]:
    """The successful calls of some skills."""
    found = ((line, parsed(line)) for line in trace.calls if line.succeeded)
    return [(line, call) for line, call in found if call is not None and call.name in names]


def attempts(trace: EpisodeTrace) -> list[CallLine]:
    """The calls that tried something and were not cancelled."""
    return [
        line
        for line in trace.calls
        if line.code != SkillCode.CANCELED
        and ((call := parsed(line)) is None or call.name not in _IDLE)
    ]


def targets(trace: EpisodeTrace) -> list[tuple[frozenset[str], int]]:
    """The entities that the task is about: groups of alternatives, and how many are needed.

    The reference's targets; without these a group is a list of a proposition without rooms and
    floors, and equal lists are one group.
    """
    if trace.episode.reference.targets:
        return [(frozenset(names), 1) for names in trace.episode.reference.targets]
    rooms = {
        name
        for proposition in trace.episode.propositions
        if proposition.predicate is Predicate.IS_IN_ROOM
        for name in proposition.lists[1]
    }
    needed: dict[frozenset[str], int] = {}
    lists = [
        (names, proposition.number if k == 0 else 1)
        for proposition in trace.episode.propositions
        for k, names in enumerate(proposition.lists)
    ]
    for names, number in lists:
        group = frozenset(n for n in names if n not in rooms and not n.startswith(floor_name("")))
        if group:
            needed[group] = max(needed.get(group, 0), min(number, len(group)))
    return list(needed.items())


def robots(trace: EpisodeTrace) -> frozenset[str]:
    """The agents that are robots."""
    return frozenset(a.uid for a in trace.episode.agents if a.kind is AgentKind.ROBOT)


def doer_of(trace: EpisodeTrace, index: int) -> str:
    """The agent whose action first made a proposition count; "" if none did (PARTNR-D60).

    Considers actions that can do so to an entity that the proposition names, in this order: the one
    in progress; the next one by which the agent put down what it held at that step (an object
    carried over a table is already on top of it); the last one before, since a relation or a gate
    may come true through something else. For a spatial relation, the last placement.
    """
    cause = _cause(trace, index)
    return cause.agent if cause is not None else ""


def _cause(trace: EpisodeTrace, index: int) -> CallLine | None:
    step, proposition = trace.end.first_steps[index], trace.episode.propositions[index]
    if step is None:
        return None
    calls = done(trace, EFFECTIVE | OPENINGS)
    able = [(line, call) for line, call in calls if can_do(proposition, call)]
    going_on = [line for line, _ in able if line.started_step < step <= line.ended_step]
    if going_on:
        return going_on[-1]
    carried = [line for line, call in able if _carries(trace, line, call, step)]
    if carried:
        return carried[0]
    before = [line for line, _ in able if line.ended_step <= step]
    return before[-1] if before else None


def can_do(proposition: TracedProposition, call: SkillCall) -> bool:
    """Whether an action can make a proposition count: one that does so to an entity it names."""
    lists = proposition.lists if proposition.predicate in SPATIAL else proposition.lists[:1]
    able = STATE_CHANGES if asked_state(proposition.predicate) is not None else PLACEMENTS
    if asked_open(proposition.predicate) is not None:
        able = OPENINGS
    return call.name in able and any(call.arguments[0] in names for names in lists)


def _carries(trace: EpisodeTrace, line: CallLine, call: SkillCall, step: int) -> bool:
    if line.ended_step < step or call.name != SkillName.PLACE:
        return False
    holds = (hold for hold in trace.holds if hold.agent == line.agent and hold.step <= step)
    return call.arguments[0] in {hold.hand: hold.entity for hold in holds}.values()
