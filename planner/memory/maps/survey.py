"""The map that the robots of one house build together, from what each of them senses."""

from __future__ import annotations

from planner.memory.hand_view import CAMERA
from planner.memory.maps.occupancy import OccupancyMap, OccupancyOptions
from planner.world.floor_map import FloorMap
from planner.world.observation import Observation

# Floor that a body certainly stands on: that of the smallest one.
STANDS_M = 0.2


class FloorSurvey:
    """An occupancy map that begins where the first observation is made."""

    def __init__(self, options: OccupancyOptions | None = None) -> None:
        """Begins without any floor."""
        self._options = options
        self._map: OccupancyMap | None = None

    def add(self, observation: Observation) -> None:
        """Adds the hand camera's depth image, and that there is floor under the body.

        Raises:
            PlannerError: if the map would become too large.
        """
        frame = observation.cameras.get(CAMERA)
        if frame is None:
            return
        base_m = observation.base.position_m
        if self._map is None:
            self._map = OccupancyMap(base_m, self._options)
        self._map.stand(base_m, STANDS_M)
        carried_at_m = base_m if observation.holding else None
        self._map.update(frame, observation.stamp_s, carried_at_m)

    def newest(self) -> FloorMap | None:
        """What is known now; None before the first picture."""
        return None if self._map is None else self._map.floor()
