"""Makes backends by name."""

from __future__ import annotations

from pathlib import Path

from planner.parts.kinds import BACKENDS
from planner.world.errors import PlannerError
from sim_bridge.backend import Backend
from sim_bridge.part import Drawn


def make_backend(name: str, settings: str = "", drawn: Drawn | None = None) -> Backend:
    """Makes the backend of this name, without an episode loaded.

    Args:
        name: in the catalog of backends.
        settings: a file in the form of config/<name>.yaml; "" takes that one.
        drawn: what the run needs drawn; None = everything.

    Raises:
        PlannerError: if there is none, what it needs is not installed, or a setting is invalid.
    """
    part, file = BACKENDS.get(name), Path(settings) if settings else None
    try:
        if drawn is not None and part.make_for is not None:
            return part.make_for(file, drawn)
        return part.make(file)
    except ImportError as error:
        raise PlannerError(f"the backend {name!r} cannot be loaded: {error}") from error
