"""Names on floor plans: none is over another, rooms always have theirs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from shapely.geometry import Point

from planner.houses.drawing import PlanNames, PlanSheet
from planner.houses.label_layout import Label, LabelLayout, extent_m
from planner.houses.marks import Marks, Move, sampled
from planner.replay.report.floor_plan import floor_plan_of
from planner.world.house import House
from planner.world.house_checks import load_house

# All carried to nearly the same place, as when a table is laid.
LAID = tuple(
    Move(name, (1.0 + i, 0.4), (2.6 + 0.15 * i, 5.1))
    for i, name in enumerate(("candle_0", "mixing_bowl_0", "plate_0", "plate_1"))
)


def box(label: Label, turned: bool = False) -> tuple[float, float, float, float]:
    width, height = extent_m(label.text, label.size_m)
    if turned:
        width, height = height, width
    x, y = label.at_m
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def overlapping(labels: list[Label], turned: bool = False) -> list[tuple[str, str]]:
    found = []
    for one, other in combinations(labels, 2):
        a, b = box(one, turned), box(other, turned)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]:
            found.append((one.text, other.text))
    return found


def all_of(names: PlanNames) -> list[Label]:
    entrance = [names.entrance] if names.entrance else []
    return [*names.rooms, *names.furniture, *names.objects, *names.moves.values(), *entrance]


@pytest.mark.slow
@pytest.mark.parametrize("house", ["train_0", "train_6", "heldout_2"])
def test_no_name_is_over_another(house: str) -> None:
    sheet = PlanSheet(load_house(house))
    names = sheet.names(Marks(moves=LAID))
    assert len(names.rooms) == len(load_house(house).rooms)
    assert set(names.moves) == set(LAID)
    assert len(names.furniture) > 0.9 * len(load_house(house).furniture)
    assert overlapping(all_of(names)) == []


def test_the_names_of_things_on_one_table_stay_near_them() -> None:
    names = PlanSheet(load_house("train_6")).names(Marks(moves=LAID))
    for move, label in names.moves.items():
        assert Point(move.end_m).distance(Point(label.at_m)) < 1.2


@pytest.mark.slow
@pytest.mark.parametrize("house", ["train_0", "train_6", "heldout_2"])
def test_a_report_s_plan_has_the_same_layout(house: str) -> None:
    plan = floor_plan_of(load_house(house))
    labels = [Label(room.name, room.label_m, room.label_size_m) for room in plan.rooms]
    labels += [
        Label("\n".join(piece.label.lines), piece.label.at_m, piece.label.size_m)
        for piece in plan.pieces
        if piece.label
    ]
    assert len(labels) > 0.9 * (len(plan.rooms) + len(plan.pieces))
    assert overlapping(labels, plan.turned) == []


def test_a_room_s_name_goes_out_of_the_way_of_ways(small_house: House) -> None:
    room = small_house.rooms[0]
    free = LabelLayout().room(room, room.name, (), None)
    through = [[(room.shape.bounds[0], free.at_m[1]), (room.shape.bounds[2], free.at_m[1])]]
    moved = LabelLayout().room(room, room.name, (), sampled(through))
    assert abs(moved.at_m[1] - free.at_m[1]) > extent_m(room.name, free.size_m)[1] / 2
    assert room.shape.contains(Point(moved.at_m))


def test_a_name_with_no_free_place_is_left_out_and_a_thing_s_is_not(small_house: House) -> None:
    layout = LabelLayout()
    layout.keep_free((0.0, 0.0), 100.0)
    assert layout.piece(small_house.furniture[0]) is None
    assert layout.near("cup_0", (1.0, 1.0), 0.1) is None
    assert layout.thing("cup_0", (1.0, 1.0)).text == "cup_0"
    assert [label.text for label in layout.labels] == ["cup_0"]


def test_rooms_and_things_have_letters_that_can_be_read(small_house: House) -> None:
    layout = LabelLayout(smallest_m=0.4)
    room = small_house.rooms[0]
    assert layout.room(room, room.name, small_house.furniture, None).size_m == pytest.approx(0.4)
    assert layout.thing("cup_0", (1.0, 1.0)).size_m == pytest.approx(0.4)


def test_ways_are_sampled_evenly() -> None:
    points = sampled([[(0.0, 0.0), (1.0, 0.0)], [(5.0, 5.0)]], step_m=0.25)
    assert np.allclose(points, [(0, 0), (0.25, 0), (0.5, 0), (0.75, 0)])
