"""Runs of episodes in each in-process world: embedded simulator, graph world, any with cameras."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeGuard, runtime_checkable

from planner.app.run import EpisodeRun, RunResult, WordsEvaluator
from planner.app.run_options import USUAL, Foresight, Judge, Observer, RunOptions, Steps
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import evaluation_of
from planner.evaluation.trace_builder import TracedEvaluator
from planner.memory.memory import Memory
from planner.memory.privileged import PrivilegedUpdater
from planner.memory.sightings import FULL_VISIBILITY, GT_VISIBILITY, Visibility
from planner.memory.updater import MemoryUpdater
from planner.planning.planner import Planner, Task, terms_of
from planner.planning.planner_inputs import full_belief
from planner.planning.session import OnGoal, ignore_goal
from planner.world.belief import Belief
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.observation import Observation, Sighting
from planner.world.state import WorldState
from sim_bridge.backend import BACKENDS, Backend, SightedBackend, SightingSource
from sim_bridge.embedded.kinematic import KinematicBackend
from sim_bridge.graph.backend import GraphBackend
from sim_bridge.stepped import PicturelessBackend

# What runs in every simulator have in common: an episode with its memory, task and evaluator.


def compose(
    backend: Backend,
    house: House,
    episode: Episode,
    make_planner: Callable[[Task], Planner],
    updater: MemoryUpdater,
    make_observer: Callable[[Memory], Observer],
    make_steps: Callable[[Memory, Judge, Observer | None], Steps],
    options: RunOptions,
) -> EpisodeRun:
    """Loads an episode and returns it ready to run.

    Args:
        backend: may have run other episodes before.
        house: the episode's.
        episode: with an evaluation, criteria, or else an instruction in words, which is judged by
            what the planner has understood.
        make_planner: makes the planner for the task.
        updater: of the memory, where the options name none.
        make_observer: the agents' cameras, which feed this memory; unused with `all_known`.
        make_steps: advances time.
        options: of the run.

    Raises:
        PlannerError: if the episode has no goal, or does not fit the house.
    """
    has_words_only = episode.evaluation is None and episode.criteria is None
    evaluation = evaluation_of(episode) if not (has_words_only and episode.instruction) else None
    used_seed = episode.seed if options.seed is None else options.seed
    backend.reset(house, episode, used_seed)
    initial = backend.world_state()
    if initial is None:
        raise PlannerError(f"{episode.episode_id}: the backend provides no world state")
    kinds = {placement.uid: placement.kind for placement in episode.agents}
    updater = options.updater or updater
    memory = Memory(house, updater, agents=kinds, episode=episode.episode_id)
    task = Task(
        instruction=episode.instruction,
        agents=tuple(options.acting) or backend.agents,
        goal=episode.evaluation,
        seed=used_seed,
        terms=terms_of(episode),
    )
    robot = episode.agents[0].uid
    trace, mode = options.trace, options.mode
    evaluator: Judge
    on_goal: OnGoal = ignore_goal
    if evaluation is None:
        evaluator = words = WordsEvaluator(house, initial, robot, trace)
        on_goal = words.take_goal
    else:
        criteria = episode.criteria
        evaluator = (
            Evaluator(evaluation, house, initial, mode, criteria=criteria, robot=robot)
            if trace is None
            else TracedEvaluator(
                evaluation, house, initial, mode, builder=trace, criteria=criteria, robot=robot
            )
        )
    return EpisodeRun(
        backend=backend,
        house=house,
        task=task,
        planner=make_planner(task),
        memory=memory,
        evaluator=evaluator,
        steps=make_steps(memory, evaluator, None if options.all_known else make_observer(memory)),
        on_event=options.on_event,
        on_goal=on_goal,
        all_known=_Truth(backend).belief if options.all_known else None,
    )


class _Truth:
    """A belief equal to ground truth, rebuilt only when the state has changed."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._known: tuple[WorldState, Belief] | None = None

    def belief(self) -> Belief:
        """Every entity as it is now."""
        state = self._backend.world_state()
        if state is None:
            raise PlannerError("the backend provides no world state")
        if self._known is None or self._known[0] is not state:
            self._known = (state, full_belief(state))
        return self._known[1]


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
        lambda memory: _EmbeddedObserver(backend, privileged, memory, cameras, options.watch),
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


