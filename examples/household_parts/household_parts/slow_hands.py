"""Backend `slow_hands`: the embedded simulator with manipulation taking twice as long."""

from pathlib import Path

from planner.world.files import read_model
from sim_bridge.backend import Backend, BackendPart


def _make(settings: Path | None) -> Backend:
    from sim_bridge.embedded.backend import EmbeddedBackend
    from sim_bridge.embedded.options import EmbeddedOptions, default_options

    options = default_options() if settings is None else read_model(settings, EmbeddedOptions)
    usual = options.durations
    slow = usual.model_copy(update={"pick": 2 * usual.pick, "place": 2 * usual.place})
    return EmbeddedBackend(options.model_copy(update={"durations": slow}))


BACKEND = BackendPart(summary="the simulator with slow hands", make=_make, simulated=True)
