"""Backend `graph`: a world of nodes and edges, as VirtualHome's."""

from pathlib import Path

from planner.world.files import read_model
from sim_bridge.backend import Backend
from sim_bridge.part import BackendPart


def _make(settings: Path | None) -> Backend:
    from sim_bridge.graph.backend import GraphBackend
    from sim_bridge.graph.options import GraphOptions

    return GraphBackend(None if settings is None else read_model(settings, GraphOptions))


BACKEND = BackendPart(
    summary="a scene graph: edges instead of geometry, no pictures",
    make=_make,
    simulated=True,
    has_pictures=False,
)
