"""Runs of episodes in any world whose agents have cameras, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from planner.app.composition import compose
from planner.app.run import EpisodeRun
from planner.app.time_steps import Steps
from planner.evaluation.progress import Mode
from planner.evaluation.trace_builder import TraceBuilder
from planner.memory.memory import Memory
from planner.memory.privileged import PrivilegedUpdater
from planner.memory.sightings import GT_VISIBILITY
from planner.memory.updater import MemoryUpdater
from planner.planning.planner import Planner, Task
from planner.planning.session_world import Event
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.observation import Observation
from sim_bridge.backend import Backend


def prepare_pictured(
    backend: Backend,
    house: House,
    episode: Episode,
    make_planner: Callable[[Task], Planner],
    *,
    acting: Sequence[str] = (),
    seed: int | None = None,
    on_event: Callable[[Event], None] | None = None,
    trace: TraceBuilder | None = None,
    updater: MemoryUpdater | None = None,
    watch: Callable[[Observation, Memory], None] | None = None,
    mode: Mode = Mode.STRICT,
    all_known: bool = False,
) -> EpisodeRun:
    """Loads an episode, ready to run; the memory learns from the pictures of hand cameras.

    Arguments are as of `compose`; `watch` is called with each observation, and the memory before
    its update.

    Raises:
        PlannerError: if the episode has no goal, does not fit the house, or the world's true state
            is unknown.
    """
    return compose(
        backend,
        house,
        episode,
        make_planner,
        updater or PrivilegedUpdater(backend.world_state, GT_VISIBILITY),
        lambda memory: _Observer(backend, memory, watch),
        partial(Steps, backend),
        acting=acting,
        seed=seed,
        on_event=on_event,
        trace=trace,
        mode=mode,
        all_known=all_known,
    )


@dataclass(frozen=True, slots=True)
class _Observer:
    """See `planner.app.time_steps.Observer`."""

    backend: Backend
    memory: Memory
    watch: Callable[[Observation, Memory], None] | None

    def look(self, agent: str) -> None:
        """Updates the memory with what the agent senses now."""
        observation = self.backend.observe(agent, ("hand",))
        if self.watch is not None:
            self.watch(observation, self.memory)
        self.memory.observe(observation)

    def redundant_frames(self, seconds: Sequence[float]) -> int:  # noqa: ARG002 - no foresight
        """Always 0: no frame is known to be redundant."""
        return 0

    def pass_over(self, seconds: float) -> None:
        """Does nothing: no frame is skipped."""
