"""The predicates on boxes: PARTNR-C1 to PARTNR-C7, PARTNR-D8 to PARTNR-D13."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from planner.evaluation.language import read_evaluation
from planner.evaluation.predicates import (
    Watch,
    edge_in_room,
    edge_inside,
    edge_on,
    floor_under,
    has_state,
    holds,
    is_clustered,
    is_in_room,
    is_inside,
    is_next_to,
    is_on_floor,
    is_on_top,
    key_points,
    on_top_of,
    stands_open,
)
from planner.evaluation.scene import BrokenStateError, Scene, world_box
from planner.world.geometry import Box, Pose
from planner.world.house_checks import load_house
from planner.world.share import config_dir
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, Relation, floor_name
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.opening import bare_episode


def scene(lab) -> Scene:
    return Scene(lab.house, lab.entities)


def test_check_1_three_of_nine_key_points_are_in_the_room(make_lab) -> None:
    lab = make_lab(["box_0"]).size("box_0", (1.0, 1.0, 1.0))
    # The wall between the kitchen and the living room is at x = 10.
    assert is_in_room(scene(lab.at("box_0", 9.6, 5)), "box_0", "kitchen_0")
    found = scene(lab.at("box_0", 10.0, 5))
    assert is_in_room(found, "box_0", "kitchen_0")
    assert is_in_room(found, "box_0", "living_room_0")
    assert not is_in_room(found, "box_0", "closet_0")
    # Sunk through the floor so far that of the kitchen's side two upper corners are left.
    found = scene(lab.at("box_0", 10.2, 5, -0.9))
    assert not is_in_room(found, "box_0", "kitchen_0")
    # With the centre above the floor and west of the wall there are three.
    found = scene(lab.at("box_0", 9.9, 5, -0.4))
    assert is_in_room(found, "box_0", "kitchen_0")
    assert not is_in_room(found, "box_0", "living_room_0")


@pytest.mark.parametrize(
    ("gap", "dz", "threshold", "expected"),
    [
        (0.50, 0.0, 0.5, True),
        (0.51, 0.0, 0.5, False),
        (0.1, 0.11, 0.5, False),
        (0.1, 0.1, 0.5, True),
        (0.3, 0.0, 0.2, False),
        (-0.05, 0.0, 0.0, True),
    ],
)
def test_check_2_next_to(make_lab, gap, dz, threshold, expected) -> None:
    lab = make_lab(["cup_0", "cup_1"])
    found = scene(lab.at("cup_0", 1, 5).at("cup_1", 1.1 + gap, 5, dz))
    assert is_next_to(found, "cup_0", "cup_1", threshold) is expected
    assert is_next_to(found, "cup_1", "cup_0", threshold) is expected


def test_the_distance_of_next_to_is_that_of_the_corners(make_lab) -> None:
    lab = make_lab(["cup_0", "cup_1"]).at("cup_0", 1, 5)
    assert is_next_to(scene(lab.at("cup_1", 1.4, 5.5)), "cup_0", "cup_1")
    assert not is_next_to(scene(lab.at("cup_1", 1.41, 5.51)), "cup_0", "cup_1")


def test_check_3_two_pairs_far_apart_are_clustered(make_lab) -> None:
    cups = [f"cup_{i}" for i in range(4)]
    lab = make_lab(cups).at("cup_0", 1, 1).at("cup_1", 1.3, 1).at("cup_2", 1, 6)
    assert is_clustered(scene(lab.at("cup_3", 1.3, 6)), cups)
    assert not is_clustered(scene(lab.at("cup_3", 4.1, 6)), cups)
    assert not is_clustered(scene(lab), cups[:1])


def test_check_4_without_the_affordance_both_states_are_false(make_lab) -> None:
    book = scene(make_lab(["book_0"]).set("book_0", "clean"))
    assert not any(
        has_state(book, predicate, "book_0") for predicate in default_states().predicates
    )


@pytest.mark.parametrize(("predicate", "meaning"), default_states().predicates.items())
def test_states_are_what_the_world_says(make_lab, predicate, meaning) -> None:
    state, wanted = meaning
    lab = make_lab(["cup_0"], tuple(default_states().affordances))
    assert has_state(scene(lab.set("cup_0", state, wanted)), predicate, "cup_0")
    assert not has_state(scene(lab.set("cup_0", state, not wanted)), predicate, "cup_0")


def test_a_piece_of_furniture_has_states_too(make_lab) -> None:
    found = scene(make_lab([]).set("table_0", "clean"))
    assert has_state(found, "is_clean", "table_0")
    assert has_state(found, "is_dirty", "table_1")


def test_check_5_on_the_floor(make_lab) -> None:
    lab = make_lab(["ball_0"])
    assert is_on_floor(scene(lab.at("ball_0", 1, 5, 0.03)), "ball_0")
    assert is_on_floor(scene(lab.at("ball_0", 1, 5, 0.04)), "ball_0")
    assert is_on_floor(scene(lab.at("ball_0", 1, 5, -0.03)), "ball_0")
    assert not is_on_floor(scene(lab.at("ball_0", 1, 5, 0.05)), "ball_0")
    assert not is_on_floor(scene(lab.on("ball_0", "table_0")), "ball_0")
    assert not is_on_floor(scene(lab.at("ball_0", -5, 5)), "ball_0")


def test_a_floor_as_receptacle_is_the_floor_of_that_room(make_lab) -> None:
    lab = make_lab(["ball_0"]).at("ball_0", 1, 5)
    assert on_top_of(scene(lab), "ball_0") == {floor_name("kitchen_0")}
    # Over the edge of a table the rays see the floor, and yet it is not on it.
    found = scene(lab.on("ball_0", "table_0", dx=0.5))
    assert on_top_of(found, "ball_0") == {"table_0"}


def test_check_6_one_corner_over_the_table_is_enough(make_lab) -> None:
    lab = make_lab(["cup_0"])
    assert is_on_top(scene(lab.on("cup_0", "table_0", 0.54, 0.54)), "cup_0", "table_0")
    assert not is_on_top(scene(lab.on("cup_0", "table_0", 0.56, 0.54)), "cup_0", "table_0")


def test_check_7_inside_and_on_the_lid(make_lab, pieces) -> None:
    lab = make_lab(["toy_0"], extra=[pieces["box"]("hall_0", "closet_0", 25, 5, 3.0)])
    found = scene(lab.inside("toy_0", "toy_box_0"))
    assert is_inside(found, "toy_0", "toy_box_0")
    found = scene(lab.on("toy_0", "toy_box_0"))
    assert not is_inside(found, "toy_0", "toy_box_0")
    assert is_on_top(found, "toy_0", "toy_box_0")
    # The walls of a hollow of 3 m are further away than the rays are long.
    assert not is_inside(scene(lab.at("toy_0", 25, 5, 1.45)), "toy_0", "hall_0")
    assert not is_inside(scene(lab.at("toy_0", 24, 5, 1.45)), "toy_0", "hall_0")


def test_a_cup_on_a_book_on_a_table(make_lab) -> None:
    lab = make_lab(["cup_0", "book_0"]).size("book_0", (0.3, 0.2, 0.04)).on("book_0", "table_0")
    found = scene(lab.on("cup_0", "table_0").at("cup_0", 2, 2, 0.74))
    assert on_top_of(found, "cup_0") == {"book_0"}
    # Half over the book's edge it is on top of both (PARTNR-D9).
    found = scene(lab.at("cup_0", 2.15, 2, 0.74))
    assert on_top_of(found, "cup_0") == {"book_0", "table_0"}
    assert on_top_of(found, "book_0") == {"table_0"}


def test_a_turned_book_carries_only_what_is_over_it(make_lab) -> None:
    lab = make_lab(["cup_0", "book_0"]).size("book_0", (0.8, 0.1, 0.04))
    lab.at("book_0", 2, 2, 0.7, math.pi / 4)
    # Within the box around the book, but beside the book itself.
    assert on_top_of(scene(lab.at("cup_0", 2.2, 1.8, 0.74)), "cup_0") == {"table_0"}
    assert on_top_of(scene(lab.at("cup_0", 2.2, 2.2, 0.74)), "cup_0") >= {"book_0"}


def test_a_centimetre_of_penetration_is_survived(make_lab) -> None:
    lab = make_lab(["cup_0"])
    assert is_on_top(scene(lab.at("cup_0", 2, 2, 0.691)), "cup_0", "table_0")


def test_a_thing_under_the_table_is_not_on_it(make_lab) -> None:
    assert on_top_of(scene(make_lab(["cup_0"]).at("cup_0", 2, 2)), "cup_0") == {"floor_kitchen_0"}


def test_agents_are_passed_through(make_lab) -> None:
    lab = make_lab(["cup_0"]).on("cup_0", "table_0").at("agent_0", 2, 2)
    assert on_top_of(scene(lab), "cup_0") == {"table_0"}


def test_d_9_a_thing_in_mid_air_is_on_what_is_straight_below(make_lab) -> None:
    lab = make_lab(["cup_0"])
    assert on_top_of(scene(lab.at("cup_0", 2, 2, 1.9)), "cup_0") == {"table_0"}
    assert on_top_of(scene(lab.at("cup_0", 3, 3, 1.9)), "cup_0") == frozenset()


def test_d_13_a_held_thing_is_judged_by_where_it_is(make_lab) -> None:
    lab = make_lab(["cup_0"]).at("cup_0", 2, 2, 0.9)
    lab.entities["agent_0"] = replace(lab.entities["agent_0"], hands=("cup_0",))
    lab.entities["cup_0"] = replace(lab.entities["cup_0"], parent="agent_0", relation=Relation.HELD)
    assert is_on_top(scene(lab), "cup_0", "table_0")
    assert not is_on_top(scene(lab.at("cup_0", 3, 3, 0.9)), "cup_0", "table_0")


@pytest.mark.parametrize("openness", [0.0, 0.3, 1.0])
def test_a_drawer_may_be_anywhere_between_closed_and_open(make_lab, pieces, openness) -> None:
    chest = pieces["drawers"]("chest_of_drawers_0", "closet_0", 25, 5)
    lab = make_lab(["sock_0"], extra=[chest]).open("chest_of_drawers_0", openness)
    # Things travel with the drawer.
    assert is_inside(
        scene(lab.at("sock_0", 25.2 + 0.4 * openness, 5, 0.1)), "sock_0", "chest_of_drawers_0"
    )
    assert is_inside(scene(lab.at("sock_0", 24.8, 5, 0.1)), "sock_0", "chest_of_drawers_0")
    assert not is_inside(
        scene(lab.at("sock_0", 25.25 + 0.4 * openness, 5, 0.1)), "sock_0", "chest_of_drawers_0"
    )


def test_nothing_is_in_or_on_or_beside_itself(make_lab) -> None:
    found = scene(make_lab(["cup_0"]).on("cup_0", "table_0"))
    assert not is_next_to(found, "cup_0", "cup_0")
    assert not is_on_top(found, "table_0", "table_0")
    assert not is_inside(found, "toy_box_0", "toy_box_0")


def test_a_thing_that_lies_askew_has_the_box_around_it(make_lab) -> None:
    lab = make_lab(["book_0"]).size("book_0", (0.3, 0.2, 0.04))
    half = math.sqrt(0.5)
    # Upright on its edge: a quarter turn about x takes y to z.
    tilted = Pose((1.0, 1.0, 0.2), (half, 0.0, 0.0, half))
    found = world_box(replace(lab.entities["book_0"], pose=tilted))
    assert found.size_m == pytest.approx((0.3, 0.04, 0.2))
    assert found.center_m == pytest.approx((1.0, 0.98, 0.2))


@pytest.mark.parametrize("x", [math.nan, math.inf, 1e9])
def test_a_pose_that_is_no_place_is_one_error(make_lab, x) -> None:
    lab = make_lab(["cup_0"]).at("cup_0", x, 1)
    with pytest.raises(BrokenStateError, match="cup_0 has no place in a house"):
        scene(lab)


@pytest.mark.parametrize(
    "path", sorted((config_dir() / "houses").rglob("*.json")), ids=lambda path: path.stem
)
def test_in_every_shipped_house_things_are_where_they_were_put(path) -> None:
    house = load_house(path)
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(house, bare_episode(house, 1), 0)
    state = backend.world_state()
    assert state is not None
    found = Scene(house, state.entities)
    things = [e for e in state.entities.values() if e.kind is EntityKind.OBJECT]
    assert things
    for thing in things:
        parent, room = str(thing.parent), str(thing.room)
        inside = [p.name for p in house.furniture if is_inside(found, thing.name, p.name)]
        if thing.relation is Relation.ON:
            assert on_top_of(found, thing.name) == {parent}
            assert inside == []
        else:
            assert inside == [parent]
        assert is_in_room(found, thing.name, room)
        assert is_on_floor(found, thing.name) is (parent == floor_name(room))


def test_key_points_are_the_corners_and_the_centre() -> None:
    found = list(key_points(Box((0.0, 1.0, 2.0), (4.0, 5.0, 6.0))))
    assert len(found) == len(set(found)) == 9
    assert set(found) == {(x, y, z) for x in (0, 4) for y in (1, 5) for z in (2, 6)} | {(2, 3, 4)}


@pytest.mark.parametrize(
    ("z", "on"), [(0.04, True), (0.041, False), (-0.04, True), (-0.041, False)]
)
def test_the_floor_is_as_far_below_as_above(make_lab, z, on) -> None:
    found = scene(make_lab(["ball_0"]).at("ball_0", 12, 8, z))
    assert floor_under(found, "ball_0") == (floor_name("living_room_0") if on else None)


def test_of_what_is_not_there_nothing_is_true(make_lab) -> None:
    found = scene(make_lab(["cup_0"]).on("cup_0", "table_0"))
    for one, other in (("cup_9", "table_0"), ("cup_0", "table_9")):
        assert not is_on_top(found, one, other)
        assert not is_inside(found, one, other)
        assert not is_next_to(found, one, other)
    assert not is_in_room(found, "cup_9", "kitchen_0")
    assert not is_on_floor(found, "cup_9")
    assert not has_state(found, "is_clean", "cup_9")
    assert stands_open(found, "cup_9") is None
    assert stands_open(found, "cup_0") is None


def test_two_are_a_cluster_as_far_apart_as_is_asked(make_lab) -> None:
    lab = make_lab(["cup_0", "cup_1"]).at("cup_0", 1, 5)
    pair = ["cup_0", "cup_1"]
    assert is_clustered(scene(lab.at("cup_1", 1.6, 5)), pair)
    assert not is_clustered(scene(lab), pair, 0.4)
    assert not is_clustered(scene(lab.at("cup_1", 1.7, 5)), pair)
    assert is_clustered(scene(lab), pair, 0.7)
    assert not is_clustered(scene(lab), ["cup_0"])
    assert not is_clustered(scene(lab), [])


def test_a_quarter_of_the_key_points_is_three_of_nine(make_lab) -> None:
    """Of a box across the wall at x = 10, four corners and the centre may be on one side."""
    lab = make_lab(["box_0"]).size("box_0", (1.0, 1.0, 1.0))
    for x, kitchen, living in ((9.4, True, False), (9.9, True, True), (10.1, True, True)):
        found = scene(lab.at("box_0", x, 5))
        assert is_in_room(found, "box_0", "kitchen_0") is kitchen
        assert is_in_room(found, "box_0", "living_room_0") is living
    # Only two corners, and the other two are above the rooms.
    assert not is_in_room(scene(lab), "box_0", "closet_0")
    assert not is_in_room(scene(lab), "box_0", "room_9")


@pytest.mark.parametrize(
    ("size", "at", "inside"),
    [
        ((0.6, 0.6, 0.6), (0.3, 0.0, 0.3), True),
        ((0.6, 0.6, 0.6), (-0.3, 0.3, 0.6), True),
        ((0.6, 0.6, 0.6), (0.0, -0.3, 0.0), True),
        ((0.6, 0.6, 0.6), (0.32, 0.0, 0.3), False),
        ((0.6, 0.6, 0.6), (-0.32, 0.0, 0.3), False),
        ((0.6, 0.6, 0.6), (0.0, 0.0, 0.62), False),
        # Of three metres to each side, no two opposing walls are within a metre of the middle.
        ((3.0, 3.0, 3.0), (0.0, 0.0, 1.5), False),
        ((2.0, 3.0, 3.0), (0.0, 0.0, 1.5), True),
        ((2.1, 3.0, 3.0), (0.0, 0.0, 1.5), False),
        ((1.6, 3.0, 3.0), (0.3, 0.0, 1.5), False),
        ((1.6, 3.0, 3.0), (-0.3, 0.0, 1.5), False),
        ((1.6, 3.0, 3.0), (0.2, 0.0, 1.5), True),
        ((3.0, 3.0, 0.4), (1.4, 0.0, 0.2), True),
    ],
)
def test_furniture_that_was_only_seen_is_hollow_between_near_walls(
    make_lab, size, at, inside
) -> None:
    lab = make_lab(["cup_0"]).at("cup_0", 5 + at[0], 5 + at[1], at[2] - 0.05)
    seen = replace(lab.entities["table_0"], name="chest_9", size_m=size, pose=Pose((5, 5, 0)))
    found = Scene(lab.house, {**lab.entities, "chest_9": seen})
    assert is_inside(found, "cup_0", "chest_9") is inside


# Worlds of edges


def edges(lab, **parents: tuple[str, Relation]):
    entities = dict(lab.entities)
    for name, (parent, relation) in parents.items():
        entities[name] = replace(entities[name], parent=parent, relation=relation, room="den_0")
    return entities


def test_edges_are_what_the_world_says(make_lab) -> None:
    lab = make_lab(["cup_0", "plate_0", "box_0", "spoon_0"])
    found = edges(
        lab,
        box_0=("cabinet_0", Relation.WITHIN),
        plate_0=("box_0", Relation.WITHIN),
        cup_0=("plate_0", Relation.ON),
        spoon_0=("agent_0", Relation.HELD),
    )
    assert edge_on(found, "cup_0") == {"plate_0"}
    for name in ("plate_0", "spoon_0", "table_0", "nothing_0"):
        assert edge_on(found, name) == frozenset()
    assert edge_inside(found, "plate_0", "box_0")
    assert edge_inside(found, "cup_0", "box_0"), "on something that is in it"
    assert edge_inside(found, "cup_0", "cabinet_0")
    assert not edge_inside(found, "cup_0", "plate_0")
    assert not edge_inside(found, "spoon_0", "agent_0")
    assert edge_in_room(found, "cup_0", "den_0")
    assert not edge_in_room(found, "cup_0", "kitchen_0")
    assert not edge_in_room(found, "nothing_0", "den_0")


# ET-Plan-Bench's relations, where they begin and end


def true(lab, relation: str, one: str, other: str) -> bool:
    return holds(Scene(lab.house, lab.entities), lab.state(), relation, one, other)


@pytest.mark.parametrize(("side", "gap"), [(1, 1.499), (-1, 1.499), (1, 1.5), (-1, 1.5)])
def test_close_is_from_one_centre_to_the_other_box_to_each_side(make_lab, side, gap) -> None:
    lab = make_lab(["cup_0", "rug_0"]).size("rug_0", (4.0, 4.0, 0.02)).at("rug_0", 5, 5)
    for x, y in ((5 + side * (2 + gap), 5), (5, 5 + side * (2 + gap))):
        lab.at("cup_0", x, y)
        assert true(lab, "CLOSE", "cup_0", "rug_0") is (gap < 1.5)
        assert true(lab, "CLOSE", "rug_0", "cup_0") is (gap < 1.5)
        lab.at("agent_0", x, y)
        assert true(lab, "CLOSE", "agent_0", "rug_0") is (gap < 1.5)
        assert true(lab, "CLOSE", "rug_0", "agent_0") is (gap < 1.5)
    lab.at("agent_0", 7 + 1.2, 7 + 1.2)
    assert not true(lab, "CLOSE", "agent_0", "rug_0"), "over the corner"


def test_an_agent_is_as_close_as_its_centre_whichever_is_named_first(make_lab) -> None:
    """From the middle of a long bench's box to the robot it is too far."""
    lab = make_lab(["bench_0"]).size("bench_0", (6.0, 0.4, 0.4)).at("bench_0", 5, 5)
    lab.at("agent_0", 8.0, 6.0)
    assert true(lab, "CLOSE", "agent_0", "bench_0")
    assert true(lab, "CLOSE", "bench_0", "agent_0")


