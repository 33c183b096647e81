"""JSON, lists and programs: what a grammar lets through its parser reads, and nothing else."""

from __future__ import annotations

from enum import StrEnum

import pytest
from grammar_engines import llguidance, llguidance_accepts, llguidance_speaks
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from planner.models.gbnf import GrammarError, read_grammar
from planner.models.replies.dictionary import (
    DictionaryReply,
    GroupKey,
    JsonReply,
    TextKey,
    TextsKey,
)
from planner.models.replies.form import (
    ListReply,
    Name,
    ProgramReply,
    ReplyError,
    ReplyForm,
    Statement,
)


class Mood(StrEnum):
    GOOD = "good"
    BAD = "bad"


class Part(BaseModel):
    name: str
    count: int


class Document(BaseModel):
    done: bool
    mood: Mood
    parts: list[Part] = Field(max_length=2)
    why: str | None


class Endless(BaseModel):
    inside: list[Endless]


JSON = JsonReply(Document)
WORDS = ListReply(("table_0", "cup_0"), max_items=3)
LINES = ListReply(min_items=0, max_items=4)
PROGRAM = ProgramReply({"InteractionObject": 1, "wait": 0}, {"go_to": 0, "place": 1})
DICTIONARY = DictionaryReply(
    (
        TextKey("reason", max_characters=20),
        TextsKey("plan", max_items=2, max_characters=12),
        GroupKey(
            "Action", (TextKey("Alice", words=("Idle", "Done")), TextKey("Bob", is_optional=True))
        ),
    )
)
FORMS = [JSON, WORDS, LINES, PROGRAM, DICTIONARY]
FOUND = '{"done":true,"mood":"good","parts":[{"name":"cup","count":2}],"why":null}'


@pytest.mark.parametrize("form", FORMS)
def test_a_model_of_random_weights_says_what_the_parser_reads(form: ReplyForm[object]) -> None:
    compiled = llguidance(form.grammar)
    read = read_grammar(form.grammar)
    for seed in range(12):
        said = llguidance_speaks(compiled, seed)
        assert read.accepts(said), said
        try:
            form.read(said, ended=True)
        except ReplyError as error:
            # No grammar says which names a program has bound.
            assert form is PROGRAM and "is not defined" in str(error), said  # noqa: PT017, PT018


def test_json_is_found_in_its_fence_and_checked_field_by_field() -> None:
    assert read_grammar(JSON.grammar).accepts(FOUND)
    assert llguidance_accepts(llguidance(JSON.grammar), FOUND)
    found = JSON.read(f"Here it is:\n```json\n{FOUND}\n```", ended=True)
    assert found.parts == [Part(name="cup", count=2)]
    assert found.mood is Mood.GOOD
    with pytest.raises(ReplyError, match=r"parts\.0\.count"):
        JSON.read(FOUND.replace("2", '"two"'), ended=True)
    with pytest.raises(ReplyError, match="it was cut off"):
        JSON.read(FOUND[:30], ended=False)
    with pytest.raises(ReplyError, match="no JSON object"):
        JSON.read("yes", ended=True)


def test_a_document_without_end_has_no_grammar() -> None:
    with pytest.raises(GrammarError, match="refers to itself"):
        _ = JsonReply(Endless).grammar


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


def test_a_program_is_read_and_never_run() -> None:
    text = '```python\nmug = InteractionObject("Mug")\nmug.go_to()\nmug.place(mug)\nwait()\n```'
    assert PROGRAM.read(text, ended=True) == (
        Statement("InteractionObject", ("Mug",), target="mug"),
        Statement("go_to", receiver="mug", line=2),
        Statement("place", (Name("mug"),), receiver="mug", line=3),
        Statement("wait", line=4),
    )
    assert len(PROGRAM.read("wait()\nwait(", ended=False)) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import os", "line 1: Import is not allowed"),
        ('__import__("os")', "there is no __import__"),
        ("wait()\nmug.go_to()", "line 2: mug is not defined"),
        ('x = InteractionObject("a").go_to()', "expected a known function or a method of a name"),
        ("InteractionObject()", "takes 1 arguments, got 0"),
        ("InteractionObject(wait())", "must be a text, a number or a name"),
        ("for i in range(9): wait()", "For is not allowed"),
        ("wait(", "is not a program"),
        ("", "no statement"),
        ("wait()\n" * 33, "33 statements, at most 32"),
    ],
)
def test_anything_but_calls_of_known_functions_is_refused(text: str, words: str) -> None:
    with pytest.raises(ReplyError, match=words):
        PROGRAM.read(text, ended=True)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FORMS), st.text(max_size=60), st.booleans())
def test_no_text_breaks_a_parser(form: ReplyForm[object], text: str, ended: bool) -> None:
    try:
        assert form.read(text, ended=ended) is not None
    except ReplyError as error:
        assert str(error)  # noqa: PT017 - either is right
