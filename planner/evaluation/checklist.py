"""LLaMAR's checklist of a run: each object to be taken, each proposition, and who did it.

An entry once done stays done, as in LLaMAR's checkers (LLAMAR-5.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from planner.evaluation.metrics.measure import done
from planner.evaluation.metrics.partnr import doer_of
from planner.evaluation.needs import Need
from planner.evaluation.trace import EpisodeTrace, SubtaskLine
from planner.world.skill import SkillName

_TAKING = frozenset({SkillName.PICK, SkillName.REARRANGE})


@dataclass(slots=True)
class _Take:
    """A checklist entry: an object that is needed was picked up."""

    need: Need
    by: SubtaskLine | None = None
    thing: str = ""


def with_checklist(trace: EpisodeTrace, lacking: Sequence[Need]) -> EpisodeTrace:
    """Adds the checklist and what was done of it, unless the trace has one.

    Args:
        trace: of a whole episode.
        lacking: what the task lacked in the first state.
    """
    if trace.episode.reference.subtasks:
        return trace
    takes = [_Take(need) for need in lacking if need.carried for _ in range(need.count)]
    _take(trace, takes)
    at_start = trace.progress[0].satisfied if trace.progress else ()
    open_indices = [i for i in range(len(trace.end.satisfied)) if not (at_start and at_start[i])]
    texts = [f"take {' or '.join(take.need.entities)}" for take in takes]
    texts += [trace.episode.propositions[i].text for i in open_indices]
    lines = [take.by for take in takes if take.by is not None]
    lines += _propositions_done(trace, open_indices, len(takes))
    reference = replace(trace.episode.reference, subtasks=tuple(texts))
    return replace(
        trace,
        episode=replace(trace.episode, reference=reference),
        subtasks=tuple(sorted(lines, key=lambda line: (line.step, line.index))),
    )


def _take(trace: EpisodeTrace, takes: Sequence[_Take]) -> None:
    for line, call in done(trace, _TAKING):
        thing = call.arguments[0]
        for index, take in enumerate(takes):
            if take.by is None and thing in take.need.entities and _is_new(thing, take, takes):
                take.by, take.thing = SubtaskLine(line.ended_step, line.agent, index), thing
                break


def _is_new(thing: str, take: _Take, takes: Sequence[_Take]) -> bool:
    """Whether an object counts: if two cups are needed, taking one of them twice counts once."""
    return all(other.need is not take.need or other.thing != thing for other in takes)


def _propositions_done(
    trace: EpisodeTrace, open_indices: Sequence[int], offset: int
) -> Iterator[SubtaskLine]:
    for number, i in enumerate(open_indices):
        step = trace.end.first_steps[i]
        if step is not None:
            yield SubtaskLine(step, doer_of(trace, i), offset + number)
