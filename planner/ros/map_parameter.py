"""The parameter `map`, which several nodes have."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from planner.ros import parameters


class MapSource(StrEnum):
    """Where the map of the floor comes from."""

    GIVEN = "given"
    BUILT = "built"


def builds_map(node: Any) -> bool:
    """Declares the parameter `map` and says whether the robots build their map themselves.

    Raises:
        PlannerError: for another value.
    """
    value = parameters.text(
        node,
        "map",
        MapSource.GIVEN.value,
        "given = the floor of the layout; built = the robots explore it by depth images",
        choices=[*MapSource],
    )
    return value == MapSource.BUILT
