"""What things are put into and onto: hollows and tops of classes, and shapes that are open."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from papers.et_plan_bench.generation.categories import home_named
from papers.et_plan_bench.generation.house_facts import (
    HouseFacts,
    facts_of,
    fits_at,
    fits_in_thing,
)
from papers.et_plan_bench.generation.least_walk import Walking
from planner.app.task_worlds import call_action
from planner.world.catalogue import ObjectClass, default_catalogue
from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.files import parse_model
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from planner.world.receptacle import parts_beside, shape_of, sides_along, spot_at_piece
from planner.world.shapes import Part, Shape, SolidPart, scale_parts, solids
from planner.world.vocabulary import Relation
from sim_bridge.graph.acting import act
from sim_bridge.graph.scene import start_of
from sim_bridge.graph.world import GraphWorld

CLASSES = [cls for cls in default_catalogue().objects.values() if cls.holds_things]


def covers(solid: SolidPart, point: Vec3) -> bool:
    """Whether a point of the owner's frame is in a solid, taken as its box."""
    x, y, z = (at - middle for at, middle in zip(point, solid.part.center, strict=True))
    c, s = math.cos(solid.yaw_rad), math.sin(solid.yaw_rad)
    sx, sy, sz = solid.part.size
    return abs(x * c + y * s) < sx / 2 and abs(y * c - x * s) < sy / 2 and abs(z) < sz / 2


@pytest.mark.parametrize("shape", [Shape.OPEN_BOX, Shape.OPEN_CYLINDER])
def test_open_shapes_have_walls_and_a_floor_and_are_empty(shape: Shape) -> None:
    made = list(solids(Part(shape=shape, center=(1, 2, 0.5), size=(1, 1, 1), rgb=(1, 1, 1))))
    filled = [any(covers(solid, (1 + x, 2, z)) for solid in made) for x, z in (
        (0.0, 0.5), (0.0, 0.99), (0.3, 0.5), (0.0, 0.01), (0.47, 0.5), (-0.47, 0.99), (0.51, 0.5)
    )]  # fmt: skip
    assert filled == [False, False, False, True, True, True, False]


def test_some_classes_hold_things() -> None:
    names = {cls.name for cls in CLASSES}
    assert {"bowl", "pan", "pot", "plate", "tray", "basket"} <= names


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.name)
def test_hollows_and_tops_are_free_and_have_ground(cls: ObjectClass) -> None:
    made = [solid for part in scale_parts(cls.parts, cls.size_m) for solid in solids(part)]
    shape = shape_of(cls, cls.size_m)
    for part, rest in zip(
        [p for p in (shape.hollow, shape.top) if p is not None], shape.rests_m, strict=True
    ):
        x, y, _ = part.center
        half = (0.49 * part.size[0], 0.49 * part.size[1])
        corners = [(x + a * half[0], y + b * half[1]) for a in (-1, 0, 1) for b in (-1, 0, 1)]
        for at in corners:
            assert not any(covers(solid, (*at, rest + 0.002)) for solid in made), at
        assert any(covers(solid, (x, y, rest - 0.003)) for solid in made)
    if shape.hollow is not None:
        x, y, z = shape.hollow.center
        assert not any(covers(solid, (x, y, z)) for solid in made)


def test_hollows_scale_with_the_thing() -> None:
    cls = default_catalogue().objects["pan"]
    x, y, z = cls.size_m
    hollow = shape_of(cls, (2 * x, 2 * y, 2 * z)).hollow
    assert hollow is not None
    assert hollow.center[0] == pytest.approx(-0.19)
    assert hollow.size == pytest.approx((0.326, 0.326, 0.062))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"hollow": {"size_m": [0.3, 0.1, 0.04], "bottom_m": 0.01}}, "wider along x"),
        ({"hollow": {"size_m": [0.1, 0.1, 0.2], "bottom_m": 0.01}}, "reaches to 0.210 m"),
        ({"hollow": {"size_m": [0.1, 0.1, -0.2], "bottom_m": 0.01}}, r"hollow\.size_m\.2"),
        ({"top": {"size_m": [0.1, 0.1], "height_m": 0.2}}, "its top is at 0.2 m"),
        ({"top": {"size_m": [0.1, 0.1], "height_m": 0.01, "center_m": [0.1, 0]}}, "wider along x"),
        ({"hollow": {"size_m": [0.1, 0.1, 0.04]}}, r"hollow\.bottom_m"),
    ],
)
def test_impossible_hollows_and_tops_are_refused(change: dict[str, object], reason: str) -> None:
    bowl = default_catalogue().objects["bowl"].model_dump(mode="json", exclude={"hollow", "top"})
    with pytest.raises(FileError, match=reason):
        parse_model({**bowl, **change}, ObjectClass, Path("objects.yaml"))


