"""The flags by which a command takes any simulator that draws what its agents see."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.command_line import add_backend_flags
from planner.world.errors import PlannerError
from sim_bridge.part import BACKENDS

DEFAULT = "embedded"


def add_drawing_flags(parser: argparse.ArgumentParser) -> None:
    """Declares `--backend` and `--backend-config`."""
    about = f"a simulator with pictures (default {DEFAULT})"
    add_backend_flags(parser, BACKENDS.names(), about, DEFAULT)


def absolute_file(name: str) -> str:
    """A file's absolute path, so that a run goes on from any folder; "" stays empty."""
    return str(Path(name).resolve()) if name else ""


def absolute_sensors(name: str) -> str:
    """The same for a model of sensors, whose name stays as it is."""
    return absolute_file(name) if "/" in name or ".yaml" in name or ".json" in name else name


def check_draws(name: str) -> None:
    """Refuses what is not a simulator with pictures.

    Raises:
        PlannerError: for such a backend.
    """
    part = BACKENDS.get(name)
    if not part.simulated or not part.has_pictures:
        raise PlannerError(f"--backend {name}: expected a simulator with pictures")
