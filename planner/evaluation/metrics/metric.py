"""The record of a metric: its definition, kind and function."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.evaluation import statistics
from planner.evaluation.statistics import Estimate
from planner.evaluation.task import Predicate, asked_open, asked_state
from planner.evaluation.trace import CallLine, EpisodeTrace, TracedProposition
from planner.parts.calls import acted_call
from planner.parts.catalog import Catalog
from planner.parts.option import Option
from planner.world.skill import SkillCall, SkillCode, SkillName
from planner.world.states import default_state_skills
from planner.world.vocabulary import AgentKind, floor_name

# The value of a metric for one episode, and queries of a trace that several metrics share.


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
_IDLE = frozenset({
    SkillName.WAIT, SkillName.DONE, SkillName.FIND_OBJECT, SkillName.FIND_RECEPTACLE,
    SkillName.FIND_ROOM, SkillName.FIND_AGENT_ACTION,
})  # fmt: skip
PLACEMENTS = frozenset({SkillName.PLACE, SkillName.REARRANGE})
STATE_CHANGES = frozenset(skill.name for skill in default_state_skills().values())
# PARTNR-D59: calls that can raise percent complete.
EFFECTIVE = PLACEMENTS | STATE_CHANGES
OPENINGS = frozenset({SkillName.OPEN, SkillName.CLOSE})
# Of search and rescue, which `SkillName` does not list.
RESCUES = frozenset({"TakeSand", "TakeWater", "UseSand", "UseWater", "Carry", "DropOff"})
INTERACTIONS = EFFECTIVE | OPENINGS | RESCUES | {SkillName.PICK}
SPATIAL = frozenset({Predicate.IS_NEXT_TO, Predicate.IS_CLUSTERED})


def done(trace: EpisodeTrace, names: frozenset[str]) -> list[tuple[CallLine, SkillCall]]:
    """The successful calls of some skills."""
    found = ((line, acted_call(line.call)) for line in trace.calls if line.succeeded)
    return [(line, call) for line, call in found if call is not None and call.name in names]


def attempts(trace: EpisodeTrace) -> list[CallLine]:
    """The calls that tried something and were not cancelled."""
    return [
        line
        for line in trace.calls
        if line.code != SkillCode.CANCELED
        and ((call := acted_call(line.call)) is None or call.name not in _IDLE)
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


INTERFACE = 1


class Kind(StrEnum):
    """The range of values: 0 or 1, a share from 0 to 1, or any number from 0."""

    RATE = "rate"
    SHARE = "share"
    MEAN = "mean"


MAX_VALUE = {Kind.RATE: 1.0, Kind.SHARE: 1.0, Kind.MEAN: math.inf}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of single episodes; over tasks a rate or a mean.

    Attributes:
        name: in rows and tables.
        paper: where it is defined, or the package.
        kind: the range of an episode's value.
        of_episode: computes the value, or why there is none; never raises.
        options: reserved.
        interface: the version of this record that it was written for.
    """

    name: str
    paper: str
    kind: Kind
    of_episode: Callable[[EpisodeTrace], Measure]
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE

    @property
    def summary(self) -> str:
        """One line for the help."""
        return f"{self.paper}: {self.kind} of episodes"

    def estimate(self, values: Sequence[tuple[Hashable, float]]) -> Estimate:
        """The rate or mean over tasks, with its interval, of pairs of a task and a value."""
        outcomes = statistics.by_task(values)
        if self.kind is Kind.RATE:
            return statistics.task_rate(outcomes)
        means = statistics.task_means(outcomes)
        return statistics.mean(means, min_value=0.0, max_value=MAX_VALUE[self.kind])


@dataclass(frozen=True, slots=True)
class Portion:
    """An episode's addends of a ratio of sums; `left_out` says why it has none, or ""."""

    part: float
    whole: float
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class PooledMetric:
    """A ratio of sums over all episodes that are not left out."""

    name: str
    paper: str
    of_episode: Callable[[EpisodeTrace], Portion]
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE

    @property
    def summary(self) -> str:
        """One line for the help."""
        return f"{self.paper}: ratio over all episodes"

    def estimate(self, portions: Sequence[tuple[Hashable, Portion]]) -> Estimate:
        """The ratio, with its interval over tasks, of pairs of a task and one of its portions."""
        parts = statistics.by_task((task, portion.part) for task, portion in portions)
        wholes = statistics.by_task((task, portion.whole) for task, portion in portions)
        sums = [(math.fsum(a), math.fsum(b)) for a, b in zip(parts, wholes, strict=True)]

        def ratio(chosen: Sequence[int]) -> float | None:
            whole = math.fsum(sums[i][1] for i in chosen)
            return math.fsum(sums[i][0] for i in chosen) / whole if whole else None

        return statistics.bootstrap(len(sums), ratio)


MetricRecord = Metric | PooledMetric

# `METRICS` is each module's own mapping of this package.
ALL_METRICS: Catalog[MetricRecord] = Catalog(
    "metric",
    "planner.evaluation.metrics",
    "METRICS",
    f"{__name__}:MetricRecord",
    INTERFACE,
    keep_order=True,
)


def by_name(*metrics: MetricRecord) -> Mapping[str, MetricRecord]:
    """The metrics of a module as its catalog reads them, in their order in tables."""
    return {metric.name: metric for metric in metrics}


# What an episode came to: success, percent complete, steps and planning cycles.
#
# They are defined by PARTNR (PARTNR-3.5, PARTNR-8), and are the measures of every run.


def percent_complete(trace: EpisodeTrace) -> Measure:
    """Percent complete: propositions that count / all propositions (PARTNR-3.5).

    Vacuous if everything counted in the first state.
    """
    if trace.complete_at_start:
        return Measure(None, COMPLETE_AT_START)
    return Measure(trace.end.percent_complete)


def success(trace: EpisodeTrace) -> Measure:
    """Success: 1 if percent complete is 1, else 0 (PARTNR-3.5); its mean is SR.

    Vacuous if everything counted in the first state.
    """
    if trace.complete_at_start:
        return Measure(None, COMPLETE_AT_START)
    return Measure(float(trace.end.success))


def sim_steps(trace: EpisodeTrace) -> Measure:
    """Simulation steps from the start to the end of the episode (PARTNR-8)."""
    return Measure(float(trace.end.sim_steps))


def planning_cycles(trace: EpisodeTrace) -> Measure:
    """Planning cycles: model calls of the planner (PARTNR-8, PARTNR-D62).

    A decision that took several attempts is one cycle. If every agent has a planner of its own,
    only the robot's count. Not applicable to planners without a model.
    """
    cycles = {(d.agents, d.cycle) for d in trace.decisions if d.model}
    if not cycles:
        return Measure(None, "no model decided")
    counted = {c for c in cycles if robots(trace) & set(c[0])} or cycles
    planners = {agents for agents, _ in counted}
    return Measure(len(counted) / len(planners))


_SOURCE = "PARTNR"
METRICS = by_name(
    Metric("success", _SOURCE, Kind.RATE, success),
    Metric("percent_complete", _SOURCE, Kind.SHARE, percent_complete),
    Metric("sim_steps", _SOURCE, Kind.MEAN, sim_steps),
    Metric("planning_cycles", _SOURCE, Kind.MEAN, planning_cycles),
)
