"""docs/language.md: its example runs, and every word of the form is explained."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

from planner.language.goal_form import REQUESTS
from planner.language.lexicon import (
    GENERIC_KINDS,
    Actor,
    Amount,
    Arrangement,
    Occasion,
    Relation,
    Spot,
    Topic,
)
from planner.language.reading import OUTCOMES, AskReason, ImpossibleReason, NoCommandReason

PAGE = (Path(__file__).parents[3] / "docs" / "language.md").read_text("utf-8")
ENUMS = (
    Actor, Amount, Arrangement, AskReason, ImpossibleReason, NoCommandReason, Occasion, Relation,
    Spot, Topic,
)  # fmt: skip


# The third, of binding, needs a belief.
FORM_EXAMPLE, READING_EXAMPLE, _ = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


def test_the_example_runs_and_is_printed_as_it_was_read(capsys: pytest.CaptureFixture[str]) -> None:
    code = FORM_EXAMPLE
    exec(code, {})  # noqa: S102
    (text,) = re.findall(r'safe_load\("""(.*?)"""', code, re.S)
    assert ast.literal_eval(capsys.readouterr().out) == yaml.safe_load(text)


def test_the_example_of_reading_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(READING_EXAMPLE, {})  # noqa: S102
    goal, near = map(ast.literal_eval, capsys.readouterr().out.splitlines())
    assert goal == [
        {"move": {"all": "plate"}, "to": {"in": {"the": "sink"}}},
        "then",
        {"make": {"all": "plate"}, "be": "clean"},
    ]
    assert near["vlask"] == ("flask",)


def test_every_word_of_the_form_is_explained() -> None:
    explained = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`\n]+)`", PAGE))))
    words = {word.value for enum in ENUMS for word in enum} | GENERIC_KINDS
    assert sorted((words | REQUESTS.keys() | OUTCOMES.keys()) - explained) == []