def _pass_over(backend: KinematicBackend | GraphBackend, memory: Memory, seconds: float) -> None:
    """Tells the memory that all agents looked `seconds` from now, and from where."""
    for agent in backend.agents:
        base_m, heading_rad, holds = backend.predicted_position(agent, seconds)
        at_s = backend.now_s() + seconds
        memory.note_self(agent, base_m, at_s, holds=holds, heading_rad=heading_rad)


@dataclass(frozen=True, slots=True)
class _EmbeddedObserver:
    """See `planner.app.run_options.Observer`; `watch` is called for every frame."""

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
        _pass_over(self.backend, self.memory, seconds)


# Runs episodes in worlds without images: the usual skills, memory and evaluator.


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
    make_observer: Callable[[Memory], Observer] = partial(_SightedObserver, backend)
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


class _NoForesight:
    """What observers share that know of no frame that it is redundant."""

    def redundant_frames(self, seconds: Sequence[float]) -> int:  # noqa: ARG002
        """Always 0."""
        return 0

    def pass_over(self, seconds: float) -> None:
        """Does nothing: no frame is skipped."""


@dataclass(frozen=True, slots=True)
class _SightedObserver(_NoForesight):
    """See `planner.app.run_options.Observer`."""

    backend: SightedBackend
    memory: Memory

    def look(self, agent: str) -> None:
        """Updates the memory with what the agent senses now."""
        seen = replace(self.backend.observe(agent), sightings=self.backend.sightings_now(agent))
        self.memory.observe(seen)


@dataclass(frozen=True, slots=True)
class _GraphObserver:
    """See `planner.app.run_options.Observer`; a look at nothing new costs next to nothing."""

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
        _pass_over(self.backend, self.memory, seconds)


# Runs of episodes in any world whose agents have cameras, step by step.


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
        lambda memory: _PicturedObserver(backend, memory, options.watch),
        partial(Steps, backend),
        options,
    )


@dataclass(frozen=True, slots=True)
class _PicturedObserver(_NoForesight):
    """See `planner.app.run_options.Observer`."""

    backend: Backend
    memory: Memory
    watch: Callable[[Observation, Memory], None] | None

    def look(self, agent: str) -> None:
        """Updates the memory with what the agent senses now."""
        observation = self.backend.observe(agent, ("hand",))
        if self.watch is not None:
            self.watch(observation, self.memory)
        self.memory.observe(observation)


# Prepares runs in whichever in-process world there is.


def usual_backend(house: House) -> str:
    """The name of the backend in which a house is run if none is named."""
    for name, part in BACKENDS.usable().items():
        if house.name in part.own_houses():
            return name
    return "embedded" if house.graph is None else "graph"


def prepare_run(
    backend: Backend,
    house: House,
    episode: Episode,
    make_planner: Callable[[Task], Planner],
    options: RunOptions = USUAL,
) -> EpisodeRun:
    """Loads an episode and returns it ready to run.

    Raises:
        PlannerError: if the episode has no goal, or does not fit the house.
    """
    if isinstance(backend, KinematicBackend):
        return prepare_embedded(backend, house, episode, make_planner, options)
    if _sees_by_itself(backend):
        far = isinstance(backend, PicturelessBackend) and backend.sees_far
        visibility = FULL_VISIBILITY if far else GT_VISIBILITY
        return prepare_graph(backend, house, episode, make_planner, options, visibility=visibility)
    return prepare_pictured(backend, house, episode, make_planner, options)


def _sees_by_itself(backend: Backend) -> TypeGuard[SightedBackend]:
    return isinstance(backend, SightingSource)
