"""Parts of bodies in the scene: what moves together, usable receptacles, the room it stands in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from shapely.geometry import MultiPoint

from planner.houses.hssd.pieces import Place, Shell
from planner.houses.hssd.scene_file import ReceptacleFilter
from planner.houses.hssd.templates import Receptacle
from planner.houses.hssd.urdf import UrdfLink
from planner.world.errors import FileError
from planner.world.geometry import FloatArray
from planner.world.house import Room
from planner.world.vocabulary import Relation


def usable_receptacles(
    handle: str, found: Sequence[Receptacle], usable: ReceptacleFilter
) -> list[Receptacle]:
    """The receptacles that a scene's filter leaves."""
    excluded = usable.excluded
    return [item for item in found if not any(word in f"{handle}|{item.name}" for word in excluded)]


def shells_of(links: Sequence[UrdfLink], matrix: FloatArray, place: FloatArray) -> Iterator[Shell]:
    """The links that move together, the base first."""
    groups: dict[str | None, list[UrdfLink]] = {}
    for link in links:
        if len(link.corners):
            groups.setdefault(link.joint.name if link.joint else None, []).append(link)
    for group in groups.values():
        joint = group[0].joint
        corners = np.concatenate([link.corners for link in group]) @ matrix.T + place
        yield Shell(corners, joint.placed(matrix, place) if joint is not None else None)


def link_place(
    item: Receptacle,
    links: Sequence[UrdfLink],
    matrix: FloatArray,
    place: FloatArray,
    handle: str,
    usable: ReceptacleFilter,
    config: Path,
) -> Place:
    """A receptacle of an articulated body.

    Raises:
        FileError: if it names a link that the body has not.
    """
    link = next((link for link in links if link.name == item.link), None)
    if link is None:
        raise FileError(
            config, f"user_defined.{item.name}.parent_link", f"{item.link!r} is not a link"
        )
    corners = item.corners @ link.frame[:3, :3].T + link.frame[:3, 3]
    within = f"{handle}|{item.name}" in usable.within_set
    mover = link.joint.placed(matrix, place) if link.joint is not None else None
    return Place(
        item.name, corners @ matrix.T + place, Relation.WITHIN if within else Relation.ON, mover
    )


def room_of(corners: FloatArray, rooms: Sequence[Room]) -> str | None:
    """The room that contains most of the footprint."""
    footprint = MultiPoint(corners[:, :2]).convex_hull.buffer(0.01)
    shares = [(room.shape.buffer(0).intersection(footprint).area, room.name) for room in rooms]
    area, name = max(shares)
    return name if area > 0.0 else None
