"""Backend `embedded`: the simulator of this project."""

from pathlib import Path

from planner.world.files import read_model
from sim_bridge.backend import Backend
from sim_bridge.part import BackendPart


def _make(settings: Path | None) -> Backend:
    # MuJoCo and OpenGL are loaded only if this backend is used.
    from sim_bridge.embedded.backend import EmbeddedBackend
    from sim_bridge.embedded.options import EmbeddedOptions

    return EmbeddedBackend(None if settings is None else read_model(settings, EmbeddedOptions))


BACKEND = BackendPart(
    summary="simulator of this project, nothing to install", make=_make, simulated=True
)
