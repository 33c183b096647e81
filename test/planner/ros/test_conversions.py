"""Floor maps as messages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from nav_msgs.msg import OccupancyGrid

from planner.ros.conversions import map_message, map_record
from planner.world.errors import PlannerError
from planner.world.floor_map import FREE, OCCUPIED, UNKNOWN, FloorMap


def small() -> FloorMap:
    cells = np.array([[FREE, OCCUPIED, UNKNOWN], [UNKNOWN, FREE, FREE]], np.int8)
    return FloorMap(cells, (-1.5, 2.25), 0.05, stamp_s=12.5)


def test_a_map_comes_back_as_it_was_sent() -> None:
    message = map_message(small(), load_s=3.0)
    assert (message.info.width, message.info.height) == (3, 2)
    assert list(message.data) == [0, 100, -1, -1, 0, 0]
    assert message.info.map_load_time.sec == 3
    back = map_record(message)
    assert np.array_equal(back.cells, small().cells)
    assert (back.origin_m, back.cell_m, back.stamp_s) == ((-1.5, 2.25), 0.05, 12.5)


def test_values_of_other_software_are_free_or_occupied() -> None:
    message = map_message(small())
    message.data[0], message.data[1] = 49, 50
    assert map_record(message).cells[0].tolist() == [FREE, OCCUPIED, UNKNOWN]


def cut(message: OccupancyGrid) -> None:
    message.data = message.data[:-1]


def empty(message: OccupancyGrid) -> None:
    message.info.width, message.data = 0, []


def elsewhere(message: OccupancyGrid) -> None:
    message.header.frame_id = "odom"


def turned(message: OccupancyGrid) -> None:
    message.info.origin.orientation.z = 1.0


def flat(message: OccupancyGrid) -> None:
    message.info.resolution = 0.0


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (cut, "5 cells"),
        (empty, "0 cells"),
        (elsewhere, "frame_id"),
        (turned, "turned"),
        (flat, "positive side"),
    ],
)
def test_a_map_that_cannot_be_read_is_refused_by_its_field(
    spoil: Callable[[OccupancyGrid], None], words: str
) -> None:
    message = map_message(small())
    spoil(message)
    with pytest.raises(PlannerError, match=words):
        map_record(message)