@pytest.mark.parametrize(
    ("yaw", "faces"), [(0.0, True), (1.55, True), (-1.55, True), (1.6, False), (-1.6, False)]
)
def test_a_front_faces_a_right_angle_to_either_side(make_lab, yaw, faces) -> None:
    lab = make_lab(["cup_0"]).at("cup_0", 4, 5).at("agent_0", 2, 5, 0, yaw)
    lab.entities["cup_0"] = replace(lab.entities["cup_0"], room="kitchen_0")
    assert true(lab, "FACING", "agent_0", "cup_0") is faces
    lab.at("cup_0", 2, 7).at("agent_0", 2, 5, 0, math.pi / 2 + yaw)
    assert true(lab, "FACING", "agent_0", "cup_0") is faces
    assert true(lab, "FACING", "cup_0", "agent_0"), "a cup has no front"


def test_facing_ends_at_five_metres_and_at_walls(make_lab) -> None:
    lab = make_lab(["cup_0", "cup_1"]).at("cup_0", 1, 5)
    for x, faces in ((5.99, True), (6.0, False)):
        lab.at("cup_1", x, 5)
        for name in ("cup_0", "cup_1"):
            lab.entities[name] = replace(lab.entities[name], room="kitchen_0")
        assert true(lab, "FACING", "cup_0", "cup_1") is faces
    lab.at("cup_1", 1, 5, 4.0)
    assert true(lab, "FACING", "cup_0", "cup_1")
    for name in ("cup_0", "cup_1"):
        lab.entities[name] = replace(lab.entities[name], room=None)
    assert not true(lab, "FACING", "cup_0", "cup_1"), "outside of all rooms"


