"""What is wanted, done and missing, for readings that are given by hand."""

from __future__ import annotations

import numpy as np

from planner.planning.learned.matches import Array
from planner.planning.learned.network import MARKS, NUMBERS, Reading
from planner.planning.learned.progress import Progress, progress_of
from planner.planning.learned.situation import Situation
from planner.planning.learned.tokens import Token, read_tokens

TABLE, BED, CUP, BOWL = 100, 101, 102, 103


def zeros(count: int) -> Reading:
    """Nothing is asked, of one thing each."""
    numbers = np.zeros((count, len(NUMBERS)), np.float32)
    numbers[:, 0] = 1
    square: Array = np.zeros((count, count), np.float32)
    return Reading(
        at=square.copy(),
        at_none=np.ones(count, np.float32),
        goes=np.zeros((3, count, count), np.float32),
        then=np.zeros((3, count, count), np.float32),
        next=square.copy(),
        same=square.copy(),
        before=square.copy(),
        marks=np.zeros((count, len(MARKS)), np.float32),
        numbers=numbers,
    )


def place_of(tokens: tuple[Token, ...], text: str) -> int:
    return next(i for i, token in enumerate(tokens) if token.text == text)


def begun(*things: str) -> Situation:
    now = Situation()
    now.begin(
        ["Object.100: table in kitchen_0", "Object.101: bed in bedroom_0"],
        {TABLE: (0.0, 0.0), BED: (5.0, 0.0)},
    )
    now.told(things)
    return now


def carried(now: Situation, thing: int, place: int) -> None:
    now.ended(f"Navigate[Object.{thing}]", succeeded=True)
    now.ended(f"Pick[Object.{thing}]", succeeded=True)
    now.ended(f"Navigate[Object.{place}]", succeeded=True)
    now.ended(f"Place[Object.{thing}, on, Object.{place}, None, None]", succeeded=True)
    now.told([f"Update Object.{thing}: cup with the Object.{place}"])


def test_a_thing_goes_to_its_second_place_once_it_was_at_the_first() -> None:
    tokens = read_tokens("Put the cup on the table, then move it to the bed.")
    cup, table, bed = (place_of(tokens, text) for text in ("cup", "table", "bed"))
    reading = zeros(len(tokens))
    reading.goes[0, cup, table] = reading.then[0, cup, bed] = 1
    now = begun("Add Object.102: cup with the Object.101")

    def wanted() -> tuple[Progress, list[float]]:
        found = progress_of(tokens, reading, now)
        return found, [float(found.goes[0, 0, f]) for f in range(2)]

    before, goes = wanted()
    assert goes == [1, 0]
    assert before.move[0] == 1
    # It lies on the bed already, and still has to come by the table.
    assert before.begun[0] == 0
    carried(now, CUP, TABLE)
    between, goes = wanted()
    assert goes == [0, 1]
    assert between.move[0] == 1
    assert between.begun[0] == 1
    carried(now, CUP, BED)
    after, _ = wanted()
    assert after.move[0] == 0
    assert after.remaining.max() == 0


def test_what_something_goes_next_to_is_missing_until_it_is_known() -> None:
    tokens = read_tokens("Put the cup next to the bowl.")
    cup, bowl = place_of(tokens, "cup"), place_of(tokens, "bowl")
    reading = zeros(len(tokens))
    reading.next[cup, bowl] = 1
    now = begun("Add Object.102: cup with the Object.101")
    found = progress_of(tokens, reading, now)
    assert found.missing[bowl] == 1
    assert found.missing[cup] == 0
    assert found.ready[0] == 0
    now.told(["Add Object.103: bowl with the Object.100"])
    found = progress_of(tokens, reading, now)
    assert found.missing.max() == 0
    assert found.ready[0] == 1
    assert found.move.tolist() == [1, 0]


def test_next_to_is_done_for_the_pair_that_was_asked_and_undone_when_one_is_taken() -> None:
    tokens = read_tokens("Put the cup next to the bowl.")
    cup, bowl = place_of(tokens, "cup"), place_of(tokens, "bowl")
    reading = zeros(len(tokens))
    reading.next[cup, bowl] = 1
    now = begun(
        "Add Object.102: cup with the Object.101",
        "Add Object.103: bowl with the Object.100",
        "Add Object.104: lamp with the Object.100",
    )
    now.ended("Place[Object.102, on, Object.100, next_to, Object.104]", succeeded=True)
    assert progress_of(tokens, reading, now).move[0] == 1
    now.ended("Place[Object.102, on, Object.100, next_to, Object.103]", succeeded=True)
    assert progress_of(tokens, reading, now).move[0] == 0
    now.ended("Pick[Object.103]", succeeded=True)
    assert progress_of(tokens, reading, now).move[0] == 1
