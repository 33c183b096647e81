"""Descriptions, read and written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.memory.wording import (
    Description,
    WordMatch,
    describe,
    read_description,
    take_flag_words,
)
from planner.world.states import default_states


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("plant container with the Object.101", Description("plant_container", 101)),
        ("cabinet open", Description("cabinet", openness=1.0)),
        ("cup dirty with the Object.7", Description("cup", 7, {"clean": False})),
        ("Floor Lamp, powered on", Description("floor_lamp", None, {"powered_on": True})),
        ("bottle: red!", Description("bottle_red")),
        ("open", Description("open")),
        ("", Description("")),
    ],
)
def test_what_descriptions_say(text: str, description: Description) -> None:
    assert read_description(text) == description


@pytest.mark.parametrize(
    ("text", "rest", "flag"),
    [
        ("candle picked", "candle", True),
        ("candle, placed, with the Object.119", "candle, with the Object.119", False),
        ("Picked candle", "candle", True),
        ("picked candle placed", "candle", False),
        ("misplaced toy", "misplaced toy", None),
    ],
)
def test_flag_words(text: str, rest: str, flag: bool | None) -> None:
    assert take_flag_words(text, WordMatch.WHOLE)[:2] == (rest, flag)


@given(
    st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=1, max_size=3).filter(
        lambda words: (
            not {"open", "closed", "dirty", "clean", "filled", "empty", "on", "off"} & set(words)
        )
    ),
    st.dictionaries(st.sampled_from([*default_states().defaults]), st.booleans()),
    st.sampled_from(["", "open", "closed"]),
    st.none() | st.integers(100, 10**6),
)
def test_what_is_described_is_read_again(
    words: list[str], states: dict[str, bool], openness: str, support: int | None
) -> None:
    usual = {"clean": True, "filled": False, "powered_on": False}
    mark_reported = {state: value for state, value in states.items() if value is not usual[state]}
    read = read_description(describe("_".join(words), states, openness, support))
    opened = {"": None, "open": 1.0, "closed": 0.0}[openness]
    assert read == Description("_".join(words), support, mark_reported, opened)


@given(st.text(max_size=200))
def test_reading_never_raises(text: str) -> None:
    read_description(text)
    take_flag_words(text, WordMatch.SUBSTRING)
