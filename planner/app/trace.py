"""The trace of a run in this process, in the format that all metrics read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from planner.app.run import RunResult
from planner.evaluation.progress import Progress
from planner.evaluation.trace import EpisodeTrace
from planner.evaluation.trace_builder import DecisionRecord, TraceBuilder
from planner.models.trace import ModelCall
from planner.planning.session_world import Event
from planner.world.episode import Episode
from planner.world.state import WorldState

StateListener: TypeAlias = Callable[[WorldState, Progress], None]


class ObservedTrace(TraceBuilder):
    """Also passes every judged state and its progress to listeners."""

    def __init__(self, *listeners: StateListener) -> None:
        super().__init__()
        self._listeners = list(listeners)

    def add_listener(self, listener: StateListener) -> None:
        """Adds a listener for the states that follow."""
        self._listeners.append(listener)

    def state(
        self, state: WorldState, progress: Progress, changed: Collection[str] | None = None
    ) -> None:
        """See `TraceBuilder`."""
        for listener in self._listeners:
            listener(state, progress)
        super().state(state, progress, changed)


def decision_record(call: ModelCall, stamp_s: float) -> DecisionRecord:
    """A model call as a trace record; `stamp_s` of the world's clock."""
    usage = call.usage
    return DecisionRecord(
        stamp_s,
        call.planner,
        call.agents,
        call.cycle,
        call.model,
        usage.prompt_tokens,
        usage.reply_tokens,
        call.error,
    )


def traced(
    builder: TraceBuilder,
    episode: Episode,
    result: RunResult,
    *,
    planner: str,
    seed: int | None = None,
    acting: Sequence[str] = (),
    decisions: Sequence[DecisionRecord] = (),
) -> EpisodeTrace:
    """The trace of a run whose evaluator fed the builder (`run_embedded(trace=builder)`).

    `decisions` are the model calls. Without a model, each time at which calls started counts as a
    decision, since decisions that start nothing leave no event.
    """
    began: dict[str, Event] = {}
    moments: dict[float, list[str]] = {}
    for event in result.events:
        if event.result is None:
            began[event.agent] = event
            moments.setdefault(event.stamp_s, []).append(event.agent)
        else:
            start = began.pop(event.agent)
            builder.add_call(event.agent, event.call, event.result, event.stamp_s, start.stamp_s)
    for decision in decisions:
        builder.add_decision(decision)
    for cycle, (stamp_s, _agents) in enumerate(() if decisions else moments.items(), start=1):
        builder.add_decision(DecisionRecord(stamp_s, planner, tuple(acting), cycle))
    return builder.finish(
        episode, result.verdict, planner=planner, seed=seed, reason=result.reason, acting=acting
    )
