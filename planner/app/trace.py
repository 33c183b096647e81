"""The trace of a run in this process, in the format that all metrics read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from planner.app.run import RunResult
from planner.evaluation.progress import Progress
from planner.evaluation.trace import EpisodeTrace
from planner.evaluation.trace_builder import Decided, TraceBuilder
from planner.models.trace import ModelCall
from planner.planning.session_world import Event
from planner.world.episode import Episode
from planner.world.state import WorldState

Hear: TypeAlias = Callable[[WorldState, Progress], None]


class ObservedTrace(TraceBuilder):
    """Others hear every state that is judged, too, with how the task stands in it."""

    def __init__(self, *hearers: Hear) -> None:
        super().__init__()
        self._hearers = list(hearers)

    def hear(self, hearer: Hear) -> None:
        """Adds one who hears the states that follow."""
        self._hearers.append(hearer)

    def state(
        self, state: WorldState, progress: Progress, changed: Collection[str] | None = None
    ) -> None:
        """As `TraceBuilder`."""
        for hearer in self._hearers:
            hearer(state, progress)
        super().state(state, progress, changed)


def decided(call: ModelCall, stamp_s: float) -> Decided:
    """A call of a model as the trace has it; `stamp_s` of the world's clock."""
    usage = call.usage
    return Decided(
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
    decided: Sequence[Decided] = (),
) -> EpisodeTrace:
    """The trace of a run whose judge told the builder (`run_embedded(trace=builder)`).

    `decided` has the calls of a model. Without one a decision is a moment at which calls began:
    planners that are asked and start nothing leave no event.
    """
    began: dict[str, Event] = {}
    moments: dict[float, list[str]] = {}
    for event in result.events:
        if event.result is None:
            began[event.agent] = event
            moments.setdefault(event.stamp_s, []).append(event.agent)
        else:
            start = began.pop(event.agent)
            builder.deed(event.agent, event.call, event.result, event.stamp_s, start.stamp_s)
    for decision in decided:
        builder.decided(decision)
    for cycle, (stamp_s, _agents) in enumerate(() if decided else moments.items(), start=1):
        builder.decided(Decided(stamp_s, planner, tuple(acting), cycle))
    return builder.finish(
        episode, result.verdict, planner=planner, seed=seed, reason=result.reason, acting=acting
    )
