"""What furniture takes of the floor, for habitat-sim's navigation mesh.

Agents keep off the rectangles that furniture stands on, as in the other simulators of a house,
and not only off what of it is as high as they are.
"""

from __future__ import annotations

from pathlib import Path

from planner.world.house import House
from sim_bridge.habitat.dataset import configs
from sim_bridge.habitat.dataset.meshes import Solid, write_file, write_meshes
from sim_bridge.habitat.dataset.triangles import box_triangles

# No body steps onto it, and nothing of it is near the floor.
_HEIGHT_M = 1.0
_GREY = (0.5, 0.5, 0.5)


def write_footprints(house: House, directory: Path) -> Path:
    """The object config of one body of all rectangles, its origin that of the map.

    Written into a dataset's directory unless it is there.

    Raises:
        FileError: where it cannot be written.
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
