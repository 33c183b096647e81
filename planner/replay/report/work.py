"""Division of work: shares of calls, of time and of propositions, idle time, handovers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from planner.parts.calls import acted_as, parse_call
from planner.replay.report.document import AgentWork, Call, Handover, Path, Proposition, Work
from planner.world.skill import CallError, SkillCall, SkillCode, SkillName

# Calls that end at once and move nothing.
_NO_WORK = {SkillName.WAIT.value, SkillName.DONE.value}


def work_of(
    agents: Sequence[str],
    calls: Sequence[Call],
    propositions: Sequence[Proposition],
    paths: Sequence[Path],
) -> Work:
    """What each agent did between the start of the first call and the end of the last."""
    real = [call for call in calls if call.skill not in _NO_WORK]
    span_s = _span_s(real)
    busy = {agent: _covered_s([c for c in real if c.agent == agent]) for agent in agents}
    done = {agent: sum(p.doer == agent for p in propositions) for agent in agents}
    counts = {agent: sum(c.agent == agent for c in real) for agent in agents}
    lengths = {path.agent: _length_m(path) for path in paths}
    shares = [_shares(values) for values in (counts, busy, done)]
    return Work(
        tuple(
            AgentWork(
                agent=agent,
                calls=counts[agent],
                failed=sum(c.agent == agent and c.code != SkillCode.SUCCESS for c in real),
                busy_s=round(busy[agent], 3),
                idle_s=round(max(span_s - busy[agent], 0.0), 3),
                distance_m=round(lengths.get(agent, 0.0), 2),
                propositions=done[agent],
                share_of_calls=shares[0][agent],
                share_of_time=shares[1][agent],
                share_of_propositions=shares[2][agent],
            )
            for agent in agents
        ),
        tuple(_handovers(calls)),
    )


def _shares(values: Mapping[str, float]) -> dict[str, float | None]:
    total = sum(values.values())
    return {name: round(value / total, 4) if total else None for name, value in values.items()}


def _span_s(calls: Sequence[Call]) -> float:
    if not calls:
        return 0.0
    return max(c.end_s for c in calls) - min(c.start_s for c in calls)


def _covered_s(calls: Sequence[Call]) -> float:
    """Duration for which at least one of the calls was running."""
    total, until = 0.0, -math.inf
    for call in sorted(calls, key=lambda c: c.start_s):
        total += max(0.0, call.end_s - max(call.start_s, until))
        until = max(until, call.end_s)
    return total


def _length_m(path: Path) -> float:
    return sum(
        math.hypot(x1 - x0, y1 - y0)
        for (_, x0, y0, _), (_, x1, y1, _) in zip(path.points, path.points[1:], strict=False)
    )


def _handovers(calls: Sequence[Call]) -> list[Handover]:
    put: dict[str, tuple[str, float]] = {}
    found = []
    for call in calls:
        parsed = _parsed(call)
        if parsed is None or not parsed.arguments or call.code != SkillCode.SUCCESS:
            continue
        thing = str(parsed.arguments[0])
        if parsed.name in (SkillName.PICK, SkillName.REARRANGE) and thing in put:
            giver, put_s = put.pop(thing)
            if giver != call.agent:
                found.append(Handover(thing, giver, call.agent, put_s, call.end_s))
        if parsed.name in (SkillName.PLACE, SkillName.REARRANGE):
            put[thing] = (call.agent, call.end_s)
    return found


def _parsed(call: Call) -> SkillCall | None:
    try:
        return acted_as(parse_call(call.call))
    except CallError:
        return None
