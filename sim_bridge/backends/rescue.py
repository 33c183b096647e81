"""Backend `rescue`: search and rescue on a grid, by joint steps."""

from pathlib import Path

from planner.world.files import read_model
from sim_bridge.backend import Backend
from sim_bridge.part import BackendPart


def _make(settings: Path | None) -> Backend:
    from sim_bridge.rescue.backend import RescueBackend
    from sim_bridge.rescue.options import RescueOptions

    return RescueBackend(None if settings is None else read_model(settings, RescueOptions))


BACKEND = BackendPart(
    summary="search and rescue: fires, supplies and lost persons on a grid, no pictures",
    make=_make,
    simulated=True,
    has_pictures=False,
)
