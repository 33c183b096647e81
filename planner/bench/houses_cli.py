"""`planner houses`, with the simulators' file formats at hand for `export`.

The houses know no simulator; here, where everything may be known, theirs is the command line
and these are the writers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.houses import cli
from planner.world.house import House


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """As `planner.houses.cli`."""
    cli.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """As `planner.houses.cli`; a simulator's writer is imported only where it is asked for."""
    return cli.run(args, exporters={"habitat": _habitat, "mujoco": _mujoco})


def _habitat(house: House, directory: Path) -> str:
    from sim_bridge.habitat.dataset.writer import export_habitat

    dataset = export_habitat(house, directory)
    opening = sum(bool(template.joints) for template in dataset.furniture.values())
    return (
        f"{dataset.config}: scene {dataset.scene}, {len(dataset.furniture)} pieces of furniture "
        f"of which {opening} open, {len(dataset.things)} things"
    )


def _mujoco(house: House, directory: Path) -> str:
    from sim_bridge.embedded.export import export_mujoco

    return f"{export_mujoco(house, directory)}: MJCF"