def test_rooms_and_their_floors_as_targets(make_lab) -> None:
    lab = make_lab(["cup_0"]).on("cup_0", "table_0")
    floor = floor_name("kitchen_0")
    for relation, other, expected in (
        ("INSIDE", "kitchen_0", True),
        ("CLOSE", "kitchen_0", True),
        ("ON", "kitchen_0", False),
        ("FACING", "kitchen_0", False),
        ("INSIDE", floor, False),
        ("ON", floor, False),
        ("CLOSE", floor, True),
        ("INSIDE", "living_room_0", False),
    ):
        assert true(lab, relation, "cup_0", other) is expected, (relation, other)
    lab.at("cup_0", 1, 5)
    for relation, other in (("ON", floor), ("INSIDE", floor), ("ON", "kitchen_0")):
        assert true(lab, relation, "cup_0", other), (relation, other)
    assert not true(lab, "ON", "cup_0", floor_name("living_room_0"))
    assert not true(lab, "ON", "cup_0", "kitchen_9")
    assert not true(lab, "INSIDE", "kitchen_0", "kitchen_0")
    lab.at("agent_0", 12, 5)
    assert true(lab, "INSIDE", "agent_0", "living_room_0"), "where it stands"
    assert not true(lab, "INSIDE", "agent_0", "kitchen_0")


