"""The entity list (EPM-2.1 to EPM-2.3; numbers in the names are those of EPM-C checks)."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_samples import flat_frame, layout_of, seen

from planner.memory.entity_list import OPENNESS_TOLERANCE, EntityList, Outcome
from planner.memory.operations import parse
from planner.memory.updater import Facts, Operation
from planner.memory.wording import WordMatch, delta_lines, entity_line
from planner.world.belief import OperationKind, Source
from planner.world.geometry import Pose
from planner.world.vocabulary import Relation

# The optical frame of a camera 3 m up that looks straight down, image top towards +x.
DOWN = Pose.from_matrix(np.array([1.0, 1.0, 3.0]), np.array([[0, -1, 0], [-1, 0, 0], [0, 0, -1.0]]))


@pytest.fixture
def entities() -> EntityList:
    """The paper's example: 49 pieces of furniture, ids 100 to 148."""
    return EntityList(layout_of(49))


def do(entities: EntityList, text: str, depth_m: float = 2.0) -> Outcome:
    return entities.apply(parse(text).operations, seen(flat_frame(depth_m)))


def test_1_furniture_is_numbered_first_and_never_seen(entities: EntityList) -> None:
    layout = layout_of(49)
    assert [e.entity_id for e in entities.entities] == [*range(100, 149)]
    assert [e.name for e in entities.entities] == [p.name for p in layout.furniture]
    assert not any("seen from" in entity_line(e) for e in entities.entities)
    outcome = do(entities, "Add (1,1):cup\nAdd (2,2):bowl")
    assert outcome.ids == (149, 150)


def test_2_a_removed_number_is_not_used_again() -> None:
    entities = EntityList(layout_of(14))
    assert do(entities, "Add (1,1):cup").ids == (114,)
    assert do(entities, "Remove 114\nAdd (1,1):cup").ids == (114, 115)
    assert entities.get(114) is None


def test_3_an_add_takes_text_depth_and_point(entities: EntityList) -> None:
    do(entities, "Add (192,192):candle with the Object.119", depth_m=0.4)
    candle = entities.get(149)
    assert candle is not None
    assert candle.description == "candle with the Object.119"
    assert not candle.picked
    assert candle.seen_distance_m == pytest.approx(0.4)
    assert candle.position_m == pytest.approx((0, 0, 0.4))
    assert (candle.class_name, candle.name, candle.parent) == ("candle", "candle_149", "table_19")


def test_4_and_5_picked_and_placed_are_flags(entities: EntityList) -> None:
    do(entities, "Add (192,192):candle with the Object.119")
    do(entities, "Update 149 (384,192):candle picked", depth_m=1.0)
    assert entities.get(149) is not None
    do(entities, "Update 149 (383,192):candle picked", depth_m=1.0)
    candle = entities.get(149)
    assert candle is not None
    assert (candle.picked, candle.description) == (True, "candle")
    assert candle.position_m == pytest.approx((191 / 192, 0, 1.0))
    assert candle.seen_distance_m == 1.0
    do(entities, "Update 149 (192,192):candle placed with the Object.119")
    candle = entities.get(149)
    assert candle is not None
    assert (candle.picked, candle.description) == (False, "candle with the Object.119")


def test_6_a_misplaced_toy_is_no_placing_but_literally_it_is() -> None:
    for match, text, picked in (
        (WordMatch.WHOLE, "misplaced toy", True),
        (WordMatch.SUBSTRING, "mis toy", False),
    ):
        entities = EntityList(layout_of(49), match)
        do(entities, "Add (1,1):toy\nUpdate 149 (1,1):toy picked")
        do(entities, "Update 149 (1,1):misplaced toy")
        toy = entities.get(149)
        assert toy is not None
        assert (toy.description, toy.picked) == (text, picked)


def test_7_open_stays_in_the_description(entities: EntityList) -> None:
    do(entities, "Update 130 (9,9):cabinet open")
    cabinet = entities.get(130)
    assert cabinet is not None
    assert (cabinet.description, cabinet.picked, cabinet.openness) == ("cabinet open", False, 1.0)
    # What stands in the layout is where the layout says.
    assert cabinet.position_m == EntityList(layout_of(49)).entities[30].position_m


