"""Makes backends by name."""

from __future__ import annotations

from pathlib import Path

from planner.parts.kinds import BACKENDS
from planner.world.errors import PlannerError
from sim_bridge.backend import Backend


def make_backend(name: str, settings: str = "") -> Backend:
    """Makes the backend of this name, without an episode loaded.

    Args:
        name: in the catalog of backends.
        settings: a file in the form of config/<name>.yaml; "" takes that one.

    Raises:
        PlannerError: if there is none, what it needs is not installed, or a setting is invalid.
    """
    part = BACKENDS.get(name)
    try:
        return part.make(Path(settings) if settings else None)
    except ImportError as error:
        raise PlannerError(f"the backend {name!r} cannot be loaded: {error}") from error
