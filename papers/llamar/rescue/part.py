"""The record of the backend of the rescue grid."""

from pathlib import Path

from papers.llamar.rescue.scenes import scene_names
from planner.world.files import read_model
from sim_bridge.backend import Backend
from sim_bridge.part import BackendPart


def _make(settings: Path | None) -> Backend:
    from papers.llamar.rescue.backend import RescueBackend, RescueOptions

    return RescueBackend(None if settings is None else read_model(settings, RescueOptions))


RESCUE = BackendPart(
    summary="search and rescue: fires, supplies and lost persons on a grid, no pictures",
    make=_make,
    simulated=True,
    has_pictures=False,
    own_houses=scene_names,
)
