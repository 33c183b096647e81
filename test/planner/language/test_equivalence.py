"""Which readings count as the same."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import yaml

from planner.language.equivalence import Grade, grade, same_meaning
from planner.language.goal_form import Goal
from planner.language.reading import Ask, AskReason, NotUnderstood, read_instructions

EVERYDAY = Path(__file__).parents[2] / "data" / "everyday" / "known.yaml"


def goal(text: str) -> Goal:
    return Goal.model_validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # Order within a step, but not between steps.
        (
            "[{make: {the: lamp}, be: powered on}, {find: {a: cup}}]",
            "[{find: {a: cup}}, {make: {the: lamp}, be: powered on}]",
        ),
        ("[{find: {a: cup}}, any_time, {go: here}]", "[any_time, {go: here}, {find: {a: cup}}]"),
        # Several things of one request, or one request for each.
        (
            "[{move: [{the: cup}, {the: plate}], to: {in: {the: sink}}}]",
            (
                "[{move: {the: plate}, to: {in: {the: sink}}}, "
                "{move: {the: cup}, to: {in: {the: sink}}}]"
            ),
        ),
        (
            "[{move: [{the: cup}, {the: plate}], to: {on_top: {a: table}}}]",
            (
                "[{move: {the: cup}, to: {on_top: {a: table, as: t}}}, "
                "{move: {the: plate}, to: {on_top: t}}]"
            ),
        ),
        # Labels, and descriptions instead of mentions of what is definite.
        (
            "[{make: {the: cup, as: x}, be: clean}, then, {move: x, to: me}]",
            "[{make: {the: cup}, be: clean}, then, {move: {the: cup, as: unused}, to: me}]",
        ),
        (
            "[{make: {a: cup, as: x}, be: clean}, then, {move: x, to: me}]",
            "[{make: {a: cup, as: y}, be: clean}, then, {move: y, to: me}]",
        ),
        # Synonyms.
        (
            "[{move: {the: mug}, to: {on_top: {the: sofa, in: {the: lounge}}}}]",
            "[{move: {the: cup}, to: {on_top: {the: couch, in: {the: living room}}}}]",
        ),
        ("[{find: {all: toys}}]", "[{find: {all: toy}}]"),
        ("[{find: {all: silverware}}]", "[{find: {all: cutlery}}]"),
    ],
)
def test_one_meaning_in_two_ways(one: str, other: str) -> None:
    assert same_meaning(goal(one), goal(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[{find: {a: cup}}, then, {go: here}]", "[{find: {a: cup}}, {go: here}]"),
        ("[{find: {a: cup}}, then, {go: here}]", "[{go: here}, then, {find: {a: cup}}]"),
        ("[{find: {a: cup}}, then, {go: here}]", "[{find: {a: cup}}, any_time, {go: here}]"),
        ("[{find: {a: cup}}]", "[{find: {the: cup}}]"),
        ("[{find: {a: cup}}]", "[{find: {a: cup, n: 2}}]"),
        ("[{find: {the: coffee table}}]", "[{find: {the: dining table}}]"),
        ("[{find: {the: table}}]", "[{find: {the: dining table}}]"),
        ("[{find: {a: cup}, who: speaker}]", "[{find: {a: cup}}]"),
        ("[{find: {a: cup}}]", "[{find: {a: cup}, unless: {a: plate}}]"),
        (
            "[{make: {a: cup, as: x}, be: clean}, then, {move: x, to: me}]",
            "[{make: {a: cup}, be: clean}, then, {move: {a: cup}, to: me}]",
        ),
        (
            "[{move: [{the: cup}, {the: plate}], to: {on_top: {a: table}}}]",
            (
                "[{move: {the: cup}, to: {on_top: {a: table}}}, "
                "{move: {the: plate}, to: {on_top: {a: table}}}]"
            ),
        ),
        (
            "[{move: {the: cup}, to: {on_top: {the: table}}}]",
            "[{move: {the: cup}, to: {on_top: {the: table}}}, any_time, {leave: {the: plate}}]",
        ),
        (
            "[{move: [{all: cup}, {all: plate}], to: usual, arrangement: together}]",
            "[{move: [{all: cup}, {all: plate}], to: usual}]",
        ),
    ],
)
def test_two_meanings(one: str, other: str) -> None:
    assert not same_meaning(goal(one), goal(other))
    assert grade(goal(one), goal(other)) is Grade.WRONG


def test_everyday_goals_equal_themselves_and_not_their_neighbours() -> None:
    entries = [entry for entry in read_instructions(EVERYDAY) if entry.goal is not None]
    for one, other in itertools.pairwise(entries):
        assert same_meaning(one.reading, one.reading), one.text
        assert not same_meaning(one.reading, other.reading), (one.text, other.text)


def test_a_refusal_is_never_wrong_and_right_only_about_the_same_words() -> None:
    annotated = Ask(words=("the mug",), reason=AskReason.WHERE)
    assert grade(Ask(words=("mug",), reason=AskReason.WHICH), annotated) is Grade.RIGHT
    assert grade(Ask(words=("table",), reason=AskReason.WHERE), annotated) is Grade.ASKED
    assert grade(NotUnderstood(words=("mug",)), annotated) is Grade.ASKED
    assert grade(goal("[{find: {a: mug}}]"), annotated) is Grade.WRONG
    assert grade(annotated, goal("[{find: {a: mug}}]")) is Grade.ASKED
