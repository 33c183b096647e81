"""A robot in front of a chest of drawers."""

import pytest
from robot_stage import BY_CHEST, Stage


@pytest.fixture
def stage() -> Stage:
    return Stage(BY_CHEST)
