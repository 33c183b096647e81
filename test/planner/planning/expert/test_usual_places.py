"""Where things of many classes are looked for."""

from __future__ import annotations

from planner.grounding.kinds import classes_of
from planner.planning.expert.usual_places import usual_furniture, usual_furniture_of


def test_of_many_classes_only_places_where_a_good_part_is_kept_count() -> None:
    found = usual_furniture_of(classes_of("toy"))
    assert found >= {"toy_box", "shelves", "table"}
    # A rubber duck may be in a bathtub, and a ball in a wardrobe.
    assert found.isdisjoint({"bathtub", "wardrobe", "sink", "cabinet"})


def test_of_one_class_all_places_of_its_groups_count() -> None:
    assert usual_furniture_of(["cup"]) == usual_furniture("cup") >= {"cabinet", "dishwasher"}
    assert usual_furniture_of(["no_such_class"]) == frozenset()
