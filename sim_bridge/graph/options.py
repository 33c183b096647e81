"""The settings of the backend `graph` (config/graph.yaml)."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from planner.world.files import FileModel, read_model
from planner.world.share import config_dir
from sim_bridge.embedded.options import Durations


class GraphOptions(FileModel):
    """All settings of the backend."""

    version: Literal[1] = 1
    durations: Durations = Durations()


@lru_cache(maxsize=1)
def default_graph_options() -> GraphOptions:
    """The shipped settings."""
    return read_model(config_dir() / "graph.yaml", GraphOptions)