def test_in_a_thing_is_also_what_has_its_middle_in_its_box(make_lab) -> None:
    lab = make_lab(["ball_0", "crate_0"]).size("crate_0", (0.4, 0.4, 0.4)).at("crate_0", 4, 5)
    lab.size("ball_0", (0.1, 0.1, 0.1))
    for dx, dy, z, expected in (
        (0.0, 0.0, 0.1, True),
        (0.2, -0.2, 0.35, True),
        (0.21, 0.0, 0.1, False),
        (0.0, -0.21, 0.1, False),
    ):
        lab.at("ball_0", 4 + dx, 5 + dy, z)
        assert true(lab, "INSIDE", "ball_0", "crate_0") is expected, (dx, dy, z)
    lab.at("ball_0", 4, 5, 0.4)
    assert true(lab, "ON", "ball_0", "crate_0")
    assert not true(lab, "INSIDE", "ball_0", "agent_0")
    assert not true(lab, "ON", "ball_0", "agent_0")


# Witnesses


def watch(lab, name: str, **args: object) -> tuple[Watch, Scene]:
    document = {"propositions": [{"function_name": name, "args": args}]}
    found = scene(lab)
    return Watch(read_evaluation(document, "one").propositions[0], found), found


def test_a_clusters_witnesses_are_one_of_each_list_that_stand_together(make_lab) -> None:
    lab = make_lab(["cup_0", "cup_1", "plate_0", "pan_0"])
    lab.at("cup_0", 1, 5).at("plate_0", 1.3, 5).at("cup_1", 5, 5).at("pan_0", 1.3, 5.3)
    lists = [["cup_0", "cup_1"], ["plate_0", "pan_0"]]
    seen, found = watch(lab, "is_clustered", entities=lists)
    assert seen.holds
    assert seen.values == ({"cup_0"}, {"plate_0", "pan_0"})
    assert seen.names == {"cup_0", "cup_1", "plate_0", "pan_0"}
    found.update([replace(lab.entities["cup_0"], pose=Pose.planar(8, 5))], [])
    assert seen.refresh(found, {"cup_0"}) is True
    assert (seen.holds, seen.values) == (False, (frozenset(), frozenset()))
    assert seen.refresh(found, {"cup_0"}) is False
    three, _ = watch(lab, "is_clustered", entities=[["cup_0"], ["plate_0"], ["cup_1"]])
    assert not three.holds
    same, _ = watch(lab, "is_clustered", entities=[["cup_0", "plate_0"], ["plate_0", "cup_0"]])
    assert same.values == ({"cup_0", "plate_0"}, {"cup_0", "plate_0"})
    alone, _ = watch(lab, "is_clustered", entities=[["cup_1"], ["cup_1", "plate_0"]])
    assert not alone.holds, "nothing is a cluster by itself"


