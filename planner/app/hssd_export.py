"""Houses that were read from HSSD or another scene data set, for Habitat with its own meshes.

The reader knows no simulator, and the simulator's writer no data set; here both are at hand.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from planner.houses.hssd.dataset import HOUSE_PREFIX, HssdDataset
from planner.houses.hssd.scene import HssdBody, read_scene, scene_of
from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError
from planner.world.house import House
from sim_bridge.habitat.dataset.foreign import ForeignBody, ForeignScene, export_foreign
from sim_bridge.habitat.dataset.records import HabitatDataset
from sim_bridge.habitat.dataset.writer import read_dataset


def export_hssd(house: House, scenes: Path, directory: Path) -> HabitatDataset:
    """Writes a house that was read from a scene as a dataset that shows that scene's own meshes.

    Raises:
        PlannerError: where the download is not there.
        FileError: where the house is not of one of its scenes as it is now, or something cannot
            be read or written.
    """
    dataset = HssdDataset(scenes, is_partnr=house.name.startswith(HOUSE_PREFIX))
    scene_id, storey = scene_of(house.name, dataset.prefix)
    scene = read_scene(dataset, scene_id, default_catalogue(), storey)
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
    placed = body.placed
    entry = {
        "rotation": list(placed.rotation),
        "uniform_scale": placed.uniform_scale,
        "non_uniform_scale": list(placed.non_uniform_scale),
        "translation_origin": "asset_local" if body.is_asset_local else "COM",
    }
    template = body.template
    return ForeignBody(
        template.path,
        template.document(),
        template.is_articulated,
        placed.translation,
        entry,
        body.joints,
    )


def export_once(house: House, scenes: Path, folder: Path) -> bool:
    """Writes `folder`/NAME as `export_hssd` does, unless it is there; returns whether it wrote.

    It appears whole or not at all.

    Raises:
        PlannerError: as `export_hssd`.
    """
    directory = folder / house.name
    try:
        read_dataset(directory, house)
    except FileError:
        pass
    else:
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder))
    except OSError as error:
        raise FileError(folder, "", f"cannot be written: {error.strerror}") from None
    try:
        export_hssd(house, scenes, draft)
        shutil.rmtree(directory, ignore_errors=True)
        draft.rename(directory)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return True
