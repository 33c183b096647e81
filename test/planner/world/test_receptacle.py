"""What things are put into and onto: hollows and tops of classes, and shapes that are open."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from planner.world.catalogue import ObjectClass, default_catalogue
from planner.world.errors import FileError
from planner.world.files import parse_model
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from planner.world.receptacle import parts_beside, shape_of
from planner.world.shapes import Part, Shape, SolidPart, scale_parts, solids
from planner.world.vocabulary import Relation

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
