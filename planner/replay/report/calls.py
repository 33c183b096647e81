"""Skill calls and decisions over time, and how the work was divided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from planner.parts.calls import acted_call, parse_call
from planner.replay.report.document import (
    AgentWork,
    Call,
    Decision,
    Handover,
    ModelCall,
    Path,
    Proposition,
    Work,
)
from planner.replay.report.messages import Event, SkillEnd
from planner.replay.report.tracks import WorldClock
from planner.world.skill import CallError, SkillCode, SkillName

RESULTS = "/skills/results"
DECISIONS = "/planner/trace"


def calls_of(
    events: Sequence[Event[SkillEnd]], decisions: Sequence[Event[ModelCall]], clock: WorldClock
) -> list[Call]:
    """The calls that ended, in the order of their ends.

    A call's start is its end minus the reported duration. Without one, it is when the planner's
    reply with the call arrived, or when the agent became idle.
    """
    answers: dict[tuple[str, str], list[float]] = {}
    for event in decisions:
        t_s = clock.at(event.stamp_s, event.received_ns)
        for agent, call in zip(event.content.agents, event.content.calls, strict=False):
            answers.setdefault((agent, call), []).append(t_s)
    found = []
    free_s: dict[str, float] = {}
    timed = [(clock.at(e.stamp_s, e.received_ns), e.content) for e in events]
    for end_s, content in sorted(timed, key=lambda pair: pair[0]):
        took_s = content.took_s
        free = free_s.get(content.agent, 0.0)
        if took_s is not None:
            start_s = end_s - took_s
        else:
            asked = [t for t in answers.get((content.agent, content.call), ()) if t <= end_s]
            start_s = max(asked[-1], free) if asked else free
        free_s[content.agent] = end_s
        found.append(
            Call(
                agent=content.agent,
                call=content.call,
                skill=_skill(content.call),
                start_s=round(min(max(start_s, 0.0), end_s), 3),
                end_s=end_s,
                start_known=took_s is not None,
                code=content.code,
                code_name=_code_name(content.code),
                text=content.text,
            )
        )
    return found


def decisions_of(
    events: Sequence[Event[ModelCall]], calls: Sequence[Call], clock: WorldClock
) -> list[Decision]:
    """The planner's decisions in the order of time; replies of one cycle are one decision."""
    found: list[Decision] = []
    for event in events:
        content = event.content
        made = Decision(
            t_s=clock.at(event.stamp_s, event.received_ns),
            planner=content.planner,
            agents=content.agents,
            calls=content.calls,
            cycle=content.cycle,
            replan=False,
            error=content.error,
        )
        if found and _are_one(found[-1], made):
            found[-1] = _joined(found[-1], made)
        else:
            found.append(made)
    failures = [call.end_s for call in calls if call.code != SkillCode.SUCCESS]
    before_s = [-math.inf, *(decision.t_s for decision in found)]
    return [
        replace(one, replan=any(last_s < end_s <= one.t_s for end_s in failures))
        for last_s, one in zip(before_s, found, strict=False)
    ]


def _are_one(first: Decision, then: Decision) -> bool:
    """Whether two replies belong together: of LLaMAR's roles, or one that was asked for again."""
    if (first.planner, first.agents, first.cycle) != (then.planner, then.agents, then.cycle):
        return False
    # Planners without a model do not count cycles.
    return first.cycle > 0 and not (any(first.calls) and any(then.calls))


def _joined(first: Decision, then: Decision) -> Decision:
    """It was made with its calls; what came after these judges them."""
    error = "; ".join(error for error in (first.error, then.error) if error)
    if any(then.calls) or not any(first.calls):
        return replace(then, error=error)
    return replace(first, error=error)


def model_calls_of(events: Sequence[Event[ModelCall]], clock: WorldClock) -> list[ModelCall]:
    """The planner's replies from a language model, in full."""
    return [
        replace(event.content, t_s=clock.at(event.stamp_s, event.received_ns))
        for event in events
        if event.content.model or event.content.prompt
    ]


def _skill(call: str) -> str:
    try:
        return parse_call(call).name
    except CallError:
        return call.partition("[")[0].strip()[:40]


def _code_name(code: int) -> str:
    try:
        return SkillCode(code).name.lower()
    except ValueError:
        return f"code {code}"


# Division of work: shares of calls, of time and of propositions, idle time, handovers.

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
        parsed = acted_call(call.call)
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
