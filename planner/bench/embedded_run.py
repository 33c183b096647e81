"""Runs of episodes on the embedded simulator, with or without images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from planner.bench.run import EpisodeRun, Event, RunResult, say_nothing
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.trace_builder import TraceBuilder, TracedEvaluator
from planner.memory.memory import Memory
from planner.memory.privileged import PrivilegedUpdater
from planner.memory.sightings import GT_VISIBILITY
from planner.planning.planner import Planner, Task
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from sim_bridge.embedded.backend import EmbeddedBackend


def run_embedded(
    backend: EmbeddedBackend,
    house: House,
    episode: Episode,
    make_planner: Callable[[Task], Planner],
    *,
    agents: int = 0,
    seed: int | None = None,
    images: bool = True,
    tell: Callable[[Event], None] | None = None,
    leaps: bool = True,
    trace: TraceBuilder | None = None,
) -> RunResult:
    """Runs one episode from its start to its verdict.

    Args:
        backend: may have run other episodes before.
        house: the episode's.
        episode: with an evaluation.
        make_planner: makes the planner of the task.
        agents: how many of the episode's agents act; 0 = all.
        seed: instead of the episode's.
        images: whether the memory looks at pictures; without, rays tell what a camera shows.
        tell: hears each event as it happens.
        leaps: whether steps in which nothing happens are taken in one go; the events, their
            times and the verdict are the same without, only later.
        trace: hears each state and how the task stands in it.

    Raises:
        PlannerError: where the episode has no evaluation, or does not fit the house.
    """
    if episode.evaluation is None:
        raise PlannerError(f"{episode.episode_id}: has no evaluation, so nothing can be judged")
    backend.reset(house, episode, episode.seed if seed is None else seed)
    initial = backend.world_state()
    if initial is None:
        raise PlannerError(f"{episode.episode_id}: the world tells no state")
    limits = GT_VISIBILITY
    glance = partial(
        backend.sightings, farthest_m=limits.farthest_m, least_fraction=limits.least_fraction
    )

    def shows_any(agent: str, names: Sequence[str]) -> bool:
        return backend.shows_any(agent, names, limits.farthest_m, limits.least_fraction)

    updater = PrivilegedUpdater(
        backend.world_state,
        limits,
        sightings=None if images else glance,
        in_view=None if images else shows_any,
    )
    kinds = {placement.uid: placement.kind for placement in episode.agents}
    memory = Memory(house, updater, agents=kinds, episode=episode.episode_id)
    cameras = ("hand",) if images else ()

    def look(agent: str) -> None:
        memory.observe(backend.observe(agent, cameras))

    task = Task(
        instruction=episode.instruction,
        agents=backend.agents[: agents or None],
        goal=episode.evaluation,
        seed=episode.seed,
    )
    evaluation = read_evaluation(episode.evaluation, episode.episode_id)
    evaluator = (
        Evaluator(evaluation, house, initial)
        if trace is None
        else TracedEvaluator(evaluation, house, initial, builder=trace)
    )
    run = EpisodeRun(
        backend=backend,
        house=house,
        task=task,
        planner=make_planner(task),
        memory=memory,
        evaluator=evaluator,
        look=look,
        tell=tell or say_nothing,
        leaper=backend if leaps else None,
    )
    return run.run()
