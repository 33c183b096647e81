"""`is_inside` and `is_on_top` with things as receptacles (PARTNR-D9, PARTNR-D10)."""

from __future__ import annotations

import pytest

from planner.evaluation.entity_checks import facts_of_state
from planner.evaluation.predicates import holds, is_inside, is_on_floor, is_on_top
from planner.evaluation.scene import Scene
from planner.world.catalogue import default_catalogue

SIZES = {name: cls.size_m for name, cls in default_catalogue().objects.items()}
APPLE, PAN = SIZES["apple"], SIZES["pan"]


@pytest.fixture
def lab(make_lab):
    made = make_lab(["apple_0", "pan_0", "plate_0", "bucket_0", "cup_0"])
    for name in ("apple", "pan", "plate", "bucket", "cup"):
        made.size(f"{name}_0", SIZES[name])
        made.at(f"{name}_0", 3.0 + 0.5 * len(name), 7, 0)
    return made


def scene(lab) -> Scene:
    return Scene(lab.house, lab.entities)


@pytest.mark.parametrize("yaw", [0.0, 0.8, 3.0])
def test_an_apple_in_a_pan_is_in_it_and_on_it_and_not_on_the_table(lab, yaw: float) -> None:
    lab.at("pan_0", 2.0, 2.0, 0.7, yaw)
    x, y, z = lab.entities["pan_0"].pose.apply((-0.095, 0.0, 0.0115))
    lab.at("apple_0", x, y, z, 0.3)
    now = scene(lab)
    assert is_inside(now, "apple_0", "pan_0")
    assert is_on_top(now, "apple_0", "pan_0")
    assert not is_on_top(now, "apple_0", "table_0")
    assert is_on_top(now, "pan_0", "table_0")
    assert not is_inside(now, "pan_0", "apple_0")


def test_beside_and_above_is_not_inside(lab) -> None:
    lab.at("pan_0", 2.0, 2.0, 0.7)
    for offset in ((0.12, 0.0, 0.02), (-0.095, 0.0, 0.06), (-0.095, 0.2, 0.0)):
        lab.at("apple_0", *lab.entities["pan_0"].pose.apply(offset))
        assert not is_inside(scene(lab), "apple_0", "pan_0"), offset


def test_what_is_deep_in_a_bucket_on_the_floor_is_not_on_the_floor(lab) -> None:
    lab.at("bucket_0", 5.0, 5.0, 0.0)
    lab.at("apple_0", 5.0, 5.0, 0.012)
    now = scene(lab)
    assert is_inside(now, "apple_0", "bucket_0")
    assert is_on_top(now, "apple_0", "bucket_0")
    assert not is_on_floor(now, "apple_0")
    assert is_on_floor(now, "bucket_0")


def test_a_plate_has_a_top_and_no_inside(lab) -> None:
    lab.at("plate_0", 2.0, 2.0, 0.7)
    lab.at("apple_0", 2.0, 2.0, 0.716)
    now = scene(lab)
    assert is_on_top(now, "apple_0", "plate_0")
    assert not is_inside(now, "apple_0", "plate_0")


def test_only_what_has_a_hollow_may_be_named_as_having_an_inside(lab) -> None:
    facts = facts_of_state(lab.state(), lab.house)
    hollow = {name for name in ("pan_0", "plate_0", "bucket_0", "cup_0") if facts[name].hollow}
    assert hollow == {"pan_0", "bucket_0"}


@pytest.mark.parametrize(
    ("holder", "at", "truths"),
    [
        ("pan_0", (-0.095, 0.0, 0.0115), {"ON": True, "INSIDE": True}),
        # What has only a top has nothing but that to be in.
        ("plate_0", (0.0, 0.0, 0.016), {"ON": True, "INSIDE": True}),
        ("cup_0", (0.0, 0.0, 0.097), {"ON": True, "INSIDE": False}),
        ("plate_0", (0.3, 0.0, 0.0), {"ON": False, "INSIDE": False}),
    ],
)
def test_criteria_follow_the_hollow_and_the_top_of_things(lab, holder, at, truths) -> None:
    lab.at(holder, 2.0, 2.0, 0.7)
    lab.at("apple_0", *lab.entities[holder].pose.apply(at))
    now, state = scene(lab), lab.state()
    assert {r: holds(now, state, r, "apple_0", holder) for r in truths} == truths
