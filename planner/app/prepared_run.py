"""Prepares runs in whichever in-process world there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from planner.app.embedded_run import prepare_embedded
from planner.app.graph_run import prepare_graph
from planner.app.pictured_run import prepare_pictured
from planner.app.run import EpisodeRun
from planner.app.run_options import USUAL, RunOptions
from planner.memory.sightings import GT_VISIBILITY, PARTNR_VISIBILITY
from planner.planning.planner import Planner, Task
from planner.world.episode import Episode
from planner.world.house import House
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
    options: RunOptions = USUAL,
) -> EpisodeRun:
    """Loads an episode and returns it ready to run.

    Raises:
        PlannerError: if the episode has no goal, or does not fit the house.
    """
    if isinstance(backend, KinematicBackend):
        return prepare_embedded(backend, house, episode, make_planner, options)
    if _sees_by_itself(backend):
        # All of a rescue scene that can be seen at all is seen from everywhere (LLAMAR-A2).
        far = isinstance(backend, RescueBackend)
        visibility = PARTNR_VISIBILITY if far else GT_VISIBILITY
        return prepare_graph(backend, house, episode, make_planner, options, visibility=visibility)
    return prepare_pictured(backend, house, episode, make_planner, options)


def _sees_by_itself(backend: Backend) -> TypeGuard[SightedBackend]:
    return isinstance(backend, SightingSource)
