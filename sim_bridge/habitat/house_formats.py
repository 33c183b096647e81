"""Houses as Habitat's data sets: written, and read from scenes that others have made."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from planner.houses.part import HouseFormat, ReadHouse
from planner.world.catalogue import default_catalogue
from planner.world.house import House
from sim_bridge.habitat.hssd.dataset import HssdDataset
from sim_bridge.habitat.hssd.scene import read_scene


def _write(house: House, directory: Path, scenes: Path | None) -> str:
    from sim_bridge.habitat.dataset.writer import export_habitat
    from sim_bridge.habitat.hssd_export import export_hssd

    if scenes is None:
        dataset = export_habitat(house, directory)
    else:
        dataset = export_hssd(house, scenes, directory)
    opening = sum(bool(template.joints) for template in dataset.furniture.values())
    return (
        f"{dataset.config}: scene {dataset.scene}, {len(dataset.furniture)} pieces of furniture "
        f"of which {opening} open, {len(dataset.things)} things"
    )


class SceneSource:
    """See `planner.houses.part.HouseSource`."""

    def __init__(self, folder: Path, *, is_partnr: bool) -> None:
        self._dataset = HssdDataset(folder, is_partnr=is_partnr)
        self.scenes = sorted(self._dataset.scenes)

    def read(self, scene: str, storey: int | None) -> ReadHouse:
        """See `HouseSource`."""
        found = read_scene(self._dataset, scene, default_catalogue(), storey)
        floors = found.regions.storey
        return ReadHouse(found.house, found.left_out, floors.number, floors.count)


HABITAT = HouseFormat(summary="a scene dataset", write=_write, takes_scenes=True)
HSSD = HouseFormat(
    summary="the data set hssd-hab (branch partnr)", read=partial(SceneSource, is_partnr=True)
)
SCENES = HouseFormat(
    summary="any scene data set for Habitat, such as ReplicaCAD",
    read=partial(SceneSource, is_partnr=False),
)
