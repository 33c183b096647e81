"""The rooms of a scene: its annotated regions as polygons on our plan."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, ValidationError
from shapely.geometry import Polygon

from planner.houses.hssd.dataset import Lenient, read_json
from planner.houses.hssd.transforms import Number3
from planner.world.catalogue import Catalogue
from planner.world.errors import FileError, from_validation
from planner.world.house import Room

# PARTNR's houses have one floor; regions on other floors are ignored.
_SAME_FLOOR_M = 0.5
_HEIGHTS_M = (1.9, 6.0)


class _Region(Lenient):
    name: str = ""
    label: Annotated[str, Field(min_length=1, max_length=100)]
    poly_loop: Annotated[tuple[Number3, ...], Field(min_length=3, max_length=1000)]
    floor_height: Annotated[float, Field(ge=-100, le=100)] = 0.0
    extrusion_height: Annotated[float, Field(ge=-100, le=100)] = 2.6


class _Regions(Lenient):
    region_annotations: Annotated[tuple[_Region, ...], Field(max_length=500)] = ()


@dataclass(frozen=True, slots=True)
class Regions:
    """The rooms, and the data set's names for them.

    Attributes:
        rooms: with our names, `<class>_<n>`.
        by_id: our name by the region's id, which evaluations use.
        by_name: our name by PARTNR's, which is derived from the label.
        floor_m: the height of the floor in Habitat's world, which is 0 in ours.
        left_out: a sentence for each region that does not become a room.
    """

    rooms: tuple[Room, ...]
    by_id: dict[str, str]
    by_name: dict[str, str]
    floor_m: float
    left_out: tuple[str, ...]


def read_regions(path: Path, catalogue: Catalogue) -> Regions:
    """Reads `*.semantic_config.json`.

    Raises:
        FileError: if it has no rooms, or rooms on several floors.
    """
    regions = read_json(path, _Regions).region_annotations
    if not regions:
        raise FileError(path, "region_annotations", "there are none: the scene has no rooms")
    floor = _floor(path, regions)
    rooms: list[Room] = []
    by_id: dict[str, str] = {}
    by_name: dict[str, str] = {}
    left_out: list[str] = []
    for index, region in enumerate(regions):
        partnr_name = _free(region.label.replace(" ", "_"), by_name)
        class_name = catalogue.room_name(region.label.split("/")[0])
        if class_name is None:
            left_out.append(f"region {region.label!r} has no class of ours")
            by_name[partnr_name] = ""
            continue
        our_name = _free(class_name, {room.name for room in rooms})
        try:
            room = _room(region, our_name, class_name)
        except ValidationError as error:
            where = f"region_annotations.{index}"
            raise FileError(path, where, from_validation(path, error).reason) from None
        rooms.append(room)
        by_name[partnr_name] = our_name
        by_id[region.name or f"_{index}"] = our_name
    if not rooms:
        raise FileError(path, "region_annotations", left_out[0])
    known = {name: room for name, room in by_name.items() if room}
    return Regions(tuple(rooms), by_id, known, floor, tuple(left_out))


def _floor(path: Path, regions: Sequence[_Region]) -> float:
    heights = [region.floor_height for region in regions]
    if max(heights) - min(heights) > _SAME_FLOOR_M:
        reason = f"floors from {min(heights):.2f} to {max(heights):.2f} m: one floor is read only"
        raise FileError(path, "region_annotations", reason)
    areas = [Polygon([(x, z) for x, _, z in region.poly_loop]).area for region in regions]
    # The height of most of the floor; thresholds and carpets do not count.
    return heights[int(np.argmax(areas))]


def _room(region: _Region, name: str, class_name: str) -> Room:
    height = min(max(region.extrusion_height, _HEIGHTS_M[0]), _HEIGHTS_M[1])
    loop = Polygon([(x, -z) for x, _, z in region.poly_loop])
    # Annotators click points twice; a self-intersecting loop is refused, not repaired.
    simpler = loop.simplify(0.001)
    loop = simpler if isinstance(simpler, Polygon) else loop
    corners = tuple((round(x, 4), round(y, 4)) for x, y in list(loop.exterior.coords)[:-1])
    return Room(name=name, class_name=class_name, polygon_m=corners, height_m=round(height, 4))


def _free(stem: str, taken: Container[str]) -> str:
    index = 0
    while f"{stem}_{index}" in taken:
        index += 1
    return f"{stem}_{index}"
