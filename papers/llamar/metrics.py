"""LLaMAR's metrics of one episode (LLAMAR-5).

The true subtasks G are the checklist in the trace, or else the propositions. The checklist is the
episode's own (LLAMAR-D41), or follows from its propositions (LLAMAR-5.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from planner.evaluation.metrics.metric import (
    COMPLETE_AT_START,
    INTERACTIONS,
    Kind,
    Measure,
    Metric,
    attempts,
    by_name,
    done,
    targets,
)
from planner.evaluation.trace import DecisionLine, EpisodeTrace
from planner.parts.calls import acted_call
from planner.world.skill import SkillCall

EPSILON = 1e-4


def success(trace: EpisodeTrace) -> Measure:
    """1 if C = G, all subtasks are done, and the goal holds at the end; its mean is LLaMAR's SR.

    LLAMAR-5. The evaluator says whether the goal holds, since a subtask once done stays done
    (LLAMAR-D42).
    """
    rate = transport_rate(trace)
    if rate.value is None:
        return rate
    return Measure(float(rate.value == 1.0 and trace.end.success))


def transport_rate(trace: EpisodeTrace) -> Measure:
    """Transport rate: #C / #G, subtasks done / subtasks (LLAMAR-5).

    Vacuous if everything was done in the first state.
    """
    if trace.episode.reference.subtasks:
        indices = {line.index for line in trace.subtasks}
        return Measure(len(indices) / len(trace.episode.reference.subtasks))
    if trace.complete_at_start:
        return Measure(None, COMPLETE_AT_START)
    if not trace.end.satisfied:
        return Measure(None, "no propositions were given")
    return Measure(sum(trace.end.satisfied) / len(trace.end.satisfied))


def coverage(trace: EpisodeTrace) -> Measure:
    """Coverage: #X+ / #X, targets that were successfully interacted with / targets.

    LLAMAR-5. Of a list of alternatives, as many count as targets as the task needs.
    """
    return _covered(trace, (call for _, call in done(trace, INTERACTIONS)))


def coverage_attempted(trace: EpisodeTrace) -> Measure:
    """Coverage as the public code counts it: any attempted action on a target (LLAMAR-5.2)."""
    calls = (acted_call(line.call) for line in attempts(trace))
    return _covered(trace, (call for call in calls if call is not None))


def _covered(trace: EpisodeTrace, calls: Iterable[SkillCall]) -> Measure:
    touched = {name for call in calls for name in call.arguments if name}
    groups = targets(trace)
    if not groups:
        return Measure(None, "vacuous: the task is about no entity")
    hits = sum(min(number, len(group & touched)) for group, number in groups)
    return Measure(hits / sum(number for _, number in groups))


def balance(trace: EpisodeTrace) -> Measure:
    """Balance: min_i s_i / (max_i s_i + 1e-4) over agents i (LLAMAR-5).

    s_i counts the successful actions of agent i that advance the task: those that did an entry of
    the checklist, or without a checklist interactions with a target. If all are idle it is 0.
    """
    named = {name for group, _ in targets(trace) for name in group}
    if trace.episode.reference.subtasks:
        # An action that did several entries ended in one step (LLAMAR-D43).
        acted = {(line.agent, line.step) for line in trace.subtasks}
        counts = Counter(agent for agent, _ in acted)
    else:
        counts = Counter(
            line.agent for line, call in done(trace, INTERACTIONS) if call.arguments[0] in named
        )
    return _balanced(trace, counts)


def balance_all(trace: EpisodeTrace) -> Measure:
    """Balance as the public code counts it: every success, no epsilon (LLAMAR-5.2)."""
    counts = Counter(line.agent for line in attempts(trace) if line.succeeded)
    return _balanced(trace, counts, epsilon=0.0)


def _balanced(trace: EpisodeTrace, counts: Counter[str], epsilon: float = EPSILON) -> Measure:
    if len(trace.episode.agents) < 2:
        return Measure(None, "one agent alone")
    each = [counts[agent.uid] for agent in trace.episode.agents]
    return Measure(min(each) / (max(each) + epsilon) if max(each) else 0.0)


def joint_steps(trace: EpisodeTrace) -> Measure:
    """Steps: joint decisions until the episode ended, at most T (LLAMAR-5).

    A joint decision of all idle agents counts once, also if it took several model calls. There are
    at least as many as the busiest agent has calls, without those that wait: planners without a
    model do not decide jointly, and some plan once for many steps (LLAMAR-D44).
    """
    cycles = Counter(agents for agents, _ in {(d.agents, d.cycle) for d in _by_model(trace)})
    calls = Counter(line.agent for line in attempts(trace))
    steps = max((*cycles.values(), *calls.values()), default=0)
    if not steps:
        return Measure(None, "nothing was decided")
    return Measure(float(steps))


def _by_model(trace: EpisodeTrace) -> Iterator[DecisionLine]:
    return (decision for decision in trace.decisions if decision.model)


METRICS = by_name(
    Metric("llamar_success", "LLaMAR", Kind.RATE, success),
    Metric("transport_rate", "LLaMAR", Kind.SHARE, transport_rate),
    Metric("coverage", "LLaMAR", Kind.SHARE, coverage),
    Metric("coverage_attempted", "LLaMAR", Kind.SHARE, coverage_attempted),
    Metric("balance", "LLaMAR", Kind.SHARE, balance),
    Metric("balance_all", "LLaMAR", Kind.SHARE, balance_all),
    Metric("joint_steps", "LLaMAR", Kind.MEAN, joint_steps),
)
