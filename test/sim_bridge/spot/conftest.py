"""The house of the tests of Spot."""

from __future__ import annotations

import pytest

from sim_bridge.opening import Opened, default_house, open_world


@pytest.fixture(scope="module")
def opened() -> Opened:
    """The first shipped house with one robot."""
    return open_world(default_house(), "", 7, 1)
