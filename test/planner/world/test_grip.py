"""A gripper's message says what it feels, which its opening does not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from planner.world.observation import Grip
from planner.world.wire import grip_record


@pytest.mark.parametrize(
    ("position", "effort", "grip"),
    [
        # A fat thing keeps it open, and an empty one may rest closed.
        ([0.4], [1.0], Grip(0.4, holding=True)),
        ([0.0], [0.0], Grip(0.0, holding=False)),
        # Of bags of before, which have no effort.
        ([0.0], [], Grip(0.0, holding=True)),
        ([1.0], [], Grip(1.0, holding=False)),
        ([], [], None),
    ],
)
def test_a_grip_is_read(position: list[float], effort: list[float], grip: Grip | None) -> None:
    assert grip_record(SimpleNamespace(position=position, effort=effort)) == grip
