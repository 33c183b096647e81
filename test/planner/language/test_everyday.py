"""The annotated everyday instructions: form, shares, and that no text is in two of them."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from planner.language.goal_form import Goal
from planner.language.reading import AnnotatedInstruction, read_instructions
from planner.world.files import read_document

FOLDER = Path(__file__).parents[2] / "data" / "everyday"
BLIND = (
    "blind",
    "blind_2",
    "blind_3",
    "blind_4",
    "blind_5",
    "blind_6",
    "blind_7",
    "blind_8",
    "blind_9",
    "final",
    "set_aside",
)
NO_GOAL = {"ask", "unknown", "impossible", "no_command"}


@cache
def instructions(name: str) -> tuple[AnnotatedInstruction, ...]:
    return read_instructions(FOLDER / f"{name}.yaml")


def everything() -> tuple[AnnotatedInstruction, ...]:
    return instructions("known") + instructions("held_out")


def test_a_third_of_each_category_was_held_out() -> None:
    known = Counter(entry.category for entry in instructions("known"))
    held_out = Counter(entry.category for entry in instructions("held_out"))
    assert known.total() == 200
    assert held_out == {category: count // 2 for category, count in known.items()}


@pytest.mark.slow
def test_no_text_is_in_two_files_or_twice() -> None:
    entries = (
        *everything(),
        *(entry for name in BLIND for entry in instructions(name)),
    )
    texts = Counter(" ".join(entry.text.lower().split()) for entry in entries)
    assert not [text for text, count in texts.items() if count > 1]


def test_forty_are_refused_or_asked_about() -> None:
    assert {entry.category for entry in everything() if entry.goal is None} == NO_GOAL
    assert sum(entry.goal is None for entry in everything()) >= 40


def test_commands_have_three_to_sixty_words() -> None:
    lengths = [len(entry.text.split()) for entry in everything() if entry.goal is not None]
    assert min(lengths) >= 3
    assert 40 <= max(lengths) <= 60


def test_every_request_and_outcome_of_the_form_occurs() -> None:
    found: set[type[object]] = set()
    for entry in everything():
        found |= (
            {type(request) for request in entry.goal.requests}
            if isinstance(entry.goal, Goal)
            else {type(entry.outcome)}
        )
    names = {record.__name__ for record in found}
    requests = {"Move", "Make", "Leave", "Never", "Prepare", "Find", "Go"}
    assert names == requests | {"Ask", "NotUnderstood", "Impossible", "AlreadyTrue", "NoCommand"}


@pytest.mark.parametrize("name", ["known", "held_out", *BLIND])
def test_the_files_are_as_the_form_writes_them(name: str) -> None:
    document = read_document(FOLDER / f"{name}.yaml")
    assert document == {
        "instructions": [
            entry.model_dump(mode="json", by_alias=True, exclude_defaults=True)
            for entry in instructions(name)
        ]
    }
