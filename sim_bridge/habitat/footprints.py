"""The floor covered by furniture, for habitat-sim's navigation mesh.

Agents keep off the footprints of furniture, as in the other simulators of a house, not only off its
parts at their own height.
"""

from __future__ import annotations

from pathlib import Path

from planner.world.house import House
from sim_bridge.habitat.dataset import configs
from sim_bridge.habitat.dataset.meshes import Solid, write_file, write_meshes
from sim_bridge.habitat.dataset.triangles import box_triangles

# Too high to step on, too low to matter elsewhere.
_HEIGHT_M = 1.0
_GREY = (0.5, 0.5, 0.5)


def write_footprints(house: House, directory: Path) -> Path:
    """Writes the object config of one body of all footprints, with the map's origin.

    Written into a dataset's directory unless it exists.

    Raises:
        FileError: if it cannot be written.
    """
    config = directory / "floor" / "footprints.object_config.json"
    if config.is_file():
        return config
    solids = []
    for piece in house.furniture:
        half_m = (piece.size_m[0] / 2, piece.size_m[1] / 2, _HEIGHT_M / 2)
        box = box_triangles(half_m).turned(piece.yaw_rad)
        solids.append(Solid(box.shifted((piece.x_m, piece.y_m, _HEIGHT_M / 2)), _GREY))
    meshes = write_meshes(solids, config.parent / "footprints")
    write_file(config, configs.json_bytes(configs.object_config(meshes, config.parent, 0, {})))
    return config
