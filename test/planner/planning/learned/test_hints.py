"""Where the instruction says that things are: places that nothing else accounts for."""

from __future__ import annotations

import numpy as np
import pytest
from learned_toys import place_of, zeros

from planner.planning.learned.hints import said_places
from planner.planning.learned.network import MARKS
from planner.planning.learned.progress import progress_of
from planner.planning.learned.search import looks_of
from planner.planning.learned.situation import Situation
from planner.planning.learned.tokens import read_tokens


@pytest.mark.parametrize(
    ("text", "thing", "goes", "where"),
    [
        ("Take the pen from the desk and put it on the bed.", "pen", "bed", "desk"),
        ("Put the pen from the office on the bed.", "pen", "bed", "office"),
        ("Put the pen on the desk in the office on the bed.", "pen", "bed", "desk"),
        ("Put the pen on the bed.", "pen", "bed", ""),
        # Not the place of another thing, nor of another sentence.
        ("Put the pen and the cup from the desk on the bed.", "pen", "bed", ""),
        ("Bring the pen. The desk is old, put it on the bed.", "pen", "bed", ""),
    ],
)
def test_a_place_that_is_left_over_says_where_the_thing_before_it_is(
    text: str, thing: str, goes: str, where: str
) -> None:
    tokens = read_tokens(text)
    reading = zeros(len(tokens))
    reading.goes[0, place_of(tokens, thing), place_of(tokens, goes)] = 1
    at, sure = said_places(tokens, reading)
    row = place_of(tokens, thing)
    assert sure[row] == float(bool(where))
    if where:
        assert at[row].tolist() == np.eye(len(tokens))[place_of(tokens, where)].tolist()
    else:
        assert not at[row].any()


def test_what_says_which_piece_is_meant_or_gets_a_state_is_no_hint() -> None:
    tokens = read_tokens("Put the pen in the office on the bed.")
    pen, office, bed = (place_of(tokens, text) for text in ("pen", "office", "bed"))
    reading = zeros(len(tokens))
    reading.goes[0, pen, bed] = reading.at[bed, office] = 1
    assert said_places(tokens, reading)[1][pen] == 0
    tokens = read_tokens("Bring the pen after the dishwasher is on.")
    pen, washer = (place_of(tokens, text) for text in ("pen", "dishwasher"))
    reading = zeros(len(tokens))
    reading.marks[washer, MARKS.index("powered_on")] = 1
    assert said_places(tokens, reading)[1][pen] == 0


def test_what_the_reader_says_itself_stands() -> None:
    tokens = read_tokens("Put the pen from the desk on the bed.")
    pen, desk, bed = (place_of(tokens, text) for text in ("pen", "desk", "bed"))
    reading = zeros(len(tokens))
    reading.goes[0, pen, bed] = 1
    reading.at[pen, bed], reading.at_none[pen] = 0.9, 0.1
    at, sure = said_places(tokens, reading)
    assert (at[pen, desk], at[pen, bed]) == (0, np.float32(0.9))
    assert sure[pen] == pytest.approx(0.9)


def test_a_search_begins_where_the_instruction_says() -> None:
    # A carrot is usually in the kitchen; this one is said to be elsewhere.
    tokens = read_tokens("Bring the carrot from the bedroom to the table.")
    carrot, table = place_of(tokens, "carrot"), place_of(tokens, "table")
    reading = zeros(len(tokens))
    reading.goes[0, carrot, table] = 1
    now = Situation()
    now.begin(
        [
            "Object.100: counter in kitchen_0",
            "Object.101: bed in bedroom_0",
            "Object.102: table in dining_room_0",
        ],
        {100: (0.0, 0.0), 101: (4.0, 0.0), 102: (2.0, 0.0)},
    )
    progress = progress_of(tokens, reading, now)
    unknown = np.full(len(progress.pieces), np.nan, np.float32)
    looks = looks_of(tokens, reading, now, progress, unknown, can_open=True)
    assert looks.first.tolist() == [0, 1, 0]
    assert looks.told.tolist() == [0, 1, 0]
