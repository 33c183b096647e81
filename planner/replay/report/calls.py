"""Skill calls and decisions over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from planner.parts.calls import parse_call
from planner.replay.report.clock import WorldClock
from planner.replay.report.document import Call, Decision, ModelCall
from planner.replay.report.messages import Answer, Event, SkillEnd
from planner.world.skill import CallError, SkillCode

RESULTS = "/skills/results"
DECISIONS = "/planner/trace"


def calls_of(
    events: Sequence[Event[SkillEnd]], decisions: Sequence[Event[Answer]], clock: WorldClock
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
    events: Sequence[Event[Answer]], calls: Sequence[Call], clock: WorldClock
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


def model_calls_of(events: Sequence[Event[Answer]], clock: WorldClock) -> list[ModelCall]:
    """The planner's replies from a language model, in full."""
    return [
        ModelCall(
            t_s=clock.at(event.stamp_s, event.received_ns),
            planner=event.content.planner,
            model=event.content.model,
            agents=event.content.agents,
            cycle=event.content.cycle,
            prompt=event.content.prompt,
            reply=event.content.reply,
            calls=event.content.calls,
            error=event.content.error,
            prompt_tokens=event.content.prompt_tokens,
            cached_tokens=event.content.cached_tokens,
            reply_tokens=event.content.reply_tokens,
            first_token_s=event.content.first_token_s,
            latency_s=event.content.latency_s,
            role=event.content.role,
        )
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
