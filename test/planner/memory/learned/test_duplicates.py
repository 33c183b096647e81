from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.memory.learned.duplicates import apart_m, is_remembered, seen_twice
from planner.world.entity import Entity
from planner.world.geometry import Vec3

CUP_M = (0.08, 0.1, 0.1)


def cup(number: int, x_m: float, class_name: str = "cup") -> Entity:
    return Entity(
        entity_id=number,
        is_furniture=False,
        description="",
        class_name=class_name,
        name=f"{class_name}_{number}",
        position_m=(x_m, 0.0, 0.8),
        size_m=CUP_M,
    )


@pytest.mark.parametrize(
    ("size_m", "least_m"),
    [((0.23, 0.33, 0.22), 0.1725), ((0.02, 0.24, 0.01), 0.08), ((0.0, 0.0, 0.0), 0.08)],
)
def test_broad_things_are_farther_apart(size_m: Vec3, least_m: float) -> None:
    assert apart_m(size_m) == pytest.approx(least_m)


def test_only_a_thing_of_the_same_class_is_the_same_thing() -> None:
    things = [cup(1, 0.0), cup(2, 0.0, "bowl")]
    assert is_remembered("cup", CUP_M, (0.07, 0.0, 0.8), things)
    assert not is_remembered("cup", CUP_M, (0.09, 0.0, 0.8), things)
    assert not is_remembered("plate", CUP_M, (0.0, 0.0, 0.8), things)


def test_what_an_agent_handled_exists_though_another_is_beside_it() -> None:
    things = [cup(1, 0.0), cup(2, 0.05), cup(3, 0.05, "bowl"), cup(4, 0.3)]
    assert [e.entity_id for e in seen_twice(things, {1}, lambda _: False)] == [2]
    assert seen_twice(things, {1}, lambda e: e.entity_id == 2) == []
    assert seen_twice(things, {1, 2}, lambda _: False) == []


@given(st.lists(st.floats(-1, 1), max_size=8), st.sets(st.integers(0, 7)))
def test_what_is_shown_stays_and_what_goes_is_beside_it(
    places: list[float], matched: set[int]
) -> None:
    things = [cup(number, x) for number, x in enumerate(places)]
    gone = seen_twice(things, matched, lambda _: False)
    assert not {e.entity_id for e in gone} & matched
    shown = [e for e in things if e.entity_id in matched]
    for thing in things:
        apart = [math.dist(thing.position_m, other.position_m) for other in shown]
        beside = min(apart, default=math.inf) < apart_m(CUP_M)
        assert (thing in gone) == (beside and thing.entity_id not in matched)
