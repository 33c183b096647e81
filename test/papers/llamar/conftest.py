"""Agents face an apple and a fridge."""

from __future__ import annotations

import pytest
from llamar_toys import Kitchen

from planner.world.house import House


@pytest.fixture
def kitchen(small_house: House) -> Kitchen:
    return Kitchen(small_house)
