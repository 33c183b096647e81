"""Runs of episodes in any world whose agents have cameras, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from planner.app.composition import compose
from planner.app.run import EpisodeRun
from planner.app.run_options import USUAL, RunOptions
from planner.app.time_steps import Steps
from planner.memory.memory import Memory
from planner.memory.privileged import PrivilegedUpdater
from planner.memory.sightings import GT_VISIBILITY
from planner.planning.planner import Planner, Task
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.observation import Observation
from sim_bridge.backend import Backend


def prepare_pictured(
    backend: Backend,
    house: House,
    episode: Episode,
    make_planner: Callable[[Task], Planner],
    options: RunOptions = USUAL,
) -> EpisodeRun:
    """Loads an episode, ready to run; the memory learns from the pictures of hand cameras.

    Raises:
        PlannerError: if the episode has no goal, does not fit the house, or the world's true state
            is unknown.
    """
    return compose(
        backend,
        house,
        episode,
        make_planner,
        PrivilegedUpdater(backend.world_state, GT_VISIBILITY),
        lambda memory: _Observer(backend, memory, options.watch),
        partial(Steps, backend),
        options,
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
