"""Which subtasks of an episode's own checklist were done in a run, and by whom (LLAMAR-D41).

A subtask is done by the first successful call that performs its act on one of its entities, while
one of the things that it names is held. A successful interaction also performs the way there. Once
done it stays done; whether the result lasts is what the evaluator judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from planner.evaluation.metrics.measure import parsed
from planner.evaluation.rescue_subtasks import rescue_lines
from planner.evaluation.trace import CallLine, EpisodeTrace, SubtaskLine
from planner.world.checklist import Act, Checklist, Subtask
from planner.world.skill import SkillCall, SkillName

ACT_OF: Mapping[str, Act] = {
    SkillName.NAVIGATE: Act.NAVIGATE,
    SkillName.PICK: Act.PICK_UP,
    SkillName.OPEN: Act.OPEN,
    SkillName.CLOSE: Act.CLOSE,
    SkillName.CLEAN: Act.CLEAN,
    SkillName.POWER_ON: Act.TOGGLE_ON,
    SkillName.POWER_OFF: Act.TOGGLE_OFF,
    # A skill of the catalogue's states, which `SkillName` does not list.
    "Slice": Act.SLICE,
    "TakeSand": Act.GET_SUPPLY,
    "TakeWater": Act.GET_SUPPLY,
    "UseSand": Act.USE_SUPPLY,
    "UseWater": Act.USE_SUPPLY,
    "Carry": Act.CARRY,
}
_PUTTING = frozenset({SkillName.PLACE, SkillName.REARRANGE})
# Of Place and Rearrange: the thing, the relation, the place.
_THING, _PLACE = 0, 2


def with_subtasks(trace: EpisodeTrace, checklist: Checklist) -> EpisodeTrace:
    """Adds an episode's own checklist and what was done of it."""
    items = checklist.items()
    lines: dict[int, SubtaskLine] = {}
    for call in trace.calls:
        for act in _acts(trace, call):
            for index, item in enumerate(items):
                if index not in lines and _performs(act, item):
                    lines[index] = SubtaskLine(call.ended_step, call.agent, index)
    lines |= rescue_lines(trace, items)
    reference = replace(
        trace.episode.reference, subtasks=checklist.subtasks, targets=checklist.targets
    )
    return replace(
        trace,
        episode=replace(trace.episode, reference=reference),
        subtasks=tuple(sorted(lines.values(), key=lambda line: (line.step, line.index))),
    )


def _performs(done: Subtask, asked: Subtask) -> bool:
    return (
        done.act is asked.act
        and done.entities[0] in asked.entities
        and (not asked.held or not set(asked.held).isdisjoint(done.held))
    )


def _acts(trace: EpisodeTrace, line: CallLine) -> Iterator[Subtask]:
    """What a call did; nothing if it failed."""
    call = parsed(line) if line.succeeded else None
    if call is None or not call.arguments or call.arguments[0] is None:
        return
    if call.name in _PUTTING:
        yield from _put(call)
        return
    act = ACT_OF.get(call.name)
    if act is None:
        return
    held = _held(trace, line)
    yield Subtask(Act.NAVIGATE, (call.arguments[0],), held)
    if act is not Act.NAVIGATE:
        yield Subtask(act, (call.arguments[0],), held)


def _put(call: SkillCall) -> Iterator[Subtask]:
    thing, place = call.arguments[_THING], call.arguments[_PLACE]
    if thing is None or place is None:
        return
    if call.name == SkillName.REARRANGE:
        yield Subtask(Act.NAVIGATE, (thing,))
        yield Subtask(Act.PICK_UP, (thing,))
    yield Subtask(Act.NAVIGATE, (place,), (thing,))
    yield Subtask(Act.PUT, (place,), (thing,))


def _held(trace: EpisodeTrace, line: CallLine) -> tuple[str, ...]:
    """What the agent held when a call that puts nothing down ended."""
    hands = {
        hold.hand: hold.entity
        for hold in trace.holds
        if hold.agent == line.agent and hold.step <= line.ended_step
    }
    return tuple(name for name in hands.values() if name)
