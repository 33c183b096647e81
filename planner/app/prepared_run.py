"""Prepares runs in whichever in-process world there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from planner.app.embedded_run import prepare_embedded
from planner.app.graph_run import prepare_graph
from planner.app.pictured_run import prepare_pictured
from planner.app.run import EpisodeRun
from planner.evaluation.progress import Mode
from planner.evaluation.trace_builder import TraceBuilder
from planner.memory.memory import Memory
from planner.memory.sightings import GT_VISIBILITY, PARTNR_VISIBILITY
from planner.memory.updater import MemoryUpdater
from planner.planning.planner import Planner, Task
from planner.planning.session_world import Event
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.observation import Observation
from sim_bridge.backend import Backend, SightedBackend, SightingSource
from sim_bridge.embedded.kinematic import KinematicBackend
from sim_bridge.rescue.backend import RescueBackend
from sim_bridge.rescue.scenes import scene_names


def usual_backend(house: House) -> str:
    """The name of the backend in which a house is run if none is named."""
    if house.graph is None:
        return "embedded"
    return "rescue" if house.name in scene_names() else "graph"


def prepare_run(
    backend: Backend,
    house: House,
    episode: Episode,
    make_planner: Callable[[Task], Planner],
    *,
    acting: Sequence[str] = (),
    seed: int | None = None,
    images: bool = True,
    on_event: Callable[[Event], None] | None = None,
    trace: TraceBuilder | None = None,
    updater: MemoryUpdater | None = None,
    mode: Mode = Mode.STRICT,
    all_known: bool = False,
    watch: Callable[[Observation, Memory], None] | None = None,
) -> EpisodeRun:
    """Loads an episode and returns it ready to run.

    Arguments are as of `prepare_embedded`. A world without pictures has none, with or without
    `images`; one that knows what is visible only by drawing it always has them.

    Raises:
        PlannerError: if the episode has no goal, or does not fit the house.
    """
    if isinstance(backend, KinematicBackend):
        return prepare_embedded(
            backend,
            house,
            episode,
            make_planner,
            acting=acting,
            seed=seed,
            images=images,
            on_event=on_event,
            trace=trace,
            updater=updater,
            watch=watch,
            mode=mode,
            all_known=all_known,
        )
    if _sees_by_itself(backend):
        # All of a rescue scene that can be seen at all is seen from everywhere (LLAMAR-A2).
        far = isinstance(backend, RescueBackend)
        return prepare_graph(
            backend,
            house,
            episode,
            make_planner,
            acting=acting,
            seed=seed,
            on_event=on_event,
            trace=trace,
            updater=updater,
            mode=mode,
            all_known=all_known,
            visibility=PARTNR_VISIBILITY if far else GT_VISIBILITY,
        )
    return prepare_pictured(
        backend,
        house,
        episode,
        make_planner,
        acting=acting,
        seed=seed,
        on_event=on_event,
        trace=trace,
        updater=updater,
        watch=watch,
        mode=mode,
        all_known=all_known,
    )


def _sees_by_itself(backend: Backend) -> TypeGuard[SightedBackend]:
    return isinstance(backend, SightingSource)
