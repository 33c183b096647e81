"""Builds a trace from the events of a run, live or from a bag.

States with the evaluator's progress, calls and decisions may be added in any order, stamped with
the world's clock; steps are computed at the end.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from planner.evaluation.constraints import phrase
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import Mode, Progress, Verdict
from planner.evaluation.subtasks import Need, needs, plan_length, with_checklist, with_subtasks
from planner.evaluation.task import Evaluation, Proposition
from planner.evaluation.trace import (
    CallLine,
    DecisionLine,
    EndLine,
    EpisodeLine,
    EpisodeTrace,
    HoldLine,
    MoveLine,
    ProgressLine,
    Reference,
    TraceAgent,
    TracedProposition,
)
from planner.world.episode import Criteria, Episode
from planner.world.house import House
from planner.world.skill import SkillCall, SkillResult
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Hand, thing_in


@dataclass(frozen=True, slots=True)
class SkillCallRecord:
    """A skill call that ended, with stamps; `started_s` None = start not recorded."""

    agent: str
    call: str
    started_s: float | None
    ended_s: float
    code: int
    text: str


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A model call of a planner, or a decision of one without a model, at `stamp_s`."""

    stamp_s: float
    planner: str
    agents: tuple[str, ...]
    cycle: int
    model: str = ""
    prompt_tokens: int = 0
    reply_tokens: int = 0
    error: str = ""


@dataclass(slots=True)
class TraceBuilder:
    """Builds the trace of one episode.

    Attributes:
        propositions: those that are counted; set by a `TracedEvaluator`.
        lacking: what had to be done; also set by it.
        length: calls of a plan without detours; 0 = unknown.
    """

    propositions: tuple[Proposition, ...] = ()
    lacking: tuple[Need, ...] = ()
    length: int = 0
    _progress: list[ProgressLine] = field(default_factory=list)
    _moves: list[MoveLine] = field(default_factory=list)
    _holds: list[HoldLine] = field(default_factory=list)
    _stamps: list[float] = field(default_factory=list)
    _steps: list[int] = field(default_factory=list)
    _call_records: list[SkillCallRecord] = field(default_factory=list)
    _decisions: list[DecisionRecord] = field(default_factory=list)
    _bodies: dict[str, EntityState] = field(default_factory=dict)
    _last: Progress | None = None

    def state(
        self, state: WorldState, progress: Progress, changed: Collection[str] | None = None
    ) -> None:
        """Adds a state and its progress; the first one is the start.

        `changed`: names of the entities that differ from the previous state; None = unknown.
        """
        if self._steps and state.step < self._steps[-1]:
            return
        self._stamps.append(state.stamp_s)
        self._steps.append(state.step)
        for name in state.entities if changed is None else changed:
            entity = state.entities.get(name)
            if entity is not None and entity.kind is EntityKind.AGENT:
                self._body(state.step, entity)
        # The evaluator returns the same list object until something in it changes.
        before = self._last
        if (
            before is None
            or progress.propositions is not before.propositions
            or progress.criteria is not before.criteria
        ):
            counted = tuple(p.satisfied for p in progress.propositions)
            share, last = progress.percent_complete, self._progress[-1:]
            if [(line.percent_complete, line.satisfied) for line in last] != [(share, counted)]:
                self._progress.append(ProgressLine(state.step, share, counted))
        self._last = progress

    def restart_count(
        self, propositions: tuple[Proposition, ...], first: WorldState, progress: Progress
    ) -> None:
        """Counts other propositions from the first state on; `progress` is theirs in it."""
        self.propositions = propositions
        counted = tuple(p.satisfied for p in progress.propositions)
        self._progress = [ProgressLine(first.step, progress.percent_complete, counted)]
        self._last = None

    def add_call(
        self,
        agent: str,
        call: SkillCall | str,
        result: SkillResult,
        ended_s: float,
        started_s: float | None = None,
    ) -> None:
        """Adds a call that ended."""
        code = int(result.code)
        self._call_records.append(
            SkillCallRecord(agent, str(call), started_s, ended_s, code, result.text)
        )

    def add_decision(self, decision: DecisionRecord) -> None:
        """Adds a decision of the planner."""
        self._decisions.append(decision)

    def finish(
        self,
        episode: Episode,
        verdict: Verdict,
        *,
        planner: str = "",
        seed: int | None = None,
        reason: str = "",
        acting: Sequence[str] = (),
        reference: Reference | None = None,
    ) -> EpisodeTrace:
        """Returns the trace.

        Args:
            episode: the one that was run.
            verdict: of the `TracedEvaluator` that used this builder.
            planner: its name.
            seed: of the run; None = the episode's.
            reason: why the run ended.
            acting: the agents that took part; empty = all of the episode.
            reference: what is known about the best solution; None = from the episode.
        """
        known = reference or reference_of(episode)
        if known.length is None and self.length:
            known = replace(known, length=self.length)
        uids = set(acting) or {agent.uid for agent in episode.agents}
        counted = tuple(p.satisfied for p in verdict.propositions)
        criteria = verdict.criteria
        trace = EpisodeTrace(
            EpisodeLine(
                episode_id=episode.episode_id,
                house=episode.house,
                agents=tuple(TraceAgent(a.uid, a.kind) for a in episode.agents if a.uid in uids),
                propositions=tuple(
                    TracedProposition(phrase(p), p.predicate, p.lists, p.number)
                    for p in self.propositions
                ),
                mode=verdict.mode,
                variant=verdict.variant,
                instruction=episode.instruction,
                task_types=episode.task_types,
                planner=planner or next((d.planner for d in self._decisions), ""),
                seed=episode.seed if seed is None else seed,
                reference=known,
            ),
            EndLine(
                sim_steps=verdict.sim_steps,
                percent_complete=verdict.percent_complete,
                success=verdict.success,
                satisfied=counted,
                first_steps=tuple(p.first_step for p in verdict.propositions),
                explanation=verdict.explanation,
                reason=reason,
                criteria=None if criteria is None else criteria.success,
                criteria_step=None if criteria is None else criteria.first_step,
                criteria_explanation="" if criteria is None else criteria.explanation,
            ),
            calls=self._calls(uids),
            decisions=tuple(
                DecisionLine(
                    self._step_at(d.stamp_s),
                    d.planner,
                    d.agents,
                    d.cycle,
                    d.model,
                    d.prompt_tokens,
                    d.reply_tokens,
                    d.error,
                )
                for d in self._decisions
            ),
            progress=tuple(self._progress),
            moves=tuple(move for move in self._moves if move.agent in uids),
            holds=tuple(hold for hold in self._holds if hold.agent in uids),
        )
        if episode.checklist is not None:
            return with_subtasks(trace, episode.checklist)
        return with_checklist(trace, self.lacking)

    def _body(self, step: int, body: EntityState) -> None:
        before = self._bodies.get(body.name)
        if before is body:
            return
        x, y, _ = body.pose.position_m
        if before is None or before.pose.position_m[:2] != (x, y):
            self._moves.append(MoveLine(step, body.name, x, y))
        for hand in Hand:
            held = thing_in(body.hands, hand)
            if (thing_in(before.hands, hand) if before else None) != held:
                self._holds.append(HoldLine(step, body.name, held or "", hand))
        self._bodies[body.name] = body

    def _calls(self, uids: set[str]) -> tuple[CallLine, ...]:
        lines, free_s = [], dict.fromkeys(uids, self._stamps[0] if self._stamps else 0.0)
        for record in sorted(self._call_records, key=lambda d: d.ended_s):
            if record.agent not in uids:
                continue
            # An agent's calls are sequential, so one cannot start before the last has ended.
            started_s = free_s[record.agent] if record.started_s is None else record.started_s
            started = self._step_at(min(started_s, record.ended_s))
            ended = self._step_at(record.ended_s)
            lines.append(
                CallLine(record.agent, record.call, started, ended, record.code, record.text)
            )
            free_s[record.agent] = record.ended_s
        return tuple(lines)

    def _step_at(self, stamp_s: float) -> int:
        """The step of a stamp; interpolated between two states, extrapolated after the last."""
        if not self._stamps:
            return 0
        at = bisect.bisect_right(self._stamps, stamp_s + 1e-6)
        if at == 0:
            return self._steps[0]
        if at == len(self._stamps):
            return self._steps[-1]
        (t0, t1), (s0, s1) = self._stamps[at - 1 : at + 1], self._steps[at - 1 : at + 1]
        share = max(0.0, (stamp_s - t0) / (t1 - t0)) if t1 > t0 else 0.0
        return s0 + int(share * (s1 - s0) + 1e-6)


