"""Prepares runs in whichever in-process world there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from planner.app.embedded_run import prepare_embedded
from planner.app.graph_run import prepare_graph
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
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.graph.backend import GraphBackend
from sim_bridge.rescue.backend import RescueBackend

InProcessBackend: TypeAlias = EmbeddedBackend | GraphBackend | RescueBackend


def prepare_run(
    backend: InProcessBackend,
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

    Arguments are as of `prepare_embedded`; other worlds have no images, with or without `images`.

    Raises:
        PlannerError: if the episode has no goal, or does not fit the house.
    """
    if not isinstance(backend, EmbeddedBackend):
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
