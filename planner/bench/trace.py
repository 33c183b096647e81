"""The trace of a run in this process, in the format that all metrics read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from planner.bench.run import Event, RunResult
from planner.evaluation.progress import Progress
from planner.evaluation.trace import EpisodeTrace
from planner.evaluation.trace_builder import Decided, TraceBuilder
from planner.replay.state_log import StateLogWriter
from planner.world.episode import Episode
from planner.world.state import WorldState


class LoggedTrace(TraceBuilder):
    """Also writes every state that is judged, so that `planner evaluate` can judge it again."""

    def __init__(self, log: StateLogWriter) -> None:
        super().__init__()
        self._log = log

    def state(
        self, state: WorldState, progress: Progress, changed: Collection[str] | None = None
    ) -> None:
        """As `TraceBuilder`."""
        self._log.write(state)
        super().state(state, progress, changed)


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
