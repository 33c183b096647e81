"""Runs of episodes on simulators with the kinematic rules, with or without images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, runtime_checkable

from planner.app.composition import compose
from planner.app.run import EpisodeRun, RunResult
from planner.app.run_options import USUAL, RunOptions
from planner.app.time_steps import Foresight, Steps
from planner.memory.memory import Memory
from planner.memory.privileged import PrivilegedUpdater
from planner.memory.sightings import GT_VISIBILITY, Visibility
from planner.planning.planner import Planner, Task
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.observation import Observation, Sighting
from sim_bridge.embedded.kinematic import KinematicBackend


@runtime_checkable
class RaySource(Protocol):
    """A simulator that computes what agents see without drawing it; see `EmbeddedBackend`."""

    def sightings(
        self, agent: str, max_distance_m: float = 6.0, min_fraction: float = 0.0
    ) -> list[Sighting]:
        """What an agent sees now."""

    def sees_any(
        self, agent: str, names: Sequence[str], max_distance_m: float, min_fraction: float
    ) -> bool:
        """Whether it sees any of some entities."""

    def sightings_among(
        self, agent: str, names: Sequence[str], max_distance_m: float, min_fraction: float
    ) -> list[Sighting]:
        """Which of some entities it sees."""

    def looks_seeing_none(
        self,
        names: Sequence[str],
        seconds: Sequence[float],
        max_distance_m: float,
        min_fraction: float,
    ) -> int:
        """The number of coming looks in which no agent sees any of some entities."""


def run_embedded(
    backend: KinematicBackend,
    house: House,
    episode: Episode,
    make_planner: Callable[[Task], Planner],
    options: RunOptions = USUAL,
    *,
    agents: int = 0,
) -> RunResult:
    """Runs one episode from start to verdict, by the first `agents`; 0 = by those that act."""
    if agents:
        options = replace(options, acting=backend_agents(episode)[:agents])
    return prepare_embedded(backend, house, episode, make_planner, options).run()


def backend_agents(episode: Episode) -> tuple[str, ...]:
    """The names of an episode's agents, in its order."""
    return tuple(placement.uid for placement in episode.agents)


def prepare_embedded(
    backend: KinematicBackend,
    house: House,
    episode: Episode,
    make_planner: Callable[[Task], Planner],
    options: RunOptions = USUAL,
) -> EpisodeRun:
    """Loads an episode and returns it ready to run.

    Raises:
        PlannerError: if the episode has no goal, or does not fit the house.
    """
    rays = backend if isinstance(backend, RaySource) else None
    images = options.images or rays is None
    if options.updater is not None and not images:
        raise PlannerError(f"memory {options.updater.name} needs images, and the run has none")
    limits = GT_VISIBILITY
    privileged = (
        PrivilegedUpdater(backend.world_state, limits)
        if images or rays is None
        else _by_rays(backend, rays, limits)
    )
    cameras = ("hand",) if images else ()
    return compose(
        backend,
        house,
        episode,
        make_planner,
        privileged,
        lambda memory: _Observer(backend, privileged, memory, cameras, options.watch),
        partial(Foresight, backend, leaper=backend) if options.leaps else partial(Steps, backend),
        options,
    )


def _by_rays(backend: KinematicBackend, rays: RaySource, limits: Visibility) -> PrivilegedUpdater:
    """A memory updater that asks the simulator what agents see."""
    glance = partial(
        rays.sightings, max_distance_m=limits.max_distance_m, min_fraction=limits.min_fraction
    )

    def shows_any(agent: str, names: Sequence[str]) -> bool:
        return rays.sees_any(agent, names, limits.max_distance_m, limits.min_fraction)

    def glimpse(agent: str, names: Sequence[str]) -> Sequence[Sighting]:
        return rays.sightings_among(agent, names, limits.max_distance_m, limits.min_fraction)

    def show_none(names: Sequence[str], seconds: Sequence[float]) -> int:
        return rays.looks_seeing_none(names, seconds, limits.max_distance_m, limits.min_fraction)

    return PrivilegedUpdater(
        backend.world_state,
        limits,
        sightings=glance,
        in_view=shows_any,
        handled=lambda: backend.handled_revision,
        glimpse=glimpse,
        show_none=None if backend.is_noisy else show_none,
    )


@dataclass(frozen=True, slots=True)
class _Observer:
    """See `planner.app.time_steps.Observer`; `watch` is called for every frame."""

    backend: KinematicBackend
    privileged: PrivilegedUpdater
    memory: Memory
    cameras: Sequence[str]
    watch: Callable[[Observation, Memory], None] | None

    def look(self, agent: str) -> None:
        """Updates the memory with what the agent senses now."""
        now_s, memory = self.backend.now_s(), self.memory
        if self.watch is None and not self.privileged.needs_look(agent, now_s, memory.entities):
            base_m, heading_rad, holds = self.backend.localised_position(agent)
            memory.note_self(agent, base_m, now_s, holds=holds, heading_rad=heading_rad)
            return
        observation = self.backend.observe(agent, self.cameras)
        if self.watch is not None:
            self.watch(observation, memory)
        memory.observe(observation)

    def redundant_frames(self, seconds: Sequence[float]) -> int:
        """The number of coming frames that certainly will not change the memory.

        `seconds` are the frames' times from now; counting ends at the first that might.
        """
        if self.watch is not None:
            return 0
        backend, known = self.backend, self.memory.entities
        return self.privileged.redundant_frames(backend.agents, backend.now_s(), seconds, known)

    def pass_over(self, seconds: float) -> None:
        """Tells the memory that all agents looked `seconds` from now, and from where."""
        backend = self.backend
        for agent in backend.agents:
            base_m, heading_rad, holds = backend.predicted_position(agent, seconds)
            at_s = backend.now_s() + seconds
            self.memory.note_self(agent, base_m, at_s, holds=holds, heading_rad=heading_rad)
