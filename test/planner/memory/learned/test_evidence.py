from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from planner.memory.entity_list import EntityList
from planner.memory.learned.detector import FrameDetections
from planner.memory.learned.evidence import Evidence, Openings, apart_m, is_remembered, seen_twice
from planner.world.belief import Entity
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from planner.world.house_checks import load_house

CLASSES = ("apple", "banana", "cup", "kettle")
looks = st.lists(
    st.tuples(st.sampled_from(CLASSES), st.floats(0.0, 1.0), st.integers(4, 400)), max_size=40
)


def test_the_second_guess_that_comes_again_wins_over_first_guesses_that_differ() -> None:
    evidence = Evidence()
    for wrong in ("apple", "banana", "kettle"):
        evidence.add(((wrong, 0.5), ("cup", 0.4)), 100)
    assert evidence.best == "cup"
    assert evidence.margin > 0


def test_a_near_look_outweighs_looks_from_afar() -> None:
    evidence = Evidence()
    for _ in range(2):
        evidence.add((("kettle", 0.5),), 4)
    evidence.add((("cup", 0.95),), 300)
    assert evidence.best == "cup"


def test_what_is_seen_now_overcomes_what_was_seen_for_long() -> None:
    evidence = Evidence()
    for _ in range(500):
        evidence.add((("cup", 0.99),), 300)
    for _ in range(15):
        evidence.add((("bowl", 0.99),), 300)
    assert evidence.best == "bowl"


def test_without_a_look_there_is_no_class() -> None:
    assert (Evidence().best, Evidence().margin, Evidence().margin_over("cup")) == ("", 0.0, 0.0)


@given(looks)
def test_the_best_class_leads_and_no_class_is_ruled_out(
    seen: list[tuple[str, float, int]],
) -> None:
    evidence = Evidence()
    for name, chance, cells in seen:
        evidence.add(((name, chance),), cells)
    assert evidence.margin >= 0
    assert all(evidence.margin_over(name) >= 0 for name in CLASSES)
    assert all(0 <= weight <= 50 for weight in evidence.weights.values())


def test_only_what_looks_speak_for_almost_as_much_is_a_second_guess() -> None:
    evidence = Evidence()
    for _ in range(3):
        evidence.add((("cup", 0.8), ("bowl", 0.3), ("kettle", 0.15), ("fork", 0.025)), 100)
    assert [name for name, _ in evidence.second_guesses("cup")] == ["bowl", "kettle"]
    assert all(0.3 <= score <= 1.0 for _, score in evidence.second_guesses("cup"))
    assert evidence.second_guesses("kettle")[0] == ("cup", 1.0)
    assert Evidence().second_guesses("cup") == ()


def test_many_second_guesses_are_cut_to_the_likeliest() -> None:
    evidence = Evidence()
    evidence.add((("a", 0.9), ("b", 0.5), ("c", 0.4), ("d", 0.3), ("e", 0.2)), 100)
    assert [name for name, _ in evidence.second_guesses("a")] == ["b", "c", "d"]


CUP_M = (0.08, 0.1, 0.1)


def cup(number: int, x_m: float, class_name: str = "cup") -> Entity:
    return Entity(
        entity_id=number,
        is_furniture=False,
        description="",
        class_name=class_name,
        name=f"{class_name}_{number}",
        position_m=(x_m, 0.0, 0.8),
        size_m=CUP_M,
    )


@pytest.mark.parametrize(
    ("size_m", "least_m"),
    [((0.23, 0.33, 0.22), 0.1725), ((0.02, 0.24, 0.01), 0.08), ((0.0, 0.0, 0.0), 0.08)],
)
def test_broad_things_are_farther_apart(size_m: Vec3, least_m: float) -> None:
    assert apart_m(size_m) == pytest.approx(least_m)


def test_only_a_thing_of_the_same_class_is_the_same_thing() -> None:
    things = [cup(1, 0.0), cup(2, 0.0, "bowl")]
    assert is_remembered("cup", CUP_M, (0.07, 0.0, 0.8), things, 0.0)
    assert not is_remembered("cup", CUP_M, (0.09, 0.0, 0.8), things, 0.0)
    assert is_remembered("cup", CUP_M, (0.14, 0.0, 0.8), things, 0.07)
    assert not is_remembered("plate", CUP_M, (0.0, 0.0, 0.8), things, 0.0)


