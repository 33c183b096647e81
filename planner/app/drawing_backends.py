"""The flags by which a command takes any simulator that draws what its agents see."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.world.errors import PlannerError
from sim_bridge.part import BACKENDS

DEFAULT = "embedded"


def add_backend_flags(parser: argparse.ArgumentParser) -> None:
    """Declares `--backend` and `--backend-config`."""
    parser.add_argument(
        "--backend",
        choices=BACKENDS.names(),
        default=DEFAULT,
        help=f"a simulator with pictures (default {DEFAULT})",
    )
    parser.add_argument(
        "--backend-config", default="", metavar="FILE", help="its settings; default: the shipped"
    )


def absolute_file(name: str) -> str:
    """A file's absolute path, so that a run goes on from any folder; "" stays empty."""
    return str(Path(name).resolve()) if name else ""


def check_draws(name: str) -> None:
    """Refuses what is not a simulator with pictures.

    Raises:
        PlannerError: for such a backend.
    """
    part = BACKENDS.get(name)
    if not part.simulated or not part.has_pictures:
        raise PlannerError(f"--backend {name}: expected a simulator with pictures")