def test_witnesses_are_counted_by_the_first_list_or_for_one_of_the_second(make_lab) -> None:
    lab = make_lab(["cup_0", "cup_1", "cup_2"])
    lab.on("cup_0", "table_0").on("cup_1", "table_0", dx=0.3).on("cup_2", "table_1")
    cups, tables = ["cup_0", "cup_1", "cup_2"], ["table_0", "table_1"]
    for number, any_one, one_alone in ((2, True, True), (3, True, False)):
        args = {"objects": cups, "receptacles": tables, "number": number}
        loose, _ = watch(lab, "is_on_top", **args)
        assert loose.holds is any_one
        assert loose.values == (set(cups), set(tables))
        assert loose.serving == set(cups)
        strict, _ = watch(lab, "is_on_top", is_same_b=True, **args)
        assert strict.holds is one_alone
        kept = ({"cup_0", "cup_1"}, {"table_0"}) if one_alone else (set(), set())
        assert strict.values == kept
        assert strict.serving == set(cups)
    rows, found = watch(lab, "is_on_top", objects=cups, receptacles=tables)
    assert rows.rows == {"cup_0": {"table_0"}, "cup_1": {"table_0"}, "cup_2": {"table_1"}}
    found.update([replace(lab.entities["cup_2"], pose=Pose.planar(8, 5))], [])
    assert rows.refresh(found, {"agent_0"}) is False, "nothing that it names has changed"
    assert rows.rows["cup_2"] == {"table_1"}
    assert rows.refresh(found, {"cup_2"}) is True
    assert rows.rows["cup_2"] == frozenset()


