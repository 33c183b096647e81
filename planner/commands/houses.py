"""`planner houses`, with the simulators' file formats at hand for `export`.

The houses know no simulator; here, where everything may be known, theirs is the command line
and these are the writers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.houses import cli
from planner.world.errors import FileError, PlannerError
from planner.world.house import House

_PX_PER_M = 80.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """As `planner.houses.cli`."""
    cli.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """As `planner.houses.cli`; a simulator's writer is imported only where it is asked for."""
    return cli.run(args, {"habitat": _habitat, "mujoco": _mujoco}, _explore, _play)


def _habitat(house: House, directory: Path, scenes: Path | None) -> str:
    from planner.app.hssd_export import export_hssd
    from sim_bridge.habitat.dataset.writer import export_habitat

    if scenes is None:
        dataset = export_habitat(house, directory)
    else:
        dataset = export_hssd(house, scenes, directory)
    opening = sum(bool(template.joints) for template in dataset.furniture.values())
    return (
        f"{dataset.config}: scene {dataset.scene}, {len(dataset.furniture)} pieces of furniture "
        f"of which {opening} open, {len(dataset.things)} things"
    )


def _mujoco(house: House, directory: Path, scenes: Path | None) -> str:
    from sim_bridge.embedded.scene import export_mujoco

    if scenes is not None:
        raise PlannerError("--scenes: MuJoCo shows a house of HSSD by our recipes only")
    return f"{export_mujoco(house, directory)}: MJCF"


def _explore(house: House, output: Path | None) -> str:
    from planner.app.house_survey import survey
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
