"""Drawers, shelves and cabinets are told apart by where they are, or it is said why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from grounded import goal, propositions
from small_house import scene_with, thing

from planner.grounding.grounder import Binder
from planner.grounding.records import Why
from planner.grounding.scene import Scene, Thing
from planner.world.geometry import Box


def _piece(like: Thing, name: str, bottom_m: float, *, y_m: float = 0.0) -> Thing:
    """A piece of furniture of a class at a height, 0.4 m high."""
    x, y, _ = like.position_m
    box = Box.around((x, y + y_m, bottom_m + 0.2), (1.0, 1.0, 0.4))
    kind = name.rpartition("_")[0]
    return replace(like, name=name, class_name=kind, box=box, openness=0.0, hollow=True)


def _house(bottoms_m: Mapping[str, float], kind: str = "cabinet") -> Scene:
    scene = scene_with(thing("cup_0", "table_0"))
    like = scene.things["cabinet_0"]
    rest = {name: known for name, known in scene.things.items() if name != "cabinet_0"}
    beside = enumerate(bottoms_m.items())
    pieces = [_piece(like, f"{kind}_{n}", bottom, y_m=1.1 * k) for k, (n, bottom) in beside]
    return replace(scene, things=rest | {piece.name: piece for piece in pieces})


STACKED = {"0": 0.0, "1": 0.5, "2": 1.0}
IN_CABINET = "[{{move: {{the: cup}}, to: {{in: {{the: cabinet, {}}}}}}}]"


@pytest.mark.parametrize(
    ("which", "meant"),
    [
        ("pick: highest", "cabinet_2"),
        ("pick: lowest", "cabinet_0"),
        ("pick: middle", "cabinet_1"),
        ("pick: lowest, nth: 2", "cabinet_1"),
        ("pick: highest, nth: 3", "cabinet_0"),
        ("pick: leftmost, nth: 2", "cabinet_1"),
    ],
)
def test_pieces_that_stand_above_each_other_are_told_apart(which: str, meant: str) -> None:
    found = Binder(goal(IN_CABINET.format(which))).update(_house(STACKED))
    assert propositions(found) == [("is_inside", "cup_0", meant)]


def test_all_upper_cabinets_are_those_of_the_highest_level() -> None:
    house = _house({"0": 0.0, "1": 1.4, "2": 1.5})
    found = Binder(goal("[{make: {all: cabinet, pick: highest}, be: closed}]")).update(house)
    assert propositions(found) == [
        ("is_closed", "cabinet_1"),
        ("is_closed", "cabinet_2"),
    ]


@pytest.mark.parametrize(
    "which", ["pick: highest", "pick: lowest", "pick: middle", "pick: lowest, nth: 2"]
)
def test_pieces_of_one_height_are_not_told_apart_by_it(which: str) -> None:
    found = Binder(goal(IN_CABINET.format(which))).update(_house({"0": 0.0, "1": 0.0}))
    assert (found.evaluation, found.questions) == (None, ())
    assert [(part.why, part.text) for part in found.unbound] == [
        (Why.UNSAYABLE, "The cabinets that are known cannot be told apart by where they are.")
    ]


def test_too_few_stand_above_each_other() -> None:
    found = Binder(goal(IN_CABINET.format("pick: lowest, nth: 4"))).update(_house(STACKED))
    assert [part.why for part in found.unbound] == [Why.UNSAYABLE]


def test_nothing_is_looked_for_that_would_not_help() -> None:
    house = replace(_house({"0": 0.0, "1": 0.0}), complete=False)
    asked = IN_CABINET.replace("the: cup", "the: mug").format("pick: highest")
    found = Binder(goal(asked)).update(house)
    assert (found.sought, [part.why for part in found.unbound]) == ((), [Why.UNSAYABLE])


IN_DRAWER = "[{{move: {{the: cup}}, to: {{in: {{the: drawer, {}}}}}}}]"


@pytest.mark.parametrize("which", ["pick: highest", "pick: leftmost"])
def test_the_drawers_of_one_piece_are_not_told_apart(which: str) -> None:
    """All of them are one piece of furniture, which would be taken without its drawer."""
    house = _house({"0": 0.0}, "chest_of_drawers")
    found = Binder(goal(IN_DRAWER.format(which))).update(house)
    assert found.evaluation is None
    assert [part.why for part in found.unbound] == [Why.UNSAYABLE]


def test_the_drawers_of_a_named_piece_are_not_told_apart() -> None:
    house = _house({"0": 0.0, "1": 0.0}, "chest_of_drawers")
    asked = IN_DRAWER.format("pick: highest, at: {the: dresser}")
    found = Binder(goal(asked)).update(house)
    assert [(part.why, part.text) for part in found.unbound] == [
        (Why.UNSAYABLE, "The drawers at the dresser cannot be told apart by where they are.")
    ]


def test_a_drawer_of_the_dresser_is_in_the_dresser() -> None:
    house = _house({"0": 0.0}, "chest_of_drawers")
    found = Binder(goal(IN_DRAWER.format("at: {the: dresser}"))).update(house)
    assert propositions(found) == [("is_inside", "cup_0", "chest_of_drawers_0")]


@pytest.mark.parametrize("which", ["at: {the: fridge}", "in: {the: fridge}, pick: lowest"])
@pytest.mark.parametrize("complete", [True, False])
def test_a_fridge_has_no_shelves_of_its_own(which: str, *, complete: bool) -> None:
    house = replace(_house({"0": 0.0}, "fridge"), complete=complete)
    asked = f"[{{move: {{the: cup}}, to: {{on_top: {{the: shelf, {which}}}}}}}]"
    found = Binder(goal(asked)).update(house)
    assert (found.questions, found.sought) == ((), ())
    where = "in" if "in:" in which else "at"
    assert [(part.why, part.text) for part in found.unbound] == [
        (Why.UNSAYABLE, f"The shelves {where} the fridge cannot be told apart by where they are.")
    ]
