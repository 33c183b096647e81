"""The reach of a house is searched once, and let go with the house."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from planner.world import object_checks
from planner.world.house import House
from planner.world.object_checks import Reach, reach_of


def test_a_house_is_searched_once_and_a_copy_of_it_again(small_house: House) -> None:
    kept = reach_of(small_house)
    assert reach_of(small_house) is kept
    emptied = small_house.model_copy(update={"furniture": (), "objects": ()})
    assert np.array_equal(reach_of(emptied).walkable, Reach(emptied).walkable)
    assert reach_of(emptied).walkable.sum() > kept.walkable.sum()
    assert reach_of(small_house) is kept


def test_no_house_is_kept_for_its_reach(small_house: House) -> None:
    house = small_house.model_copy(update={"name": "other"})
    searched, owner = weakref.ref(reach_of(house)), weakref.ref(house)
    del house
    gc.collect()
    assert owner() is None
    assert searched() is None


def test_only_so_many_are_kept(small_house: House) -> None:
    houses = [small_house.model_copy(update={"name": f"house-{n}"}) for n in range(20)]
    first = reach_of(houses[0])
    for house in houses:
        reach_of(house)
    assert len(object_checks._cache) == object_checks._MAX_CACHED
    assert reach_of(houses[0]) is not first


def test_a_point_is_looked_at_once_and_only_so_many_are_remembered(
    small_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[tuple[float, float]] = []
    sees = Reach._sees_floor

    def counted(self: Reach, x_m: float, y_m: float) -> bool:
        looked.append((x_m, y_m))
        return sees(self, x_m, y_m)

    monkeypatch.setattr(Reach, "_sees_floor", counted)
    monkeypatch.setattr(object_checks, "_MAX_POINTS", 2)
    found = Reach(small_house)
    points = [(x, y, 0.8) for x, y in found._stands_m[:3].tolist()]
    first = [found.to_point(*point) for point in points[:2]]
    assert [found.to_point(*point) for point in points[:2]] == first == [True, True]
    assert len(looked) == 2
    assert all(found.to_point(*point) for point in (points[2], points[2], points[0]))
    assert len(looked) == 4
    assert len(found._known) <= 2
