"""The worlds that the bridge can stand in front of, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.world.errors import PlannerError
from sim_bridge.backend import Backend


def _embedded() -> Backend:
    # MuJoCo and OpenGL are loaded only by those who ask for this backend.
    from sim_bridge.embedded.backend import EmbeddedBackend

    return EmbeddedBackend()


BACKENDS: Mapping[str, Callable[[], Backend]] = {"embedded": _embedded}


def make_backend(name: str) -> Backend:
    """Makes the backend of this name, without an episode loaded.

    Raises:
        PlannerError: where there is none, or what it needs is not installed.
    """
    factory = BACKENDS.get(name)
    if factory is None:
        raise PlannerError(f"there is no backend {name!r}; there are: {', '.join(BACKENDS)}")
    try:
        return factory()
    except ImportError as error:
        raise PlannerError(f"the backend {name!r} cannot be loaded: {error}") from error
