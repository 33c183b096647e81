"""The subtasks of search and rescue (LLAMAR-A23).

A fire ends, and a person is dropped off, when the goal's proposition about it first holds;
whoever was acting on it then did it. A person counts as spotted with the first successful call
on them, since nobody can go to a person whom none has seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.evaluation.metrics.measure import done
from planner.evaluation.subtasks import SubtaskRules
from planner.evaluation.trace import CallLine, EpisodeTrace, SubtaskLine
from planner.world.episode import Act, Subtask

_ENDING = {
    Act.END_FIRE: frozenset({"UseSand", "UseWater"}),
    Act.DROP_OFF: frozenset({"DropOff"}),
}
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


RESCUE = SubtaskRules(
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
