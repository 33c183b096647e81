"""Backend `external`: a robot that other software drives, observed and sent no motion."""

from pathlib import Path

from planner.world.files import read_model
from sim_bridge.backend import Backend
from sim_bridge.part import BackendPart


def _make(settings: Path | None) -> Backend:
    # ROS is loaded only if this backend is used.
    from sim_bridge.external.node import make_backend
    from sim_bridge.external.options import ExternalOptions

    return make_backend(None if settings is None else read_model(settings, ExternalOptions))


BACKEND = BackendPart(
    summary="a robot that other software drives; observed only", make=_make, simulated=False
)