def test_each_predicate_is_asked_of_each_pair(make_lab) -> None:
    lab = make_lab(["cup_0", "toy_0"], ("cleanable",)).inside("toy_0", "toy_box_0")
    lab.at("cup_0", 1, 5).set("cup_0", "clean")
    for name, args, row in (
        ("is_inside", {"objects": ["toy_0"], "receptacles": ["toy_box_0", "cabinet_0"]},
         {"toy_0": {"toy_box_0"}}),
        ("is_in_room", {"objects": ["cup_0"], "rooms": ["kitchen_0", "closet_0"]},
         {"cup_0": {"kitchen_0"}}),
        ("is_on_floor", {"objects": ["cup_0", "toy_0"]}, {"cup_0": {""}, "toy_0": set()}),
        ("is_clean", {"objects": ["cup_0", "toy_0"]}, {"cup_0": {""}, "toy_0": set()}),
        ("is_dirty", {"objects": ["cup_0", "toy_0"]}, {"cup_0": set(), "toy_0": {""}}),
        ("is_next_to", {"entities_a": ["cup_0"], "entities_b": ["toy_0", "agent_0"]},
         {"cup_0": set()}),
    ):  # fmt: skip
        seen, _ = watch(lab, name, **args)
        assert seen.rows == row, name
        second = 1 if "rooms" in args or "receptacles" in args or "entities_b" in args else 0
        assert len(seen.values) == 1 + second, name
    # What it is in moves: the second list has changed.
    seen, found = watch(lab, "is_next_to", entities_a=["cup_0"], entities_b=["toy_0"])
    found.update([replace(lab.entities["toy_0"], pose=Pose.planar(1.3, 5))], [])
    assert seen.refresh(found, {"toy_0"}) is True
    assert seen.holds
