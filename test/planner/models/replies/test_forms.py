"""Dictionaries and lists: what a grammar lets through its parser reads, and nothing else."""

from __future__ import annotations

import pytest
from grammar_engines import llguidance, llguidance_speaks
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.models.gbnf import read_grammar
from planner.models.replies.dictionary import (
    DictionaryReply,
    GroupKey,
    TextKey,
    TextsKey,
)
from planner.models.replies.form import (
    ListReply,
    ReplyError,
    ReplyForm,
)

WORDS = ListReply(("table_0", "cup_0"), max_items=3)
LINES = ListReply(min_items=0, max_items=4)
DICTIONARY = DictionaryReply(
    (
        TextKey("reason", max_characters=20),
        TextsKey("plan", max_items=2, max_characters=12),
        GroupKey(
            "Action", (TextKey("Alice", words=("Idle", "Done")), TextKey("Bob", is_optional=True))
        ),
    )
)
FORMS = [WORDS, LINES, DICTIONARY]


@pytest.mark.parametrize("form", FORMS)
def test_a_model_of_random_weights_says_what_the_parser_reads(form: ReplyForm[object]) -> None:
    compiled = llguidance(form.grammar)
    read = read_grammar(form.grammar)
    for seed in range(12):
        said = llguidance_speaks(compiled, seed)
        assert read.accepts(said), said
        form.read(said, ended=True)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("- table_0\n- cup_0", ("table_0", "cup_0")),
        ("The list:\n1. Cup_0\n2) table_0", ("cup_0", "table_0")),
        ("['cup_0', 'table_0']", ("cup_0", "table_0")),
        ("cup_0", ("cup_0",)),
    ],
)
def test_lists_are_read_as_models_write_them(text: str, items: tuple[str, ...]) -> None:
    assert WORDS.read(text, ended=True) == items


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- sofa_9", "'sofa_9' is not one of"),
        ("", "expected 1 to 3 items, got 0"),
        ("- cup_0\n" * 4, "expected 1 to 3 items, got 4"),
        ("x" * 30_000, "30000 characters"),
    ],
)
def test_what_is_no_such_list_is_refused(text: str, words: str) -> None:
    with pytest.raises(ReplyError, match=words):
        WORDS.read(text, ended=True)


def test_an_empty_list_and_one_that_was_cut_off() -> None:
    assert LINES.read("none", ended=True) == ()
    assert LINES.read("- find the cup\n- bring i", ended=False) == ("find the cup",)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FORMS), st.text(max_size=60), st.booleans())
def test_no_text_breaks_a_parser(form: ReplyForm[object], text: str, ended: bool) -> None:
    try:
        assert form.read(text, ended=ended) is not None
    except ReplyError as error:
        assert str(error)  # noqa: PT017 - either is right
