"""The worlds that the bridge can stand in front of, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from planner.world.errors import PlannerError
from planner.world.files import read_model
from sim_bridge.backend import Backend


def _embedded(settings: Path | None) -> Backend:
    # MuJoCo and OpenGL are loaded only by those who ask for this backend.
    from sim_bridge.embedded.backend import EmbeddedBackend
    from sim_bridge.embedded.options import EmbeddedOptions

    return EmbeddedBackend(None if settings is None else read_model(settings, EmbeddedOptions))


def _habitat(settings: Path | None) -> Backend:
    from sim_bridge.habitat.backend import HabitatBackend
    from sim_bridge.habitat.options import HabitatOptions

    return HabitatBackend(None if settings is None else read_model(settings, HabitatOptions))


def _spot(settings: Path | None, *, in_emulator: bool = False) -> Backend:
    try:
        from sim_bridge.spot.backend import SpotBackend
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("bosdyn", "cryptography", "google", "grpc"):
            raise
        raise PlannerError(
            "the backend 'spot' needs the Spot SDK: pip install -e '.[spot]' (see its licence)"
        ) from error
    from sim_bridge.spot.options import SpotOptions, emulated

    options = None if settings is None else read_model(settings, SpotOptions)
    return SpotBackend(emulated(options) if in_emulator else options)


def _external(settings: Path | None) -> Backend:
    # ROS is loaded only by those who ask for this backend.
    from sim_bridge.external.node import make_backend as make
    from sim_bridge.external.options import ExternalOptions

    return make(None if settings is None else read_model(settings, ExternalOptions))


BACKENDS: Mapping[str, Callable[[Path | None], Backend]] = {
    "embedded": _embedded,
    "habitat": _habitat,
    "spot": _spot,
    "spot_emulator": partial(_spot, in_emulator=True),
    "external": _external,
}


def make_backend(name: str, settings: str = "") -> Backend:
    """Makes the backend of this name, without an episode loaded.

    Args:
        name: a key of `BACKENDS`.
        settings: a file in the form of config/<name>.yaml; "" takes that one.

    Raises:
        PlannerError: where there is none, what it needs is not installed, or a setting is wrong.
    """
    factory = BACKENDS.get(name)
    if factory is None:
        raise PlannerError(f"there is no backend {name!r}; there are: {', '.join(BACKENDS)}")
    try:
        return factory(Path(settings) if settings else None)
    except ImportError as error:
        raise PlannerError(f"the backend {name!r} cannot be loaded: {error}") from error