def piece_at(house: House, name: str, x_m: float) -> Furniture:
    return house.furniture_by_name[name].model_copy(update={"x_m": x_m})


# The sink ends at x 1.25 m and is 1.12 m high; the cabinet's top is 0.82 m wide and 0.90 m high.
@pytest.mark.parametrize(
    ("x_m", "within_m", "parts"),
    [
        (1.67, 0.5, {"top"}),
        (2.15, 0.5, {"top"}),
        (2.17, 0.5, set()),
        (2.17, 0.6, {"top"}),
    ],
)
def test_the_gap_is_that_to_the_nearest_end_of_the_surface(
    small_house: House, x_m: float, within_m: float, parts: set[str]
) -> None:
    sink, cabinet = small_house.furniture_by_name["sink_0"], piece_at(small_house, "cabinet_0", x_m)
    assert parts_beside(cabinet, Relation.ON, sink, within_m) == parts


def test_of_its_boards_those_count_that_are_near_enough(small_house: House) -> None:
    sink, cabinet = small_house.furniture_by_name["sink_0"], piece_at(small_house, "cabinet_0", 2.0)
    found = parts_beside(cabinet, Relation.WITHIN, sink, 0.5)
    assert found == {"left_lower", "left_upper"}


def test_what_stands_higher_than_the_reference_is_not_next_to_it(small_house: House) -> None:
    table, cabinet = piece_at(small_house, "table_0", 0.0), piece_at(small_house, "cabinet_0", 0.0)
    cabinet = cabinet.model_copy(update={"y_m": table.y_m - 0.5})
    assert not parts_beside(cabinet, Relation.ON, table, 0.5)
    assert parts_beside(cabinet, Relation.WITHIN, table, 0.5) == {"left_lower", "right_lower"}
    assert parts_beside(table, Relation.ON, cabinet, 0.5) == {"top"}


SIZE_M = (0.24, 0.11, 0.05)


@pytest.fixture(scope="module")
def facts() -> HouseFacts:
    return facts_of(home_named("et_test_9").make())


def test_nothing_sticks_out_of_a_surface_on_which_it_fits(facts: HouseFacts) -> None:
    tried = 0
    for piece in facts.house.furniture:
        if not piece.surfaces:
            continue
        top, sides = piece.surfaces[0], sides_along(piece, SIZE_M)
        if any(side > size for side, size in zip(sides, top.size, strict=True)):
            continue
        tried += 1
        for number in range(1, 30):
            spot = spot_at_piece(number, piece, Relation.ON, SIZE_M)
            local = piece.pose_inverse.apply(spot)
            for at, middle, size, side in zip(local, top.center, top.size, sides, strict=False):
                assert abs(at - middle) + side / 2 <= size / 2 + 1e-9
    assert tried > 10


def test_what_fits_only_turned_does_not_go_there(facts: HouseFacts) -> None:
    """A board game of 0.30 by 0.41 m and boards 0.35 m deep, along the one axis or the other."""
    game = Walking(facts).sized("board_game_0")
    across, along = facts.entities["shelves_1"], facts.entities["shelves_0"]
    assert across.piece is not None
    deep_m, long_m = across.piece.surfaces[0].size
    assert game.size_m[0] < deep_m < game.size_m[1] < long_m
    assert not fits_at((game,), across, Relation.ON)
    assert fits_at((game,), along, Relation.ON)


def test_a_holder_smaller_than_usual_holds_less() -> None:
    """A plate of 0.238 m on a tray 0.258 m wide, whose bottom is narrower than a usual one's."""
    entities = facts_of(home_named("et_test_1").make()).entities
    plate, tray = entities["plate_0"], entities["tray_0"]
    top = tray.shape.top
    assert top is not None
    assert min(top.size) < min(plate.size_m[:2]) < min(tray.size_m[:2])
    assert not fits_in_thing(plate, tray)
    assert fits_in_thing(replace(plate, size_m=(*top.size, 0.015)), tray)


def test_the_world_puts_things_there(facts: HouseFacts) -> None:
    episode = Episode.model_validate(
        {
            "version": 1,
            "episode_id": "put",
            "house": facts.house.name,
            "instruction": "Put it there.",
            "agents": [{"uid": "agent_0", "kind": "human", "start": [6.75, 1.05, 0.0]}],
            "objects": [item.model_dump() for item in facts.house.objects],
        }
    )
    world = GraphWorld(start_of(facts.house, episode, default_catalogue()), episode)
    for call in (
        "Navigate[board_game_0]",
        "Pick[board_game_0]",
        "Navigate[shelves_0]",
        "Place[board_game_0, on, shelves_0, None, None]",
    ):
        assert act(world, "agent_0", call_action(call)) is None
    piece = facts.house.furniture_by_name["shelves_0"]
    size_m = world.nodes["board_game_0"].size_m
    assert world.position_m("board_game_0") == spot_at_piece(1, piece, Relation.ON, size_m)
