"""Things lie in the small house where each test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from planning_toys import THINGS, Spots, ToyWorld

from planner.world.house import House


@pytest.fixture
def toy_world(small_house: House) -> Callable[..., ToyWorld]:
    def make(*hidden: str, things: Spots | None = None, **more: Any) -> ToyWorld:
        return ToyWorld(small_house, dict(things or THINGS), set(hidden), **more)

    return make
