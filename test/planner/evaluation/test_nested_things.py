"""Things in and on things: in which of them a thing counts, however they stand (PARTNR-D9, D10).

What a thing is on is only what is directly below it; what it is in is all that is around it.
"""

from __future__ import annotations

import math

from hypothesis import strategies as st
from random_cases import random_cases

from planner.evaluation.predicates import is_inside, is_on_top
from planner.evaluation.scene import Scene
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Pose
from planner.world.receptacle import known_shape

SIZES = {f"{n}_0": c.size_m for n, c in default_catalogue().objects.items()}
HOLLOW = frozenset({"storage_box_0", "basket_0", "bowl_0"})
OUTER = ("storage_box_0", "basket_0", "tray_0", "plate_0")
SUPPORTS = ("table_0", "toy_box_0", "floor")

# From the outside in; each fits the hollow or the top of the one before.
nest = st.tuples(st.sampled_from(OUTER), st.sampled_from([("bowl_0",), ("bowl_0", "egg_0")]))
turns = st.tuples(*(st.floats(-3.14, 3.14) for _ in range(3)))
quarters = st.tuples(*(st.integers(0, 3).map(lambda n: n * math.pi / 2) for _ in range(3)))


def stacked(lab, names: list[str], support: str, yaws: tuple[float, ...]) -> Scene:
    for name in names:
        lab.size(name, SIZES[name])
    x, y, z = {"table_0": (2, 2, 0.7), "toy_box_0": (15, 5, 0.02), "floor": (5, 6, 0)}[support]
    at = (x, y, z)
    for name, yaw in zip(names, yaws, strict=False):
        lab.at(name, *at, yaw)
        shape = known_shape(name.rpartition("_")[0], SIZES[name])
        pose = lab.entities[name].pose
        if shape.hollow is not None:
            dx, dy, dz = shape.hollow.center
            at = pose.apply((dx, dy, dz - shape.hollow.size[2] / 2))
        elif shape.top is not None:
            at = pose.apply(shape.top.center)
    return Scene(lab.house, lab.entities)


@random_cases(20, 500, nest, st.sampled_from(SUPPORTS), turns)
def test_a_thing_is_inside_of_all_that_is_around_it(make_lab, things, support, yaws) -> None:
    names = [things[0], *things[1]]
    scene = stacked(make_lab(names), names, support, yaws)
    for i, outer in enumerate(names):
        for k, inner in enumerate(names):
            assert is_inside(scene, inner, outer) is (k > i and outer in HOLLOW), (inner, outer)
        assert is_inside(scene, outer, "toy_box_0") is (support == "toy_box_0")


# Rays fall from the corners of boxes along the map's axes, which stick out of what is turned.
@random_cases(20, 500, nest, st.sampled_from(SUPPORTS), quarters)
def test_a_thing_is_on_what_is_directly_below_it(make_lab, things, support, yaws) -> None:
    names = [things[0], *things[1]]
    scene = stacked(make_lab(names), names, support, yaws)
    for i, outer in enumerate(names):
        for k, inner in enumerate(names):
            assert is_on_top(scene, inner, outer) is (k == i + 1), (inner, outer)
        if support == "table_0":
            assert is_on_top(scene, outer, support) is (i == 0)


@random_cases(20, 500, nest, turns, st.floats(-0.2, 0.2), st.floats(-3.14, 3.14))
def test_what_is_in_a_thing_is_in_it_elsewhere(make_lab, things, yaws, aside_m, turn) -> None:
    names = [things[0], *things[1]]
    lab = make_lab(names)
    before = stacked(lab, names, "table_0", yaws)
    truths = {(a, b): is_inside(before, a, b) for a in names for b in names}
    old = lab.entities[names[0]].pose
    new = Pose.planar(12 + aside_m, 2, turn, 0.7)
    for name in names:
        pose = lab.entities[name].pose
        at = new.apply(old.inverse().apply(pose.position_m))
        lab.at(name, *at, pose.yaw_rad - old.yaw_rad + turn)
    after = Scene(lab.house, lab.entities)
    assert {(a, b): is_inside(after, a, b) for a in names for b in names} == truths
    assert is_on_top(after, names[0], "table_2")
