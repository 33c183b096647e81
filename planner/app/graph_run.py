"""Runs episodes in worlds without images: the usual skills, memory and evaluator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from planner.app.composition import compose
from planner.app.run import EpisodeRun
from planner.app.run_options import USUAL, RunOptions
from planner.app.time_steps import Foresight, Observer, Steps
from planner.memory.memory import Memory
from planner.memory.privileged import PrivilegedUpdater
from planner.memory.sightings import GT_VISIBILITY, Visibility
from planner.planning.planner import Planner, Task
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.observation import Sighting
from sim_bridge.backend import SightedBackend
from sim_bridge.graph.backend import GraphBackend


def prepare_graph(
    backend: SightedBackend,
    house: House,
    episode: Episode,
    make_planner: Callable[[Task], Planner],
    options: RunOptions = USUAL,
    *,
    visibility: Visibility = GT_VISIBILITY,
) -> EpisodeRun:
    """Loads an episode, ready to run; the memory learns what the world says that agents see.

    `visibility` says what of that counts as seen. In the graph world, the usual memory updates
    what it knows already each `planner.memory.privileged.CONFIRM_S` only.

    Raises:
        PlannerError: if the episode has no goal, or does not fit the house.
    """
    make_observer: Callable[[Memory], Observer] = partial(_Observer, backend)
    updater = PrivilegedUpdater(backend.world_state, visibility)
    if options.updater is None and isinstance(backend, GraphBackend):
        updater = watchful = _watchful(backend, visibility)
        make_observer = partial(_GraphObserver, backend, watchful)
    return compose(
        backend,
        house,
        episode,
        make_planner,
        updater,
        make_observer,
        partial(Foresight, backend, leaper=backend)
        if options.leaps and isinstance(backend, GraphBackend)
        else partial(Steps, backend),
        options,
    )


def _watchful(backend: GraphBackend, visibility: Visibility) -> PrivilegedUpdater:
    """An updater that looks only where there is something new to see."""

    def glimpse(agent: str, names: Sequence[str]) -> Sequence[Sighting]:
        seen = [one.name for one in backend.sightings_among(agent, names)]
        if not seen:
            return []
        state = backend.world_state()
        entities = state.entities if state is not None else {}
        under = {entities[name].parent for name in seen}
        wanted = {*seen, *under}
        # In the world's order, in which things get their numbers.
        return list(backend.sightings_among(agent, [name for name in entities if name in wanted]))

    return PrivilegedUpdater(
        backend.world_state,
        visibility,
        sightings=backend.sightings_now,
        in_view=lambda agent, names: any(
            map(visibility.shows, backend.sightings_among(agent, names))
        ),
        handled=lambda: backend.handled_revision,
        glimpse=glimpse,
        show_none=lambda names, seconds: backend.looks_seeing_none(
            names, seconds, visibility.shows
        ),
    )


@dataclass(frozen=True, slots=True)
class _Observer:
    """See `planner.app.time_steps.Observer`."""

    backend: SightedBackend
    memory: Memory

    def look(self, agent: str) -> None:
        """Updates the memory with what the agent senses now."""
        seen = replace(self.backend.observe(agent), sightings=self.backend.sightings_now(agent))
        self.memory.observe(seen)

    def redundant_frames(self, seconds: object) -> int:  # noqa: ARG002 - no foresight
        """Always 0: no frame is known to be redundant."""
        return 0

    def pass_over(self, seconds: float) -> None:
        """Does nothing: no frame is skipped."""


@dataclass(frozen=True, slots=True)
class _GraphObserver:
    """See `planner.app.time_steps.Observer`; a look at nothing new costs next to nothing."""

    backend: GraphBackend
    privileged: PrivilegedUpdater
    memory: Memory

    def look(self, agent: str) -> None:
        """Updates the memory with what the agent senses now."""
        now_s = self.backend.now_s()
        if self.privileged.needs_look(agent, now_s, self.memory.entities):
            self.memory.observe(self.backend.observe(agent))
            return
        base_m, heading_rad, holds = self.backend.localised_position(agent)
        self.memory.note_self(agent, base_m, now_s, holds=holds, heading_rad=heading_rad)

    def redundant_frames(self, seconds: Sequence[float]) -> int:
        """The number of coming frames that certainly will not change the memory."""
        backend, known = self.backend, self.memory.entities
        if backend.is_idle:
            # Whoever waits for news waits for the next frame.
            return 0
        return self.privileged.redundant_frames(backend.agents, backend.now_s(), seconds, known)

    def pass_over(self, seconds: float) -> None:
        """Tells the memory that all agents looked `seconds` from now, and from where."""
        backend = self.backend
        for agent in backend.agents:
            base_m, heading_rad, holds = backend.predicted_position(agent, seconds)
            at_s = backend.now_s() + seconds
            self.memory.note_self(agent, base_m, at_s, holds=holds, heading_rad=heading_rad)