def test_a_door_seen_all_open_is_reported_however_little_was_missing(entities: EntityList) -> None:
    mark_reported = []
    for openness in (0.0, 0.1, 0.9, 0.95, 1.0, 1.0, 0.9, 0.0):
        cabinet = entities.get(130)
        assert cabinet is not None
        operation = Operation(
            OperationKind.UPDATE,
            entity_id=130,
            description=cabinet.description,
            position_m=cabinet.position_m,
            facts=Facts(
                cabinet.class_name, parent=cabinet.parent, room=cabinet.room, openness=openness
            ),
        )
        if entities.apply([operation], seen(flat_frame(2.0))).change is not None:
            mark_reported.append(openness)
        cabinet = entities.get(130)
        assert cabinet is not None
        assert abs((cabinet.openness or 0.0) - openness) <= OPENNESS_TOLERANCE
    assert mark_reported == [0.9, 1.0, 0.0]


def test_8_an_update_replaces_the_whole_text_and_keeps_the_flag(entities: EntityList) -> None:
    do(entities, "Add (1,1):box with the Object.119\nUpdate 149 (1,1):box picked")
    do(entities, "Update 149 (1,1):box")
    box = entities.get(149)
    assert box is not None
    assert (box.picked, box.description) == (True, "box")


def test_a_thing_is_found_by_its_class_and_number_whatever_its_name(entities: EntityList) -> None:
    add = Operation(OperationKind.ADD, description="cup", position_m=(1.0, 1.0, 0.0), name="cup_0")
    entities.apply([add], seen(None))
    assert entities.find("cup_149") is entities.find("cup_0") is entities.get(149)
    assert entities.find("box_149") is None


