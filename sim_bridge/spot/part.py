"""The records of the backends of a Spot, real and emulated, and making them: needs the SDK."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from planner.world.errors import PlannerError
from planner.world.files import read_model
from sim_bridge.backend import Backend, BackendPart


def open_spot(settings: Path | None, *, in_emulator: bool) -> Backend:
    """The backend, not connected yet.

    Raises:
        PlannerError: if the SDK is not installed, or a setting is invalid.
    """
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


SPOT = BackendPart(
    summary="a Spot with an arm",
    make=partial(open_spot, in_emulator=False),
    simulated=False,
    physical_stop="the tablet's stop button or the motor lockout",
    extra="spot",
)
EMULATOR = BackendPart(
    summary="an emulated Spot: its protocol and SDK, in simulated time",
    make=partial(open_spot, in_emulator=True),
    simulated=True,
    extra="spot",
)
