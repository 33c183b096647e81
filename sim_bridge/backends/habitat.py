"""Backend `habitat`: habitat-sim, in this process or another environment's."""

from pathlib import Path

from planner.world.files import read_model
from sim_bridge.backend import Backend
from sim_bridge.part import BackendPart


def _make(settings: Path | None) -> Backend:
    from sim_bridge.habitat.backend import HabitatBackend
    from sim_bridge.habitat.options import HabitatOptions

    return HabitatBackend(None if settings is None else read_model(settings, HabitatOptions))


BACKEND = BackendPart(summary="Habitat", make=_make, simulated=True, shows_datasets=True)
