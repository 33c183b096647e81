"""Where things may be put in furniture and beside it."""

from __future__ import annotations

from planner.skills.ground import spots, spots_beside
from planner.world.belief import BeliefNode
from planner.world.house import House
from planner.world.vocabulary import EntityKind, Relation


def test_in_a_hollow_the_first_thing_goes_into_a_corner(small_house: House) -> None:
    """In the middle of the basin's side, it would often be the only one."""
    sink = small_house.furniture_by_name["sink_0"]
    (basin,) = sink.interiors
    middle_x, middle_y, _ = sink.pose.apply(basin.center)
    first = spots(sink, Relation.WITHIN, (), (middle_x, middle_y + 1.0, 0.0), 0.0)[0].point_m
    assert abs(first[0] - middle_x) > basin.size[1] / 4
    assert first[1] - middle_y > basin.size[0] / 4


def test_beside_furniture_only_free_points_near_it_are_offered(small_house: House) -> None:
    cabinet = small_house.furniture_by_name["cabinet_0"].model_copy(update={"x_m": 2.0})
    sink = small_house.furniture_by_name["sink_0"]
    found = spots_beside(cabinet, Relation.ON, (), sink, 0.0, 0.5)
    assert found
    assert all(spot.point_m[0] - sink.box.maximum_m[0] <= 0.5 for spot in found)
    size_m = (0.4, 0.4, 0.2)
    vase = BeliefNode(
        "vase_0", EntityKind.OBJECT, "vase", 1, (1.65, cabinet.y_m, 1.0), size_m=size_m
    )
    assert not spots_beside(cabinet, Relation.ON, (vase,), sink, 0.0, 0.5)
