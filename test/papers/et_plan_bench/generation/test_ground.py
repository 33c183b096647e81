"""Where to stand in a generated home, for an agent that is not on free floor itself."""

from __future__ import annotations

from functools import cache

import pytest

from papers.et_plan_bench.generation.categories import home_named
from planner.skills.ground import Ground
from planner.world.agents import default_bodies
from planner.world.vocabulary import AgentKind

REACH_M = 1.5


@cache
def ground(house: str) -> Ground:
    return Ground(home_named(house).make(), default_bodies()[AgentKind.HUMAN].radius_m)


@pytest.mark.parametrize(
    ("base", "in_gap"),
    # Both are beside a counter, where free floor of 4 cells lies between it and the table.
    [((2.55, 10.89, 0.0), True), ((1.65, 11.15, 0.0), False)],
)
def test_a_gap_between_furniture_is_nowhere_to_be_caught(
    base: tuple[float, float, float], *, in_gap: bool
) -> None:
    floor = ground("et_test_7")
    nearest = floor.grid.nearest_free(*base[:2], within_m=1.0)
    assert nearest is not None
    part = floor.grid.components.flat[nearest]
    assert bool((floor.grid.components == part).sum() < 10) is in_gap
    stand = floor.at_furniture(floor.layout.furniture_by_name["fridge_0"], base, REACH_M)
    assert stand is not None
    largest = floor.grid.component(1.65, 11.15)
    assert floor.grid.component(stand.x_m, stand.y_m) == largest
    assert floor.walk_m(base, (0.43, 9.66, 0.6), REACH_M) < 4.0


def test_a_body_in_a_gap_goes_to_the_floor_of_its_own_room() -> None:
    floor = ground("et_test_7")
    base = (2.55, 10.89, 0.0)
    room = floor.layout.room_at(*base[:2])
    assert room is not None
    stand = floor.in_room(room, base)
    assert stand is not None
    assert floor.layout.room_at(stand.x_m, stand.y_m) == room
