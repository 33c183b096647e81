"""Things that are placed: apart, at rest, in reach, where they were asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from random_cases import random_cases

from planner.houses.clutter import ObjectRequest, Unplaced, place_objects
from planner.houses.generator import generate_house
from planner.world.catalogue import default_catalogue
from planner.world.house import House, ObjectPlacement
from planner.world.house_checks import check_house
from planner.world.vocabulary import Relation, floor_name

CLASSES = sorted(default_catalogue().objects)


@pytest.fixture(scope="module")
def house() -> House:
    return generate_house("house", 4, rooms=7, objects=0)


def placed(outcomes: tuple[ObjectPlacement | Unplaced, ...]) -> list[ObjectPlacement]:
    return [outcome for outcome in outcomes if isinstance(outcome, ObjectPlacement)]


@st.composite
def requests(draw: st.DrawFn) -> ObjectRequest:
    classes = draw(st.lists(st.sampled_from(CLASSES), min_size=1, max_size=3))
    relation = draw(st.sampled_from([Relation.ON, Relation.WITHIN]))
    house = generate_house("house", 4, rooms=7, objects=0) if not _HOUSE else _HOUSE[0]
    _HOUSE[:] = [house]
    known = [piece.name for piece in house.furniture]
    known += [floor_name(room.name) for room in house.rooms]
    names = draw(st.lists(st.sampled_from(known), max_size=3))
    return ObjectRequest(tuple(classes), relation, tuple(names))


_HOUSE: list[House] = []


@pytest.mark.slow
@random_cases(15, 60, st.lists(requests(), max_size=40), st.integers(0, 2**32 - 1))
def test_whatever_is_asked_for_the_house_stays_sound(
    house: House, wanted: list[ObjectRequest], seed: int
) -> None:
    half = len(wanted) // 2
    first = place_objects(house, wanted[:half], np.random.default_rng(seed))
    second = place_objects(
        house, wanted[half:], np.random.default_rng(seed + 1), occupied=placed(first)
    )
    things = [*placed(first), *placed(second)]
    full = House.model_validate(house.model_dump() | {"objects": [t.model_dump() for t in things]})
    assert check_house(full, default_catalogue()) == []
    for request, outcome in zip(wanted, [*first, *second], strict=True):
        if isinstance(outcome, Unplaced):
            assert outcome.request is request
            assert outcome.reason
            continue
        assert outcome.class_name in request.classes
        assert outcome.relation is request.relation
        assert not request.furniture or outcome.parent in request.furniture


def test_the_same_seed_places_alike(house: House) -> None:
    wanted = [ObjectRequest(("cup", "book"))] * 5
    one, two = (place_objects(house, wanted, np.random.default_rng(3)) for _ in range(2))
    assert one == two


def test_states_are_taken_over(house: House) -> None:
    request = ObjectRequest(("cup",), states={"clean": False})
    (outcome,) = place_objects(house, [request], np.random.default_rng(0))
    assert isinstance(outcome, ObjectPlacement)
    assert outcome.states == {"clean": False, "filled": False}


def test_names_count_on_from_what_is_there(house: House) -> None:
    rng = np.random.default_rng(0)
    first = placed(place_objects(house, [ObjectRequest(("cup",))] * 2, rng))
    more = placed(place_objects(house, [ObjectRequest(("cup",))] * 2, rng, occupied=first))
    assert [thing.name for thing in [*first, *more]] == ["cup_0", "cup_1", "cup_2", "cup_3"]


def test_a_full_table_is_reported(house: House) -> None:
    request = ObjectRequest(("laptop",), furniture=("table_0",))
    outcomes = place_objects(house, [request] * 200, np.random.default_rng(0))
    assert isinstance(outcomes[0], ObjectPlacement)
    last = outcomes[-1]
    assert isinstance(last, Unplaced)
    assert last.reason == "no free place for a laptop on table_0"


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (ObjectRequest(("unicorn",)), "unknown class of object unicorn"),
        (ObjectRequest(()), "unknown class of object (none)"),
        (ObjectRequest(("cup",), furniture=("table_99",)), "the house has no table_99"),
        (
            ObjectRequest(("cup",), Relation.WITHIN, ("table_0",)),
            "table_0 has no inside for a cup",
        ),
        (
            ObjectRequest(("cup",), Relation.WITHIN, ("floor_kitchen_0",)),
            "floor_kitchen_0 has no inside for a cup",
        ),
    ],
)
def test_why_a_thing_cannot_be_placed(house: House, request_: ObjectRequest, reason: str) -> None:
    (outcome,) = place_objects(house, [request_], np.random.default_rng(0))
    assert isinstance(outcome, Unplaced)
    assert outcome.reason == reason


def test_things_on_the_floor_leave_every_way_open(house: House) -> None:
    floors = tuple(floor_name(room.name) for room in house.rooms)
    wanted = [ObjectRequest(("basket", "ball", "shoe"), furniture=floors)] * 30
    wanted = [
        ObjectRequest(tuple(c for c in r.classes if c in CLASSES), r.relation, r.furniture)
        for r in wanted
    ]
    things = placed(place_objects(house, wanted, np.random.default_rng(1)))
    assert len(things) >= 15
    full = house.model_copy(update={"objects": tuple(things)})
    assert check_house(full, default_catalogue()) == []
    for thing in things:
        for door in house.doors:
            gap = np.hypot(thing.pose[0] - door.center_m[0], thing.pose[1] - door.center_m[1])
            assert gap > 0.5