def reference_of(episode: Episode) -> Reference:
    """What an episode's criteria imply about the best solution.

    The maximum number of actions is the criteria's, or else 20 to find something, 40 to bring a
    thing somewhere, 60 for several (ETPLAN-1.4). The ground truth's length stands in for a
    person's.
    """
    criteria = episode.criteria
    if criteria is None:
        return Reference()
    things = {item.name for item in episode.objects}
    brought = {
        one
        for relation, one, _ in criteria.success
        if relation in ("INSIDE", "ON") and not things.isdisjoint(criteria.variables.get(one, ()))
    }
    plan = criteria.reference_calls or tuple(" ".join(step) for step in criteria.reference_plan)
    limit = criteria.max_actions or (20, 40, 60)[min(len(brought), 2)]
    alike = tuple(names for names in criteria.variables.values() if len(names) > 1)
    return Reference(
        actions=plan,
        most_actions=limit,
        length=len(plan) or None,
        alike=tuple(dict.fromkeys(alike)),
    )


class TracedEvaluator(Evaluator):
    """An evaluator that adds everything it judges to a trace."""

    def __init__(
        self,
        evaluation: Evaluation,
        house: House,
        initial: WorldState,
        mode: Mode = Mode.STRICT,
        *,
        builder: TraceBuilder,
        variant: Variant = Variant.BOXES,
        criteria: Criteria | None = None,
        robot: str = "agent_0",
    ) -> None:
        super().__init__(
            evaluation, house, initial, mode, variant=variant, criteria=criteria, robot=robot
        )
        self._builder = builder
        builder.propositions = self.propositions
        builder.lacking = needs(
            [w for i, w in enumerate(self._watches) if i not in evaluation.never]
        )
        builder.length = plan_length(builder.lacking, initial.entities)
        builder.state(initial, self.progress)

    def update(self, state: WorldState, changed: Collection[str] | None = None) -> Progress:
        """See `Evaluator`."""
        names = self.changes(state) if changed is None else changed
        progress = super().update(state, names)
        self._builder.state(state, progress, names)
        return progress
