"""The houses of our ET-Plan-Bench tasks, and how they are split."""

from collections import Counter

import pytest

from papers.et_plan_bench.generation.categories import HomeSplit, home_named, homes
from planner.world.errors import PlannerError
from planner.world.house import house_json


def test_splits_have_the_papers_sizes_and_share_no_house() -> None:
    """ETPLAN-C8."""
    sizes = Counter(home.split for home in homes())
    assert [sizes[split] for split in HomeSplit] == [34, 5, 10, 1]
    assert len({home.seed for home in homes()}) == len({home.name for home in homes()}) == 50
    assert [home.number for home in homes()] == list(range(50))
    assert {home.split for home in homes(HomeSplit.VAL)} == {HomeSplit.VAL}


def test_a_house_is_made_again_from_its_seed() -> None:
    first = home_named("et_test_1")
    again = type(first)(first.name, first.split, first.number, first.seed, first.rooms)
    house = first.make()
    assert again.make() is house
    rooms = Counter(room.class_name for room in house.rooms)
    assert min(rooms[room] for room in ("kitchen", "bedroom", "bathroom", "living_room")) >= 1
    assert len(house.rooms) == first.rooms
    assert len(house.objects) >= 40
    assert house.name in house_json(house)


def test_an_unknown_house_is_said_with_its_nearest_name() -> None:
    with pytest.raises(PlannerError, match="did you mean 'et_test_3'"):
        home_named("et_tset_3")
