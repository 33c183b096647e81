"""Compares another planner's decisions with the recorded ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from planner.memory.scores import DEFAULT_DISTANCE_M
from planner.parts.calls import takes_text
from planner.replay.through.planning import Counterfactual, CounterfactualWork, canonical_call
from planner.replay.through.request import Findings, plain, share
from planner.world.belief import Belief, BeliefNode
from planner.world.skill import SkillCall
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind, Relation

OPEN_LOOP = (
    "counterfactual decisions at recorded states: the world goes on as recorded, whatever this "
    "planner decides"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """The recorded and the new call of one idle agent; None = it stays idle.

    Attributes:
        ended_well: how the recorded call ended; None if that was not recorded.
        live_is_real: whether everything the recorded call names is in the true world as believed;
            None without a call or the truth.
        replayed_is_real: the same for the new call.
    """

    agent: str
    live: SkillCall | None
    replayed: SkillCall | None
    ended_well: bool | None
    live_is_real: bool | None
    replayed_is_real: bool | None

    @property
    def is_same(self) -> bool:
        """Whether both calls are equal."""
        return self.live == self.replayed


def choices(step: Counterfactual) -> list[Choice]:
    """The recorded and the new call of each idle agent."""
    found = []
    for agent in step.recorded.idle:
        live, now = step.recorded.calls.get(agent), step.decision.calls.get(agent)
        live = None if live is None else canonical_call(live, step.belief)
        now = None if now is None else canonical_call(now, step.belief)
        end = step.recorded.ends.get(agent)
        found.append(
            Choice(
                agent,
                live,
                now,
                None if end is None else end.succeeded,
                _is_real(live, step.belief, step.truth),
                _is_real(now, step.belief, step.truth),
            )
        )
    return found


def _is_real(call: SkillCall | None, belief: Belief, truth: WorldState | None) -> bool | None:
    if call is None or truth is None:
        return None
    if takes_text(call.name):
        return True
    nodes = [belief.find(word) for word in call.arguments if word is not None]
    return all(node is None or _is_there(node, truth) for node in nodes)


def _is_there(node: BeliefNode, truth: WorldState) -> bool:
    """Whether a believed object exists, with its class, in the same hand or place."""
    if node.kind is not EntityKind.OBJECT:
        return True
    alike = [
        entity
        for entity in truth.entities.values()
        if entity.kind is EntityKind.OBJECT and entity.class_name == node.class_name
    ]
    if node.relation is Relation.HELD:
        return any(e.relation is Relation.HELD and e.parent == node.parent for e in alike)
    return any(math.dist(e.box.center_m, node.position_m) <= DEFAULT_DISTANCE_M for e in alike)


def planner_findings(works: Sequence[CounterfactualWork]) -> Findings:
    """The findings about a planner, to save and print."""
    records: list[Mapping[str, JsonValue]] = []
    lines: list[str] = [OPEN_LOOP]
    parts: list[JsonValue] = []
    for number, made in enumerate(works):
        lines.append(plain(f"instruction {number}: {made.task.instruction}"))
        for count, step in enumerate(made.steps):
            found = choices(step)
            records.append(_record(number, count, step, found))
            lines += _step_lines(step, found)
        part = _part(made)
        parts.append(part)
        lines += _summary_lines(part)
    return Findings(records, {"note": OPEN_LOOP, "instructions": parts}, lines)


def _record(
    instruction: int, number: int, step: Counterfactual, found: Sequence[Choice]
) -> Mapping[str, JsonValue]:
    replies = step.recorded.replies
    return {
        "instruction": instruction,
        "decision": number,
        "stamp_s": step.belief.stamp_s,
        "sequence": step.belief.sequence,
        "cycle": replies[-1].cycle,
        "same": all(choice.is_same for choice in found),
        "agents": [
            {
                "agent": choice.agent,
                "live": _text(choice.live),
                "replayed": _text(choice.replayed),
                "ended_well": choice.ended_well,
                "live_is_real": choice.live_is_real,
                "replayed_is_real": choice.replayed_is_real,
            }
            for choice in found
        ],
        "thought": step.decision.thought,
        "question": step.decision.question,
        "failure": step.decision.failure,
        "went_on_as_recorded": step.forced,
        "prompt_tokens": sum(call.usage.prompt_tokens for call in step.model_calls),
        "reply_tokens": sum(call.usage.reply_tokens for call in step.model_calls),
        "replies": [call.reply for call in step.model_calls],
    }


def _text(call: SkillCall | None) -> str | None:
    return None if call is None else str(call)


def _step_lines(step: Counterfactual, found: Sequence[Choice]) -> list[str]:
    at = f"{step.belief.stamp_s:9.2f} s  cycle {step.recorded.replies[-1].cycle}"
    lines = []
    if step.decision.failure:
        lines.append(plain(f"{at}  gives up: {step.decision.failure}"))
    if step.decision.question:
        lines.append(plain(f"{at}  asks: {step.decision.question}"))
    return lines + [
        plain(
            f"{at}  {choice.agent}: {_text(choice.replayed) or 'nothing'} and not "
            f"{_text(choice.live) or 'nothing'}"
        )
        for choice in found
        if not choice.is_same
    ]


def _part(made: CounterfactualWork) -> dict[str, JsonValue]:
    found = [(step, choices(step)) for step in made.steps]
    every = [choice for _, chosen in found for choice in chosen]
    same = [choice for choice in every if choice.is_same]
    other = [choice for choice in every if not choice.is_same]
    calls = [call for step in made.steps for call in step.model_calls]
    replies = [reply for decision in made.work.decisions for reply in decision.replies]
    return {
        "instruction": made.task.instruction,
        "agents": [*made.task.agents],
        "live_planner": replies[-1].planner if replies else "",
        "live_model": replies[-1].model if replies else "",
        "decisions": len(made.steps),
        "decisions_the_same": sum(all(c.is_same for c in chosen) for _, chosen in found),
        "agreement": _mean([choice.is_same for choice in every]),
        "decisions_without_belief": made.unknown,
        "decisions_not_in_own_words": sum(not step.forced for step in made.steps),
        "gave_up": sum(bool(step.decision.failure) for step in made.steps),
        "questions": sum(bool(step.decision.question) for step in made.steps),
        "lost_results": made.work.lost_results,
        "live_calls_that_ended_well": {
            "where_the_same": _mean([c.ended_well for c in same]),
            "where_different": _mean([c.ended_well for c in other]),
        },
        "calls_of_what_is_really_there": {
            "live": _mean([choice.live_is_real for choice in every]),
            "replayed": _mean([choice.replayed_is_real for choice in every]),
        },
        "prompts_the_same": _prompts(made.steps),
        "model": {
            "calls": len(calls),
            "refused": sum(bool(call.error) and not any(call.calls) for call in calls),
            "prompt_tokens": sum(call.usage.prompt_tokens for call in calls),
            "cached_tokens": sum(call.usage.cached_tokens for call in calls),
            "reply_tokens": sum(call.usage.reply_tokens for call in calls),
        },
        "live_model_use": {
            "calls": sum(bool(reply.model) for reply in replies),
            "prompt_tokens": sum(reply.prompt_tokens for reply in replies),
            "reply_tokens": sum(reply.reply_tokens for reply in replies),
        },
    }


def _prompts(steps: Sequence[Counterfactual]) -> JsonValue:
    """The number of prompts equal to the recorded model's; None if it got none."""
    pairs = []
    for step in steps:
        live = {reply.agents: reply.prompt for reply in reversed(step.recorded.replies)}
        now = {call.agents: call.prompt for call in reversed(step.model_calls)}
        pairs += [live[agents] == now[agents] for agents in now if live.get(agents)]
    return _mean(pairs)


