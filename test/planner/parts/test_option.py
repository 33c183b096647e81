"""Options: one declaration for a node's parameter and a command line's flag."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.parts.option import Option, OptionError, Options, OptionValue, read_options

COUNT = Option("count", 3, "how many", min_value=1, max_value=9)
SHARE = Option("share", 0.5, "of all", min_value=0.0, max_value=1.0)
LOUD = Option("loud", False, "whether it says more")
WAY = Option("way", "near", "where it goes first", choices=("near", "far"))


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [(COUNT, "7", 7), (SHARE, "1", 1.0), (LOUD, "True", True), (WAY, "far", "far")],
)
def test_a_text_is_read_by_the_type_of_the_default(
    option: Option, text: str, value: object
) -> None:
    assert option.read(text) == value
    assert type(option.read(text)) is type(option.default)


@pytest.mark.parametrize(
    ("option", "text", "reason"),
    [
        (COUNT, "7.5", "option count: expected a whole number, got '7.5'"),
        (COUNT, "0", "option count: 0 is less than 1"),
        (SHARE, "1.5", "option share: 1.5 is greater than 1"),
        (SHARE, "nan", "option share: expected a finite number, got nan"),
        (LOUD, "yes", "option loud: expected true or false, got 'yes'"),
        (WAY, "up", "option way: expected one of near, far, got up"),
    ],
)
def test_a_value_that_is_not_allowed_is_reported_by_its_option(
    option: Option, text: str, reason: str
) -> None:
    with pytest.raises(OptionError) as caught:
        option.read(text)
    assert str(caught.value) == reason


@given(st.floats())
def test_no_number_out_of_bounds_is_ever_taken(value: float) -> None:
    if math.isfinite(value) and 0.0 <= value <= 1.0:
        assert SHARE.check(value) == value
    else:
        with pytest.raises(OptionError):
            SHARE.check(value)


def test_true_is_no_number_and_one_is_no_truth() -> None:
    for option, value in ((COUNT, True), (SHARE, True), (LOUD, 1)):
        with pytest.raises(OptionError, match="expected"):
            option.check(value)


def test_a_declaration_that_cannot_hold_is_refused() -> None:
    with pytest.raises(OptionError, match="option Count: expected lower-case"):
        Option("Count", 1, "how many")
    with pytest.raises(OptionError, match="option count: 0 is less than 1"):
        Option("count", 0, "how many", min_value=1)


def test_what_is_not_given_is_as_by_default_and_a_wrong_name_is_reported() -> None:
    assert read_options((COUNT, WAY), {"way": "far"}) == {"count": 3, "way": "far"}
    with pytest.raises(OptionError, match="option weigh: unknown; available: count, way"):
        read_options((COUNT, WAY), {"weigh": "far"})


@dataclass(frozen=True, slots=True)
class Asked(Options):
    options: Mapping[str, OptionValue]


def test_a_part_gets_its_values_by_name_and_kind() -> None:
    asked = Asked({"count": 3, "share": 0.5, "loud": True, "way": "near"})
    assert (asked.whole("count"), asked.number("share")) == (3, 0.5)
    assert (asked.flag("loud"), asked.text("way")) == (True, "near")
    assert type(asked.number("count")) is float
    for read, name in (
        (asked.whole, "share"),
        (asked.whole, "loud"),
        (asked.number, "loud"),
        (asked.flag, "count"),
        (asked.text, "undeclared"),
    ):
        with pytest.raises(OptionError, match=f"option {name}: the part declares no"):
            read(name)