@pytest.mark.parametrize("line", ["Remove 9999", "Update 9999 (1,1):x"])
def test_9_an_unknown_number_is_one_warning(
    entities: EntityList, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        outcome = do(entities, f"{line}\nAdd (1,1):cup")
    assert outcome.ids == (0, 149)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "there is no Object.9999" in caplog.text


def test_11_no_updates_changes_nothing(entities: EntityList) -> None:
    before = entities.entities
    assert do(entities, "No updates").change is None
    assert (entities.entities, entities.sequence) == (before, 0)


def test_12_operations_are_applied_in_order(entities: EntityList) -> None:
    do(entities, "Add (9,9):bowl")
    change = do(entities, "Add (10,10):cup\nRemove 149").change
    assert change is not None
    assert [(e.kind.value, e.entity.entity_id) for e in change.edits] == [
        ("Add", 150),
        ("Remove", 149),
    ]


@pytest.mark.parametrize(
    ("line", "depth_m", "reason"),
    [
        ("Add (384,10):cup", 2.0, "outside the image"),
        ("Add (10,-1):cup", 2.0, "outside the image"),
        ("Add (10,10):cup", 0.0, "no depth"),
        ("Add (10,10):cup", math.nan, "no depth"),
    ],
)
def test_14_a_point_without_depth_is_skipped(
    entities: EntityList, line: str, depth_m: float, reason: str
) -> None:
    outcome = do(entities, f"{line}\nRemove 9999", depth_m)
    assert outcome.change is None
    assert reason in outcome.refused[0]


def test_19_negative_zero_is_kept(entities: EntityList) -> None:
    add = Operation(OperationKind.ADD, description="cup", position_m=(-6.66, -0.04, 5.94))
    entities.apply([add], seen(None))
    cup = entities.get(149)
    assert cup is not None
    assert entity_line(cup) == "Object 149 (-6.7, -0.0, 5.9): cup"


def test_20_the_lines_of_the_prompt(entities: EntityList) -> None:
    where = (-10.72, 0.91, -4.2)
    add = Operation(
        OperationKind.ADD,
        description="candle with the Object.119",
        position_m=where,
        distance_m=0.41,
    )
    entities.apply([add], seen(None))
    candle = entities.get(149)
    assert candle is not None
    text = "Object 149 (-10.7, 0.9, -4.2) seen from 0.4 m: candle with the Object.119"
    assert entity_line(candle) == text
    assert entity_line(entities.entities[0]).endswith("): table")
    assert entity_line(entities.entities[0]).startswith("Object 100 (1.0, 1.0, ")
    pick = Operation(OperationKind.UPDATE, 149, description="candle picked", position_m=where)
    entities.apply([pick], seen(None))
    candle = entities.get(149)
    assert candle is not None
    assert entity_line(candle) == "Object 149 (picked): candle"


def test_25_26_the_planners_lines() -> None:
    entities = EntityList(layout_of(15))
    changes = []
    for text, line in (
        ("Add (9,9):plant container with the Object.101", "Add Object.115: plant container "),
        ("Update 115 (9,9):plant container picked", "Update Object.115 (picked): plant container"),
        ("Update 115 (9,9):plant container placed with the Object.102", "Update Object.115: "),
        ("Remove 115", "Remove Object.115"),
    ):
        change = do(entities, text).change
        assert change is not None
        assert delta_lines([change])[0].startswith(line)
        changes.append(change)
    # Net effect per id: an Add with the newest text; added and removed is nothing.
    newest = "Add Object.115: plant container with the Object.102"
    assert delta_lines(changes[:3]) == [newest]
    assert delta_lines(changes) == []
    assert delta_lines(changes[1:]) == ["Remove Object.115"]


def test_net_effects_come_in_the_order_of_the_last_change(entities: EntityList) -> None:
    changes = [
        do(entities, text).change
        for text in ("Add (9,9):cup", "Add (9,9):bowl", "Update 149 (200,9):cup")
    ]
    lines = delta_lines([change for change in changes if change])
    assert lines == ["Add Object.150: bowl", "Add Object.149: cup"]


@pytest.mark.parametrize(
    ("before", "line", "reason"),
    [
        ("", "Remove 100", "furniture"),
        ("", "Update 100 (9,9):table picked", "cannot be held"),
        ("Add (9,9):cup\nUpdate 149 (9,9):cup picked", "Remove 149", "is held"),
        ("Add (9,9):cup", "Update 149 (9,9):picked", "no description"),
        ("", f"Add (9,9):{'x' * 501}", "501 characters"),
    ],
)
def test_what_is_refused(entities: EntityList, before: str, line: str, reason: str) -> None:
    do(entities, before or "No updates")
    sequence = entities.sequence
    outcome = do(entities, line)
    assert reason in outcome.refused[0]
    assert entities.sequence == sequence


def test_what_is_seen_as_it_was_is_confirmed_and_not_told(entities: EntityList) -> None:
    do(entities, "Add (192,192):cup")
    again = entities.apply(parse("Update 149 (195,192):cup").operations, seen(flat_frame(), 9.0))
    assert again.change is None
    (cup,) = again.confirmed
    assert (cup.seen_s, cup.position_m) == (9.0, (0.0, 0.0, 2.0))
    moved = entities.apply(parse("Update 149 (205,192):cup").operations, seen(flat_frame(), 9.0))
    assert moved.change is not None


def test_without_a_name_geometry_tells_what_it_is_on() -> None:
    layout = layout_of(1)
    table = layout.furniture[0]
    entities = EntityList(layout)
    top = max(surface.center[2] for surface in table.surfaces)
    frame = flat_frame(3.0 - top - 0.05, DOWN)
    entities.apply(parse("Add (192,192):cup\nAdd (1,192):ball").operations, seen(frame))
    cup, ball = entities.get(101), entities.get(102)
    assert cup is not None
    assert ball is not None
    assert (cup.parent, cup.relation, cup.room) == ("table_0", Relation.ON, "hall_0")
    assert ball.parent is None
    assert cup.source is Source.SEEN


_numbers = st.integers(95, 110)
_lines = st.one_of(
    st.builds("Add ({0},{0}):{1}".format, st.integers(0, 400), st.sampled_from(["cup", "a b"])),
    st.builds("Remove {}".format, _numbers),
    st.builds(
        "Update {} (9,9):{}".format,
        _numbers,
        st.sampled_from(["cup picked", "cup placed", "bowl", "picked", "x with the Object.101"]),
    ),
)


@given(st.lists(st.lists(_lines, max_size=4).map("\n".join), max_size=8))
def test_numbers_are_unique_and_grow_whatever_is_asked(outputs: list[str]) -> None:
    entities = EntityList(layout_of(3))
    given_out: list[int] = []
    sequence = 0
    for output in outputs:
        change = do(entities, output).change
        if change is not None:
            sequence += 1
            assert change.sequence == sequence
            added = [e.entity for e in change.edits if e.kind is OperationKind.ADD]
            given_out += [entity.entity_id for entity in added]
        ids = [e.entity_id for e in entities.entities]
        assert ids == sorted(set(ids))
        assert len({e.name for e in entities.entities}) == len(ids)
        assert ids[:3] == [100, 101, 102]
    assert given_out == [*range(103, 103 + len(given_out))]
