"""Frozen records of files."""

from __future__ import annotations

from planner.world.house import House


def test_a_changed_copy_computes_again_what_the_original_had_computed(small_house: House) -> None:
    assert small_house.layout.objects == ()
    assert "fridge_9" not in small_house.furniture_by_name
    piece = small_house.furniture[0]
    before_m = piece.pose.position_m
    moved = piece.model_copy(update={"x_m": piece.x_m + 1.0, "name": "fridge_9"})
    assert moved.pose.position_m == (before_m[0] + 1.0, *before_m[1:])
    assert moved.box.minimum_m[0] == piece.box.minimum_m[0] + 1.0
    changed = small_house.model_copy(update={"furniture": (moved,)})
    assert list(changed.furniture_by_name) == ["fridge_9"]
    assert changed.layout.furniture == (moved,)
    assert piece.pose.position_m == before_m
