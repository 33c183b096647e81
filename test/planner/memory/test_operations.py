"""EPM's operations as text (EPM-2.3; numbers in the names are those of EPM-C checks)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_samples import layout_of

from planner.memory import operations as corrections
from planner.memory.memory import EditError, Memory
from planner.memory.operations import (
    CoordinateFrame,
    CorrectionError,
    FoundPerson,
    Parsed,
    PersonTracks,
    Reading,
    parse,
    to_pixel,
    write,
)
from planner.memory.settings import open_memory
from planner.memory.updater import Operation
from planner.parts.calls import parse_call
from planner.world.belief import Entity, OperationKind, Source
from planner.world.geometry import Vec3
from planner.world.observation import Observation
from planner.world.person import Gesture, Person, Posture
from planner.world.skill import SkillResult
from planner.world.vocabulary import Relation, floor_name

ADD, UPDATE, REMOVE = OperationKind.ADD, OperationKind.UPDATE, OperationKind.REMOVE


def test_10_ids_are_read_with_and_without_their_word_and_written_bare() -> None:
    (dotted,), (bare,), (blank,) = (
        parse(text).operations for text in ("Remove Object.150", "Remove 150", "Remove Object 150")
    )
    assert dotted == bare == blank
    assert write([dotted]) == "Remove 150"
    assert parse("Remove Object.150", Reading.STRICT).operations == ()


@pytest.mark.parametrize("text", ["No updates", "no updates.", "\n No updates \n"])
def test_11_no_updates_is_no_error(text: str) -> None:
    assert parse(text) == Parsed()


@pytest.mark.parametrize(
    "text", ["", " \n ", "Add cup", "Add (1,2,3):x", "Remove", "\x00", "Ad" * 9]
)
def test_11_garbage_is_no_change_and_is_counted(text: str) -> None:
    parsed = parse(text)
    assert parsed.operations == ()
    assert len(parsed.errors) == 1


def test_12_lines_are_kept_in_their_order() -> None:
    first, second = parse("Add (10,10):cup\nRemove 149").operations
    assert (first.kind, first.pixel, first.description) == (ADD, (10, 10), "cup")
    assert (second.kind, second.entity_id) == (REMOVE, 149)


def test_13_only_the_first_colon_after_the_coordinates_divides() -> None:
    (operation,) = parse("Add (10,10):bottle: red").operations
    assert operation.description == "bottle: red"


def test_a_bad_line_costs_only_itself() -> None:
    parsed = parse("Add (10,10):cup\nthe cup is red\nRemove 149")
    assert [o.kind for o in parsed.operations] == [ADD, REMOVE]
    assert parsed.errors == ("'the cup is red' is not an operation",)


def test_lenient_takes_list_marks_and_case_and_strict_does_not() -> None:
    text = "- update Object.149 ( 10.5 , 7 ) : candle picked"
    (operation,) = parse(text).operations
    assert (operation.entity_id, operation.pixel) == (149, (10.5, 7))
    assert operation.description == "candle picked"
    assert parse(text, Reading.STRICT).operations == ()
    assert parse("Update 149 (10.5,7):candle picked", Reading.STRICT).operations == (operation,)


def test_a_text_that_never_ends_is_one_error() -> None:
    assert len(parse("Add (1,1):x\n" * 50_000).errors) == 1
    assert parse("Remove 100\n" * 5000).operations == ()


@pytest.mark.parametrize(
    ("frame", "coordinates", "pixel"),
    [
        (CoordinateFrame.PIXEL_384, (192, 96), (320, 120)),
        (CoordinateFrame.NORMALIZED, (0.5, 0.25), (320, 120)),
        (CoordinateFrame.GRID_8, (0, 7), (40, 450)),
    ],
)
def test_coordinates_of_each_frame_in_an_image_of_640_by_480(
    frame: CoordinateFrame, coordinates: tuple[float, float], pixel: tuple[float, float]
) -> None:
    assert to_pixel(coordinates, frame, 640, 480) == pytest.approx(pixel)


@given(st.text(max_size=300), st.sampled_from(Reading))
def test_parsing_never_raises(text: str, reading: Reading) -> None:
    parsed = parse(text, reading)
    assert parsed.operations or parsed.errors or "updates" in text.lower()


_words = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=12).filter(
    lambda word: not word.isspace()
)
_descriptions = st.lists(_words, min_size=1, max_size=5).map(" ".join)
_pixels = st.tuples(*[st.integers(0, 38400).map(lambda n: n / 100)] * 2)
_ids = st.integers(100, 10**8)
_operations = st.one_of(
    st.builds(Operation, st.just(ADD), pixel=_pixels, description=_descriptions),
    st.builds(Operation, st.just(UPDATE), _ids, pixel=_pixels, description=_descriptions),
    st.builds(Operation, st.just(REMOVE), _ids),
)


@given(st.lists(_operations, max_size=6), st.sampled_from(Reading))
def test_what_is_written_is_read_again(operations: list[Operation], reading: Reading) -> None:
    assert parse(write(operations), reading) == Parsed(tuple(operations))


def test_writing_needs_what_the_grammar_needs() -> None:
    with pytest.raises(ValueError, match="without an id"):
        write([Operation(REMOVE)])
    with pytest.raises(ValueError, match="without coordinates or description"):
        write([Operation(ADD, description="cup")])


@pytest.fixture
def memory() -> Memory:
    memory = Memory(layout_of(2), None)
    table = memory.layout.furniture[0].box.center_m
    memory.edit([corrections.add("cup", (table[0], table[1], 0.8))], "somebody", 1.0)
    return memory


def known(memory: Memory, number: int) -> Entity:
    entity = memory.entity(number)
    assert entity is not None
    return entity


def correct(memory: Memory, operation: Operation) -> list[str]:
    before = memory.sequence
    memory.edit([operation], "somebody", 5.0)
    return memory.deltas_since(before).lines


def test_what_is_added_is_reported_and_placed_by_the_layout(memory: Memory) -> None:
    cup = known(memory, 102)
    assert (cup.name, cup.source, cup.room) == ("cup_102", Source.TOLD, "hall_0")
    assert (cup.parent, cup.relation) == ("table_0", Relation.ON)


def test_moving_by_a_place_and_by_furniture(memory: Memory) -> None:
    assert correct(memory, corrections.move(known(memory, 102), (9.0, 9.0, 0.05))) == [
        "Update Object.102: cup"
    ]
    assert known(memory, 102).parent == "floor_hall_0"
    assert correct(memory, corrections.move_onto(known(memory, 102), known(memory, 101))) == [
        "Update Object.102: cup with the Object.101"
    ]
    cup = known(memory, 102)
    assert (cup.parent, cup.relation, cup.source) == ("table_1", Relation.ON, Source.TOLD)


def test_what_is_held_is_put_down_when_it_is_moved(memory: Memory) -> None:
    memory.note_result("agent_0", parse_call("Pick[cup_102]"), SkillResult.success(), 2.0)
    correct(memory, corrections.move_onto(known(memory, 102), known(memory, 101)))
    assert not known(memory, 102).picked
    assert known(memory, 102).parent == "table_1"


def test_renaming_changes_class_name_and_text(memory: Memory) -> None:
    assert correct(memory, corrections.rename(known(memory, 102), "coffee mug")) == [
        "Update Object.102: coffee mug"
    ]
    mug = known(memory, 102)
    assert (mug.name, mug.class_name, mug.source) == ("coffee_mug_102", "coffee_mug", Source.TOLD)
    nodes = memory.belief(6.0).nodes
    assert "coffee_mug_102" in nodes
    assert "cup_102" not in nodes


def test_states_are_set_and_unset(memory: Memory) -> None:
    assert correct(memory, corrections.set_state(known(memory, 102), "dirty")) == [
        "Update Object.102: cup dirty"
    ]
    assert known(memory, 102).states == {"clean": False}
    correct(memory, corrections.set_state(known(memory, 102), "filled"))
    correct(memory, corrections.set_state(known(memory, 102), "clean"))
    assert known(memory, 102).states == {"clean": True, "filled": True}
    correct(memory, corrections.set_state(known(memory, 100), "open"))
    assert known(memory, 100).openness == 1.0


def test_removing(memory: Memory) -> None:
    assert correct(memory, corrections.remove(known(memory, 102))) == ["Remove Object.102"]
    assert memory.entity(102) is None


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_place_that_is_none_is_refused(memory: Memory, value: float) -> None:
    with pytest.raises(CorrectionError, match=r"at: y is (nan|inf), expected a finite number"):
        corrections.move(known(memory, 102), (0.0, value, 0.0))
    nowhere = Operation(OperationKind.ADD, description="cup", position_m=(0.0, value, 0.0))
    with pytest.raises(EditError, match=r"operation 0: Add: its position .* is not finite"):
        memory.edit([nowhere], "somebody", 2.0)


def test_wrong_corrections_are_refused_with_the_reason(memory: Memory) -> None:
    cup, table = known(memory, 102), known(memory, 100)
    with pytest.raises(CorrectionError, match=r"state: 'shiny' is none of clean, dirty"):
        corrections.set_state(cup, "shiny")
    with pytest.raises(CorrectionError, match=r"state: a cup is never powered on"):
        corrections.set_state(cup, "powered on")
    with pytest.raises(CorrectionError, match=r"cup_102 is not furniture"):
        corrections.set_state(cup, "open")
    with pytest.raises(CorrectionError, match=r"onto: cup_102 is not furniture"):
        corrections.move_onto(cup, cup)
    with pytest.raises(CorrectionError, match=r"to: '' names no known object"):
        corrections.rename(cup, "")
    for change in (corrections.remove, lambda e: corrections.rename(e, "desk")):
        with pytest.raises(CorrectionError, match=r"table_0 is furniture"):
            change(table)
    with pytest.raises(EditError, match=r"operation 0: Remove: there is no Object\.999"):
        memory.edit([Operation(OperationKind.REMOVE, 999)], "somebody", 2.0)


def test_a_name_that_is_taken_is_refused(memory: Memory) -> None:
    memory.edit([corrections.add("mug", (3.0, 3.0, 0.1), "mug_102")], "somebody", 2.0)
    before = memory.snapshot()
    with pytest.raises(EditError, match=r"mug_102 is Object\.103 already"):
        correct(memory, corrections.rename(known(memory, 102), "mug"))
    assert memory.snapshot() == before


def test_corrections_survive_a_restart(tmp_path: Path) -> None:
    def begin() -> Memory:
        return open_memory(
            layout_of(2), None, folder=tmp_path, episode="e", agents={}, clock_s=10.0
        )

    memory = begin()
    memory.edit([corrections.add("cup", (9.0, 9.0, 0.05))], "somebody", 1.0)
    correct(memory, corrections.rename(known(memory, 102), "mug"))
    correct(memory, corrections.set_state(known(memory, 102), "dirty"))
    memory.close()
    again = begin()
    mug = known(again, 102)
    assert (mug.name, mug.description, mug.source) == ("mug_102", "mug dirty", Source.TOLD)
    assert again.deltas_since(0).lines == ["Add Object.102: mug dirty"]
    again.close()


# What a detector of persons finds

LAYOUT = layout_of(2)
WAVES = frozenset({"posture_sitting", "gesture_waving", "wears_red shirt"})


def remembering(found: Sequence[Sequence[FoundPerson]]) -> list[Entity]:
    """The persons after messages of a detector, a second apart."""
    memory, tracks = Memory(LAYOUT, None), PersonTracks(LAYOUT)
    for second, persons in enumerate(found):
        made = tracks.operations(persons, memory.entities)
        memory.note_found(made, "detector", 1.0 + second)
    return [entity for entity in memory.entities if entity.class_name == "person"]


def test_a_found_person_is_remembered_in_its_room_as_it_looks() -> None:
    (room, *_) = LAYOUT.rooms
    x_m, y_m = room.shape.centroid.x, room.shape.centroid.y
    (one,) = remembering([[FoundPerson((x_m, y_m, 0.8), labels=WAVES)]])
    assert one.person == Person("", ("red shirt",), Posture.SITTING, Gesture.WAVING)
    assert (one.room, one.parent, one.source) == (room.name, floor_name(room.name), Source.SEEN)
    assert one.description.startswith("person sitting")
    assert one.size_m == (0.5, 0.5, 1.7)


def at(*xs_m: float, track: str = "") -> list[FoundPerson]:
    return [FoundPerson((x_m, 1.0, 0.8), track=track) for x_m in xs_m]


def test_who_walks_is_the_same_by_track_or_by_place_and_others_are_others() -> None:
    (one,) = remembering([at(1.0), at(1.4), at(1.8), at(2.2), at(2.6)])
    assert one.position_m == pytest.approx((2.6, 1.0, 0.8))
    (one,) = remembering([at(1.0, track="7"), at(1.2, track="7"), at(4.0, track="7")])
    assert one.position_m == pytest.approx((4.0, 1.0, 0.8))
    assert len(remembering([at(1.0), at(3.0)])) == 2
    assert len(remembering([at(1.0, 1.3), at(1.0, 1.3)])) == 2


def test_an_updater_that_knows_no_persons_removes_none() -> None:
    memory = Memory(LAYOUT, None)
    memory.note_found(PersonTracks(LAYOUT).operations(at(1.0), ()), "detector", 1.0)
    (person,) = (e for e in memory.entities if e.class_name == "person")
    empty = Observation.at_rest(2.0)
    memory.learn(empty, [Operation(REMOVE, entity_id=person.entity_id)], "learned")
    assert person in memory.entities


def test_what_is_loaded_was_found_by_no_detector() -> None:
    memory = Memory(LAYOUT, None)
    bottle = Operation(ADD, description="bottle", position_m=(1.0, 1.0, 0.8))
    memory.edit([bottle], "test", 1.0)
    saved, again = memory.content(), Memory(LAYOUT, None)
    again.note_found(PersonTracks(LAYOUT).operations(at(1.0), ()), "detector", 1.0)
    again.load(saved)
    (thing,) = (e for e in again.entities if not e.is_furniture)
    again.learn(Observation.at_rest(9.0), [Operation(REMOVE, entity_id=thing.entity_id)], "learned")
    assert thing not in again.entities


POINTS = st.tuples(st.floats(0.0, 6.0), st.floats(0.0, 6.0), st.just(0.8))


@given(
    st.lists(st.lists(st.tuples(POINTS, st.sampled_from(("", "a", "b"))), max_size=4), max_size=5)
)
def test_no_message_makes_fewer_persons_remembered_or_more_than_it_has(
    messages: list[list[tuple[Vec3, str]]],
) -> None:
    memory, tracks, before = Memory(LAYOUT, None), PersonTracks(LAYOUT), 0
    for second, message in enumerate(messages):
        found = [FoundPerson(position_m, track=track) for position_m, track in message]
        made = tracks.operations(found, memory.entities)
        memory.note_found(made, "detector", 1.0 + second)
        now = sum(entity.class_name == "person" for entity in memory.entities)
        assert max(before, len(found)) <= now <= before + len(found)
        before = now
