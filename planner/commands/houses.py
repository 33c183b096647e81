"""`planner houses`, with the simulators' file formats at hand for `export`.

The houses know no simulator; here, where everything may be known, theirs is the command line
and these are the writers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from planner.houses import cli
from planner.world.errors import PlannerError
from planner.world.house import House

if TYPE_CHECKING:
    from planner.houses.hssd.scene import HssdBody
    from sim_bridge.habitat.dataset.foreign import ForeignBody
    from sim_bridge.habitat.dataset.records import HabitatDataset

_PX_PER_M = 80.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """As `planner.houses.cli`."""
    cli.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """As `planner.houses.cli`; a simulator's writer is imported only where it is asked for."""
    return cli.run(args, {"habitat": _habitat, "mujoco": _mujoco}, _explore)


def _habitat(house: House, directory: Path, scenes: Path | None) -> str:
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
    from sim_bridge.embedded.export import export_mujoco

    if scenes is not None:
        raise PlannerError("--scenes: MuJoCo shows a house of HSSD by our recipes only")
    return f"{export_mujoco(house, directory)}: MJCF"


def _explore(house: House, output: Path | None) -> str:
    from planner.app.house_survey import survey
    from planner.houses.drawing import draw_floor_plan
    from planner.houses.explored import draw_explored
    from planner.houses.map_frame import MapFrame
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


def export_hssd(house: House, scenes: Path, directory: Path) -> HabitatDataset:
    """Writes a house that was read from HSSD as a dataset that shows HSSD's own meshes.

    Raises:
        PlannerError: where the download is not there.
        FileError: where the house is not of one of its scenes as it is now, or something cannot
            be read or written.
    """
    from planner.houses.hssd.dataset import HssdDataset
    from planner.houses.hssd.scene import read_scene, scene_of
    from planner.world.catalogue import default_catalogue
    from planner.world.errors import FileError
    from sim_bridge.habitat.dataset.foreign import ForeignScene, export_foreign

    scene_id, storey = scene_of(house.name)
    scene = read_scene(HssdDataset(scenes), scene_id, default_catalogue(), storey)
    if scene.house != house:
        reason = "is not what is read from the scene now: import it anew"
        raise FileError(house.name, "furniture", reason)
    bodies = scene.bodies.values()
    return export_foreign(
        house,
        ForeignScene(
            stage=_foreign(scene.stage),
            furniture={body.piece: _foreign(body) for body in bodies if body.piece},
            others=tuple(_foreign(body) for body in bodies if not body.piece),
            floor_m=scene.floor_m,
        ),
        directory,
    )


def _foreign(body: HssdBody) -> ForeignBody:
    from sim_bridge.habitat.dataset.foreign import ForeignBody

    placed = body.placed
    entry = {
        "rotation": list(placed.rotation),
        "uniform_scale": placed.uniform_scale,
        "non_uniform_scale": list(placed.non_uniform_scale),
        "translation_origin": "asset_local" if body.is_asset_local else "COM",
    }
    return ForeignBody(body.config, placed.translation, entry, body.joints)
