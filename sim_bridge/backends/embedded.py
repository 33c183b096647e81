"""Backend `embedded`: the simulator of this project."""

from pathlib import Path

from planner.world.files import read_model
from sim_bridge.backend import Backend
from sim_bridge.part import BackendPart, Drawn


def _make(settings: Path | None) -> Backend:
    # MuJoCo and OpenGL are loaded only if this backend is used.
    from sim_bridge.embedded.backend import EmbeddedBackend
    from sim_bridge.embedded.options import EmbeddedOptions

    return EmbeddedBackend(None if settings is None else read_model(settings, EmbeddedOptions))


def _make_for(settings: Path | None, drawn: Drawn) -> Backend:
    from sim_bridge.embedded.backend import EmbeddedBackend
    from sim_bridge.embedded.options import EmbeddedOptions, default_options

    options = default_options() if settings is None else read_model(settings, EmbeddedOptions)
    update = {"instances": drawn.instances} | ({} if drawn.pictures else {"renderer": "none"})
    return EmbeddedBackend(options.model_copy(update=update))


BACKEND = BackendPart(
    summary="simulator of this project, nothing to install",
    make=_make,
    make_for=_make_for,
    simulated=True,
)
