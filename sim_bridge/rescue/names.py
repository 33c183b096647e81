"""Names and places of a rescue scene in the world's vocabulary (LLAMAR-A20).

`CaldorFire` is the entity `caldor_fire_N` of the house, its second region `caldor_fire_region_2`.
A cell is a square of `CELL_M`; y of the grid points down and y of the map up.
"""

from __future__ import annotations

import re

from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.house import House
from sim_bridge.rescue.grid import SIZE, Cell
from sim_bridge.rescue.world import RescueWorld

CELL_M = 0.5
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def class_of(name: str) -> str:
    """The class of a scene's thing: `caldor_fire`."""
    return _CAPITAL.sub("_", name).lower()


def region_class(fire: str) -> str:
    """The class of a fire's regions."""
    return f"{class_of(fire)}_region"


def middle_m(cell: Cell, height_m: float = 0.0) -> Vec3:
    """The middle of a cell in `map`."""
    return ((cell[0] + 0.5) * CELL_M, (SIZE - cell[1] - 0.5) * CELL_M, height_m)


def cell_at(x_m: float, y_m: float) -> Cell | None:
    """The cell of a point in `map`; None outside the grid."""
    x, y = int(x_m // CELL_M), SIZE - 1 - int(y_m // CELL_M)
    return (x, y) if 0 <= x < SIZE and 0 <= y < SIZE else None


class EntityNames:
    """The entities of a house that are the things of a scene."""

    def __init__(self, world: RescueWorld, house: House) -> None:
        """Finds each thing's entity.

        Raises:
            PlannerError: if the house has none of a thing's class, or several.
        """
        self._entities: dict[str, str] = {}
        for name in (*world.fires, *world.reservoirs, *world.deposits, *world.persons):
            found = house.names_by_class.get(class_of(name), ())
            if len(found) != 1:
                count = f"has {len(found)}" if found else "has none"
                what = f"{world.scene.name} has {name}"
                raise PlannerError(f"{house.name}: {what}, and the house {count} of that class")
            self._entities[name] = found[0]
        for fire in world.fires.values():
            for index in range(len(fire.regions)):
                entity = f"{region_class(fire.name)}_{index + 1}"
                self._entities[fire.region_name(index)] = entity
        self._entities |= {agent: agent for agent in world.agents}
        self._names = {entity: name for name, entity in self._entities.items()}

    def entity(self, name: str) -> str:
        """The entity of a thing, region or agent of the scene."""
        return self._entities[name]

    def name(self, entity: str) -> str | None:
        """The scene's name of an entity; None for a room."""
        return self._names.get(entity)