def test_what_an_agent_handled_exists_though_another_is_beside_it() -> None:
    things = [cup(1, 0.0), cup(2, 0.05), cup(3, 0.05, "bowl"), cup(4, 0.3)]
    assert [e.entity_id for e in seen_twice(things, {1}, lambda _: False, 0.0)] == [2]
    assert seen_twice(things, {1}, lambda e: e.entity_id == 2, 0.0) == []
    assert seen_twice(things, {1, 2}, lambda _: False, 0.0) == []


@given(st.lists(st.floats(-1, 1), max_size=8), st.sets(st.integers(0, 7)))
def test_what_is_shown_stays_and_what_goes_is_beside_it(
    places: list[float], matched: set[int]
) -> None:
    things = [cup(number, x) for number, x in enumerate(places)]
    gone = seen_twice(things, matched, lambda _: False, 0.0)
    assert not {e.entity_id for e in gone} & matched
    shown = [e for e in things if e.entity_id in matched]
    for thing in things:
        apart = [math.dist(thing.position_m, other.position_m) for other in shown]
        beside = min(apart, default=math.inf) < apart_m(CUP_M)
        assert (thing in gone) == (beside and thing.entity_id not in matched)


@pytest.fixture(scope="module")
def house() -> House:
    return load_house("train_0")


@pytest.fixture
def piece(house: House) -> Furniture:
    return next(p for p in house.furniture if p.joints)


def look(piece: Furniture, logit: float, count: int = 100) -> FrameDetections:
    """Points all over a piece, and as many far away that say the opposite."""
    rng = np.random.default_rng(1)
    box = piece.box
    points = rng.uniform(box.minimum_m, box.maximum_m, (count, 3))
    logits = np.repeat([logit, -logit], count).astype(np.float32)
    return FrameDetections((), np.vstack([points, points + 50]).astype(np.float32), logits)


def entity(house: House, piece: Furniture, openness: float) -> Entity:
    return replace(next(e for e in EntityList(house).entities if e.name == piece.name),
                   openness=openness)  # fmt: skip


def test_furniture_is_open_after_a_few_looks_and_one_odd_picture_opens_nothing(
    house: House, piece: Furniture
) -> None:
    openings, known = Openings(house), [entity(house, piece, 0.0)]
    assert openings.update(look(piece, 4.0), known) == []
    made = [openings.update(look(piece, 4.0), known) for _ in range(3)]
    (operation,) = made[0]
    assert operation.entity_id == known[0].entity_id
    assert operation.facts is not None
    assert operation.facts.openness == 1.0
    assert openings.seen[piece.name] > 0


def test_a_strip_of_a_closed_door_that_looks_open_opens_nothing(house: House) -> None:
    """The front of each door alone is seen, and then what is behind them, too."""
    piece = next(p for p in house.furniture if any(j.kind == "hinge" for j in p.joints))
    doors = [part for part in piece.parts if part.joint is not None]
    rng = np.random.default_rng(2)
    front = max(part.center[0] + part.size[0] / 2 for part in doors)
    side, width = doors[0].center[1], doors[0].size[1]
    local = np.stack([np.full(70, front), rng.uniform(side - width / 2, side + width / 2, 70),
                      rng.uniform(0.2, 0.5, 70)], 1)  # fmt: skip
    hollow = next(hollow for hollow in piece.interiors if hollow.joint == doors[0].joint)
    middle = np.tile(hollow.center, (20, 1))

    def seen(points_m: NDArray[np.floating]) -> FrameDetections:
        in_map = np.array([piece.pose.apply(tuple(map(float, point))) for point in points_m])
        logits = np.full(len(in_map), 4.0, np.float32)
        return FrameDetections((), in_map.astype(np.float32), logits)

    openings, known = Openings(house), [entity(house, piece, 0.0)]
    for _ in range(9):
        assert openings.update(seen(local), known) == []
    (operation,) = openings.update(seen(np.vstack([local, middle])), known)
    assert operation.facts is not None
    assert operation.facts.openness == 1.0


def test_furniture_that_looks_as_it_is_known_is_no_news(house: House, piece: Furniture) -> None:
    openings, known = Openings(house), [entity(house, piece, 1.0)]
    assert [openings.update(look(piece, 4.0), known) for _ in range(6)] == [[]] * 6


def test_a_few_points_say_nothing(house: House, piece: Furniture) -> None:
    openings, known = Openings(house), [entity(house, piece, 0.0)]
    for _ in range(6):
        assert openings.update(look(piece, 4.0, count=20), known) == []
    assert openings.seen == {}
