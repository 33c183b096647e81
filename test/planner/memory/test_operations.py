"""EPM's operations as text (EPM-2.3; numbers in the names are those of EPM-C checks)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.memory.operations import (
    CoordinateFrame,
    Parsed,
    Reading,
    parse,
    to_pixel,
    write,
)
from planner.memory.updater import Operation
from planner.world.entity import OperationKind

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
