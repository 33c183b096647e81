"""`planner houses`, with the embedded simulator at hand.

The houses know no simulator; here, where everything may be known, theirs is the command line.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.houses import cli
from planner.houses.part import HouseFormat
from planner.world.errors import FileError, PlannerError
from planner.world.house import House

_PX_PER_M = 80.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """As `planner.houses.cli`."""
    cli.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """As `planner.houses.cli`."""
    return cli.run(args, _explore, _play)


def _write_mujoco(house: House, directory: Path, _scenes: Path | None) -> str:
    from sim_bridge.embedded.scene import export_mujoco

    return f"{export_mujoco(house, directory)}: MJCF"


MUJOCO = HouseFormat(summary="an MJCF file", write=_write_mujoco)


def _explore(house: House, output: Path | None) -> str:
    from planner.app.house_tour import survey
    from planner.houses.drawing import draw_explored, draw_floor_plan
    from planner.houses.label_layout import MapFrame
    from planner.narrator.picture import save
    from sim_bridge.embedded.backend import EmbeddedBackend
    from sim_bridge.embedded.options import default_options

    options = default_options().model_copy(update={"instances": False})
    backend = EmbeddedBackend(options)
    try:
        found = survey(backend, house)
    finally:
        backend.close()
    if not found.result.succeeded:
        raise PlannerError(f"{house.name}: {found.result.text}")
    if output is not None:
        plan = draw_floor_plan(house, pixels_per_m=_PX_PER_M)
        frame = MapFrame.of(house, _PX_PER_M)
        save(draw_explored(plan, frame, found.floor, found.path_m), output)
    return (
        f"{house.name}: {found.coverage:.1%} of the floor that can be reached is in the map, "
        f"after {found.seconds:.0f} s, {found.walked_m:.0f} m and {found.pictures} pictures; of "
        f"the floor that the map lets a robot stand on, {found.agreement:.1%} is truly free"
    )


def _play(folder: Path) -> bool:
    from sim_bridge.graph.programs import paired, play_program, read_graphs, read_program

    pairs, loaded, ran, reached = paired(folder), 0, 0, 0
    for program, graphs in pairs:
        try:
            start, end = read_graphs(graphs)
            loaded += 1
            played = play_program(read_program(program), start, end)
        except FileError as error:
            print(error, flush=True)
            continue
        ran += played.ran
        reached += not played.problem
        if played.problem:
            print(f"{program}: {played.problem}", flush=True)
    print(
        f"{len(pairs)} programs: the graphs of {loaded} load, {ran} can be carried out, "
        f"{reached} reach their final graph"
    )
    return reached == len(pairs)
