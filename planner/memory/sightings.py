"""Which entities a camera shows, by instance and depth images, and which of them count as seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from planner.memory.camera import unproject
from planner.world.errors import PlannerError
from planner.world.observation import CameraFrame, Sighting


@dataclass(frozen=True, slots=True)
class Visibility:
    """When an entity in view counts as seen (EPM-1.2).

    Attributes:
        min_fraction: of the view's pixels.
        min_distance_m: least depth.
        max_distance_m: greatest depth.
    """

    min_fraction: float
    min_distance_m: float
    max_distance_m: float

    def shows(self, sighting: Sighting) -> bool:
        """Whether a sighting passes."""
        return (
            sighting.fraction >= self.min_fraction
            and sighting.fraction > 0
            and self.min_distance_m <= sighting.distance_m <= self.max_distance_m
        )


# EPM-1.2: "GT" counts what fills 0.1 % of the view 0.2 m to 6 m away;
# "PARTNR privileged" counts one visible pixel at any distance.
GT_VISIBILITY = Visibility(0.001, 0.2, 6.0)
PARTNR_VISIBILITY = Visibility(0.0, 0.0, float("inf"))
VISIBILITIES: Mapping[str, Visibility] = {"gt": GT_VISIBILITY, "partnr": PARTNR_VISIBILITY}


def sightings_of_images(frame: CameraFrame, names: Mapping[int, str]) -> list[Sighting]:
    """The named instances in a frame; `position_m` is the seen surface's middle point.

    Raises:
        PlannerError: for a frame without instance ids.
    """
    if frame.instances is None:
        raise PlannerError("the camera gives no instance ids, which this memory needs")
    total = frame.instances.size
    found = []
    labels = np.where(frame.instances > 0, frame.instances, 0)
    for index, window in enumerate(ndimage.find_objects(labels)):
        name = names.get(index + 1)
        if window is None or name is None:
            continue
        mask = labels[window] == index + 1
        depths = frame.depth_m[window][mask]
        depths = depths[depths > 0]
        if depths.size == 0:
            continue
        middle = depths.size // 2
        depth_m = float(np.partition(depths, middle)[middle])
        rows, columns = window
        pixel = ((columns.start + columns.stop) / 2, (rows.start + rows.stop) / 2)
        point_m = unproject(frame.intrinsics, frame.pose, pixel, depth_m)
        share = int(np.count_nonzero(mask)) / total
        found.append(Sighting(name, share, depth_m, pixel, point_m))
    return found
