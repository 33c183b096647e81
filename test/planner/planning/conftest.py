"""Things lie in the small house where each test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from planning_toys import ToyWorld

from planner.world.house import House
from planner.world.vocabulary import Relation

Spots = dict[str, tuple[Relation, str]]
THINGS: Spots = {
    "cup_0": (Relation.ON, "table_0"),
    "apple_0": (Relation.ON, "table_0"),
    "book_0": (Relation.ON, "table_1"),
    "lamp_0": (Relation.ON, "table_1"),
    "spoon_0": (Relation.WITHIN, "chest_of_drawers_0"),
}


@pytest.fixture
def toy_world(small_house: House) -> Callable[..., ToyWorld]:
    def make(*hidden: str, things: Spots | None = None, **more: Any) -> ToyWorld:
        return ToyWorld(small_house, dict(things or THINGS), set(hidden), **more)

    return make