def _mean(values: Sequence[bool | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _summary_lines(part: Mapping[str, JsonValue]) -> list[str]:
    def rate(name: str, inner: str) -> str:
        rates = part[name]
        value = rates.get(inner) if isinstance(rates, dict) else None
        return share(value if isinstance(value, float) else None)

    agreement = part["agreement"]
    shared = share(agreement if isinstance(agreement, float) else None)
    ended, real = "live_calls_that_ended_well", "calls_of_what_is_really_there"
    same = part["decisions_the_same"]
    alike, apart = rate(ended, "where_the_same"), rate(ended, "where_different")
    lines = [
        f"decisions: {part['decisions']}, the same: {same}  agreement of calls: {shared}",
        f"recorded calls that ended well: {alike} where both agree, {apart} elsewhere",
        f"calls of what is really there: {rate(real, 'live')} live, {rate(real, 'replayed')} now",
    ]
    used = part["model"]
    if isinstance(used, dict) and used["calls"]:
        lines.append(
            f"model: {used['calls']} calls, {used['refused']} refused, {used['prompt_tokens']} "
            f"prompt tokens, {used['reply_tokens']} reply tokens"
        )
    if isinstance(part["prompts_the_same"], float):
        lines.append(f"prompts as the recorded model got them: {share(part['prompts_the_same'])}")
    for name, words in (
        ("decisions_without_belief", "decisions left out: no belief was recorded before them"),
        ("decisions_not_in_own_words", "recorded decisions that this planner cannot say"),
        ("lost_results", "calls whose end was not recorded"),
    ):
        if part[name]:
            lines.append(f"{words}: {part[name]}")
    return lines
