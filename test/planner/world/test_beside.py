"""Which furniture can hold things next to which; the evaluation's own predicate is the measure."""

from __future__ import annotations

import pytest

from planner.world.beside import parts_beside
from planner.world.house import Furniture, House
from planner.world.vocabulary import Relation


def piece_at(house: House, name: str, x_m: float) -> Furniture:
    return house.furniture_by_name[name].model_copy(update={"x_m": x_m})


# The sink ends at x 1.25 m and is 1.12 m high; the cabinet's top is 0.82 m wide and 0.90 m high.
@pytest.mark.parametrize(
    ("x_m", "within_m", "parts"),
    [
        (1.67, 0.5, {"top"}),
        (2.15, 0.5, {"top"}),
        (2.17, 0.5, set()),
        (2.17, 0.6, {"top"}),
    ],
)
def test_the_gap_is_that_to_the_nearest_end_of_the_surface(
    small_house: House, x_m: float, within_m: float, parts: set[str]
) -> None:
    sink, cabinet = small_house.furniture_by_name["sink_0"], piece_at(small_house, "cabinet_0", x_m)
    assert parts_beside(cabinet, Relation.ON, sink, within_m) == parts


def test_of_its_boards_those_count_that_are_near_enough(small_house: House) -> None:
    sink, cabinet = small_house.furniture_by_name["sink_0"], piece_at(small_house, "cabinet_0", 2.0)
    found = parts_beside(cabinet, Relation.WITHIN, sink, 0.5)
    assert found == {"left_lower", "left_upper"}


def test_what_stands_higher_than_the_reference_is_not_next_to_it(small_house: House) -> None:
    table, cabinet = piece_at(small_house, "table_0", 0.0), piece_at(small_house, "cabinet_0", 0.0)
    cabinet = cabinet.model_copy(update={"y_m": table.y_m - 0.5})
    assert not parts_beside(cabinet, Relation.ON, table, 0.5)
    assert parts_beside(cabinet, Relation.WITHIN, table, 0.5) == {"left_lower", "right_lower"}
    assert parts_beside(table, Relation.ON, cabinet, 0.5) == {"top"}
