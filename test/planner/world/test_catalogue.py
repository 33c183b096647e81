"""The shipped catalogue: complete, consistent, reachable, and hollow where it says so."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from planner.world.catalogue import (
    Catalogue,
    FurnitureClass,
    LikelyPlace,
    ObjectClass,
    default_catalogue,
    default_word_meanings,
    load_word_meanings,
)
from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_model
from planner.world.furnishing import build_furniture
from planner.world.geometry import Vec3
from planner.world.house import Furniture, Interior
from planner.world.shapes import Part, scale_parts
from planner.world.vocabulary import Affordance, Relation

CATALOGUE = default_catalogue()
FURNITURE = list(CATALOGUE.furniture.values())
OBJECTS = list(CATALOGUE.objects.values())
PARTNR = Path(__file__).resolve().parents[3].parent / "shared/data/partnr_instructions"
# The lowest and highest place that every body reaches without kneeling or climbing.
LOWEST_SURFACE_M, HIGHEST_SURFACE_M = 0.3, 1.45
SEEN_FROM = ((0.9, 0.0, 1.5), (0.9, 0.4, 1.5), (0.9, -0.4, 1.2), (1.2, 0.0, 0.7))


def by_name(item: FurnitureClass | ObjectClass) -> str:
    return item.name


def middle_sized(cls: FurnitureClass) -> Furniture:
    x, y, z = ((low + high) / 2 for low, high in zip(cls.size_min_m, cls.size_max_m, strict=True))
    return build_furniture(cls, f"{cls.name}_0", "kitchen_0", 0.0, 0.0, 0.0, (x, y, z))


def test_there_are_enough_classes() -> None:
    assert len(FURNITURE) >= 24
    assert len(OBJECTS) >= 130
    assert len(CATALOGUE.rooms) >= 13


def test_drawing_stays_cheap() -> None:
    assert np.mean([len(cls.parts) for cls in OBJECTS]) <= 3.5
    assert np.mean([len(cls.parts) for cls in FURNITURE]) <= 12


def partnr_records() -> list[dict[str, list[str]]]:
    files = sorted(PARTNR.glob("*.json"))
    if not files:
        pytest.skip("PARTNR's instructions are not beside this checkout")
    return [
        record
        for file in files
        for episode in json.loads(file.read_text())
        for record in episode["initial_state"]
    ]


def test_every_word_of_partnrs_instructions_is_a_class() -> None:
    for record in partnr_records():
        for word in record.get("object_classes", ()):
            assert word in CATALOGUE.objects
        for word in record.get("furniture_names", ()):
            name = word.rsplit("_", 1)[0]
            assert name == "floor" or CATALOGUE.furniture_name(name) == name
        for word in record.get("allowed_regions", ()):
            assert CATALOGUE.room_name(word.rsplit("_", 1)[0]), word


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("toy fire truck", "toy_fire_truck"),
        ("C clamp", "c-clamp"),
        ("mug", "cup"),
        ("  tennis   racket ", "tennis_racquet"),
        ("spaceship", None),
    ],
)
def test_words_for_objects(word: str, name: str | None) -> None:
    assert CATALOGUE.object_name(word) == name


def test_words_for_furniture_and_rooms() -> None:
    assert CATALOGUE.furniture_name("Chest of drawers") == "chest_of_drawers"
    assert CATALOGUE.furniture_name("kitchen counter") == "counter"
    assert CATALOGUE.room_name("laundryroom/mudroom") == "laundry_room"
    assert CATALOGUE.room_name("living room") == "living_room"


def test_a_word_for_two_classes_is_refused() -> None:
    twin = CATALOGUE.objects["bowl"].model_copy(update={"aliases": ("mug",)})
    with pytest.raises(PlannerError, match="names both"):
        Catalogue((), (CATALOGUE.objects["cup"], twin), ())


def test_a_wrong_colour_is_named_by_its_field() -> None:
    with pytest.raises(FileError, match=r"rgb: .*#rrggbb"):
        parse_model({"center": [0, 0, 0], "size": [1, 1, 1], "rgb": "#12"}, Part, "test.yaml")


@pytest.mark.parametrize("cls", FURNITURE, ids=by_name)
def test_furniture_can_do_what_it_has(cls: FurnitureClass) -> None:
    assert (Affordance.OPENABLE in cls.affordances) == bool(cls.joints)
    assert (Affordance.FAUCET in cls.affordances) == (cls.faucet is not None)
    assert cls.surfaces or cls.interiors or cls.affordances


@pytest.mark.parametrize("cls", [*FURNITURE, *OBJECTS], ids=by_name)
def test_parts_fill_the_size_and_no_more(cls: FurnitureClass | ObjectClass) -> None:
    low = [min(part.center[i] - part.size[i] / 2 for part in cls.parts) for i in range(3)]
    high = [max(part.center[i] + part.size[i] / 2 for part in cls.parts) for i in range(3)]
    assert low == pytest.approx([-0.5, -0.5, 0.0], abs=0.03)
    assert high == pytest.approx([0.5, 0.5, 1.0], abs=0.03)
    assert min(low[0] + 0.5, low[1] + 0.5, low[2]) > -0.001
    assert max(high[0] - 0.5, high[1] - 0.5, high[2] - 1) < 0.001


@pytest.mark.parametrize("cls", OBJECTS, ids=by_name)
def test_objects_fit_a_hand(cls: ObjectClass) -> None:
    assert max(cls.size_m) <= 0.56
    assert min(cls.size_m) >= 0.002
    assert max(cls.size_m) >= 0.04, "too small to be seen across a room"
    assert 1 <= len(cls.parts) <= 7


@pytest.mark.parametrize("cls", OBJECTS, ids=by_name)
def test_round_parts_of_objects_are_round(cls: ObjectClass) -> None:
    # A recipe that is not round at the class's own size would shrink when it is built.
    for part, built in zip(cls.parts, scale_parts(cls.parts, cls.size_m), strict=True):
        drawn = [f * s for f, s in zip(part.size, cls.size_m, strict=True)]
        assert built.size == pytest.approx(drawn, abs=0.0006), part


@pytest.mark.parametrize("cls", FURNITURE, ids=by_name)
def test_surfaces_are_within_reach(cls: FurnitureClass) -> None:
    for surface in cls.surfaces:
        assert surface.center[2] * cls.size_min_m[2] >= LOWEST_SURFACE_M - 0.01, surface.name
        assert surface.center[2] * cls.size_max_m[2] <= HIGHEST_SURFACE_M + 0.01, surface.name


@pytest.mark.parametrize("cls", FURNITURE, ids=by_name)
def test_surfaces_lie_on_a_part_and_are_free_above(cls: FurnitureClass) -> None:
    piece = middle_sized(cls)
    for surface in piece.surfaces:
        x, y, z = surface.center
        tops = [
            part.center[2] + part.size[2] / 2
            for part in piece.parts
            if all(abs(part.center[i] - at) <= part.size[i] / 2 for i, at in ((0, x), (1, y)))
        ]
        assert any(abs(top - z) < 0.003 for top in tops), surface.name
        room = Interior(
            name="above",
            center=(x, y, z + surface.clearance / 2),
            size=(*surface.size, surface.clearance),
        )
        assert intruders(piece, room) == [], surface.name


def fits(cls: ObjectClass, place: LikelyPlace) -> bool:
    """Whether the largest object goes into the smallest furniture, turned as it likes."""
    where = CATALOGUE.furniture[place.furniture]
    depth, width, height = where.size_min_m
    if place.relation is Relation.ON:
        rooms = [
            (s.size[0] * depth, s.size[1] * width, (s.clearance or math.inf) * height)
            for s in where.surfaces
        ]
    else:
        rooms = [
            (i.size[0] * depth, i.size[1] * width, i.size[2] * height) for i in where.interiors
        ]
    x, y, z = (extent * (1 + cls.size_spread) for extent in cls.size_m)
    return any(min(x, y) <= min(a, b) and max(x, y) <= max(a, b) and z <= h for a, b, h in rooms)


@pytest.mark.parametrize("cls", OBJECTS, ids=by_name)
def test_places_exist_and_have_room(cls: ObjectClass) -> None:
    assert len(cls.places) != 1, "lies nowhere by chance, or in one of several places"
    for place in cls.places:
        assert place.furniture in CATALOGUE.furniture
        assert set(place.rooms) <= set(CATALOGUE.rooms)
        assert fits(cls, place), f"{place.relation} {place.furniture}"


def intruders(piece: Furniture, interior: Interior) -> list[Part]:
    """Closed parts that reach more than 1 mm into a hollow on every axis."""
    return [
        part
        for part in piece.parts
        if all(
            abs(part.center[i] - interior.center[i]) < (part.size[i] + interior.size[i]) / 2 - 0.001
            for i in range(3)
        )
    ]


@pytest.mark.parametrize("cls", [c for c in FURNITURE if c.interiors], ids=by_name)
def test_interiors_are_hollow(cls: FurnitureClass) -> None:
    piece = middle_sized(cls)
    for interior in piece.interiors:
        assert intruders(piece, interior) == [], interior.name


def moved(piece: Furniture, joint_name: str, point: Vec3, openness: float) -> Vec3:
    """Where a point that moves with a joint is; a negative openness moves it back."""
    joint = piece.joint(joint_name)
    axis, travel = np.array(joint.axis), joint.travel * openness
    if joint.kind == "slide":
        x, y, z = np.array(point) + axis * travel
    else:
        arm = np.array(point) - joint.origin
        x, y, z = (
            arm * math.cos(travel)
            + np.cross(axis, arm) * math.sin(travel)
            + axis * np.dot(axis, arm) * (1 - math.cos(travel))
            + joint.origin
        )
    return (float(x), float(y), float(z))


def hidden(piece: Furniture, eye: Vec3, target: Vec3, openness: float) -> bool:
    """Whether a part, taken as its box, is between the two points."""
    for part in piece.parts:
        ends = [eye, target]
        if part.joint is not None:
            ends = [moved(piece, part.joint, end, -openness) for end in ends]
        start, way = np.array(ends[0]), np.array(ends[1]) - ends[0]
        half = np.array(part.size) / 2
        with np.errstate(divide="ignore"):
            near = (np.array(part.center) - half - start) / way
            far = (np.array(part.center) + half - start) / way
        enter, leave = np.minimum(near, far).max(), np.maximum(near, far).min()
        if enter < leave and leave > 0 and enter < 1:
            return True
    return False


@pytest.mark.parametrize("cls", [c for c in FURNITURE if c.joints], ids=by_name)
def test_what_is_within_shows_only_when_open(cls: FurnitureClass) -> None:
    piece = middle_sized(cls)
    assert {i.joint for i in piece.interiors} >= {j.name for j in piece.joints}
    for interior in (i for i in piece.interiors if i.joint):
        x, y, z = interior.center
        inside = [
            (x + dx * interior.size[0], y + dy * interior.size[1], z + dz * interior.size[2])
            for dx in (-0.4, 0.0, 0.4)
            for dy in (-0.4, 0.0, 0.4)
            for dz in (-0.4, 0.0, 0.4)
        ]
        eyes = [(piece.size_m[0] / 2 + ahead, side, up) for ahead, side, up in SEEN_FROM]
        assert all(hidden(piece, eye, point, 0.0) for eye in eyes for point in inside)
        if interior.moves:
            inside = [moved(piece, str(interior.joint), point, 1.0) for point in inside]
            # Drawers above it would hide a lower one: only its own is pulled out.
            lone = piece.model_copy(
                update={"parts": tuple(p for p in piece.parts if p.joint in (None, interior.joint))}
            )
        else:
            lone = piece
        assert not all(hidden(lone, eye, point, 1.0) for eye in eyes for point in inside)


@pytest.mark.parametrize("cls", [c for c in FURNITURE if c.joints], ids=by_name)
def test_joints_open_towards_the_person_in_front(cls: FurnitureClass) -> None:
    piece = middle_sized(cls)
    for joint in piece.joints:
        after = moved(piece, joint.name, joint.handle, 1.0)
        lid = joint.kind == "hinge" and joint.travel < 0 and joint.axis == (0, 1, 0)
        risen, come = after[2] - joint.handle[2], after[0] - joint.handle[0]
        assert (risen if lid else come) > 0.15
        assert any(part.joint == joint.name for part in piece.parts)


@pytest.mark.parametrize(
    ("phrase", "classes"),
    [
        ("mugs", {"cup"}),
        ("kettle", {"kettle", "electric_kettle"}),
        ("knives", {"knife"}),
        ("cutlery", {"knife", "fork", "spoon"}),
        ("fire truck", {"toy_fire_truck"}),
        ("beverages", {"milk_carton", "juice_carton", "can", "wine_bottle", "bottle"}),
    ],
)
def test_phrases_mean_objects(phrase: str, classes: set[str]) -> None:
    found = default_word_meanings().find(phrase)
    assert found is not None
    assert classes <= found.objects
    # A few more are kinds of the same, such as a kettle's.
    assert len(found.objects) <= len(classes) + 4


def test_toy_food_is_no_food() -> None:
    food = default_word_meanings().find("food")
    assert food is not None
    assert "apple" in food.objects
    assert "toy_food" not in food.objects


def test_words_of_components_and_states() -> None:
    tap, dirty = (default_word_meanings().find(word) for word in ("taps", "dirty"))
    assert tap is not None
    assert tap.affordances == {Affordance.FAUCET}
    assert dirty is not None
    assert dirty.states == {("clean", False)}
    assert default_word_meanings().find("nirvana") is None


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ("{words: [x], objects: [unicorn]}", "meanings.0.objects"),
        ("{words: [x], groups: [unicorns]}", "meanings.0.groups"),
        ("{words: [x], furniture: [throne]}", "meanings.0.furniture"),
        ("{words: [x], states: {tidy: true}}", "meanings.0.states"),
        ("{words: []}", "meanings.0.words"),
        ("{words: [x], rooms: [kitchen]}", "meanings.0.rooms"),
    ],
)
def test_a_wrong_entry_is_refused_by_its_field(tmp_path: Path, entry: str, field: str) -> None:
    path = tmp_path / "words.yaml"
    path.write_text(f"version: 1\nmeanings:\n  - {entry}\n")
    with pytest.raises(FileError) as caught:
        load_word_meanings(path, default_catalogue())
    assert caught.value.file == str(path)
    assert caught.value.field == field


def test_a_verb_of_instructions_is_no_kind_of_thing() -> None:
    assert default_word_meanings().knows("light switch")
    assert not default_word_meanings().knows("switch")
