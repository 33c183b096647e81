"""Dictionaries are read as models write them, and what is left out is named."""

from __future__ import annotations

import json
import time

import pytest

from planner.models.gbnf import read_grammar
from planner.models.replies.dictionary import (
    ChoiceKey,
    DictionaryReply,
    GroupKey,
    TextKey,
    TextsKey,
)
from planner.models.replies.form import ReplyError

FORM = DictionaryReply(
    (
        TextKey("reason", max_characters=30),
        TextsKey("plan", max_items=3, max_characters=20),
        TextKey("Bob's action", is_optional=True),
    )
)
BARE = json.dumps({"reason": "It is there.", "plan": ["take it"], "Bob's action": "Idle"})
GROUPED = DictionaryReply(
    (TextKey("Think"), GroupKey("Action", (TextKey("Alice"), TextKey("Bob"))))
)


@pytest.mark.parametrize(
    "text",
    [
        BARE,
        f"```json\n{BARE}\n```",
        f"```python\n{BARE}\n```",
        f"```\n{BARE}\n```",
        f"Let me see {{what}} is open.\n{BARE}\nThat is all.",
        "{'reason': 'It is there.', 'plan': ['take it'], \"Bob's action\": 'Idle'}",
        BARE.replace("Bob's action", "bob\u2019s Action").replace("reason", "Reason"),
    ],
)
def test_a_dictionary_is_read_as_models_write_it(text: str) -> None:
    found = FORM.read(text, ended=True)
    assert found.text("reason") == "It is there."
    assert found.texts("plan") == ("take it",)
    assert found.text("Bob's action") == "Idle"
    assert found.dropped == ()


def test_the_grammar_lets_the_dictionary_through_and_no_other() -> None:
    grammar = read_grammar(FORM.grammar)
    assert grammar.accepts(json.dumps(json.loads(BARE), separators=(",", ":")))
    assert not grammar.accepts('{"plan":[],"reason":"a","Bob\'s action":null}')


@pytest.mark.parametrize("written", [None, "None", "null"])
def test_none_is_written_in_several_ways(written: str | None) -> None:
    found = FORM.read(
        json.dumps({"reason": written, "plan": written, "Bob's action": written}), ended=True
    )
    assert found.values == {"reason": "None", "plan": (), "Bob's action": None}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The apple is on the table.", "no dictionary"),
        ('{"reason": "', "no dictionary; it was cut off"),
        ('{"reason": "a", "plan": []}', 'no "Bob\'s action"'),
        ('{"reason": ["a"], "plan": [], "Bob\'s action": "Idle"}', '"reason": expected a text'),
        ('{"reason": "a", "plan": "all", "Bob\'s action": "Idle"}', '"plan": expected a list'),
        ('{"reason": "a", "plan": [1], "Bob\'s action": "Idle"}', '"plan": expected texts'),
        ("{" * 100_000, "no dictionary"),
        ("x" * 400_001, "400001 characters"),
    ],
)
def test_what_is_no_such_dictionary_is_refused_with_the_key(text: str, words: str) -> None:
    with pytest.raises(ReplyError, match=words):
        FORM.read(text, ended=not text.endswith('"'))


def test_what_is_left_out_is_named() -> None:
    plan = [f"take thing {n}" for n in range(10_000)]
    found = FORM.read(
        json.dumps({"reason": "r" * 40, "plan": plan, "Bob's action": "Idle", "Zoe's action": "x"}),
        ended=True,
    )
    assert found.texts("plan") == tuple(plan[:3])
    assert found.dropped == (
        "10 characters of 'reason'",
        "9997 of 10000 items of 'plan'",
        'keys "Zoe\'s action"',
    )


def test_lists_lose_blanks_and_what_is_said_twice() -> None:
    text = json.dumps({"reason": "", "plan": ["a\n b", " ", "a b"], "Bob's action": "Idle"})
    assert FORM.read(text, ended=True).texts("plan") == ("a b",)


def test_a_dictionary_inside_another() -> None:
    found = GROUPED.read('{"Think": "t", "Action": {"Alice": "Idle", "Bob": "Done"}}', ended=True)
    assert (found.text("Alice"), found.text("Bob")) == ("Idle", "Done")
    with pytest.raises(ReplyError, match='no "Bob"'):
        GROUPED.read('{"Think": "t", "Action": {"Alice": "Idle"}}', ended=True)
    with pytest.raises(ReplyError, match='"Action": expected a dictionary'):
        GROUPED.read('{"Think": "t", "Action": "Idle"}', ended=True)


CHOICE = DictionaryReply((ChoiceKey("choice", ("open it", "close it", "2nd drawer")),))


@pytest.mark.parametrize(
    ("written", "item"),
    [
        ("1", "open it"),
        ('"2"', "close it"),
        ('"2. close it"', "close it"),
        ('"Close it"', "close it"),
        # Its words, not the number in them.
        ('"2nd drawer"', "2nd drawer"),
    ],
)
def test_a_choice_is_a_number_or_its_words(written: str, item: str) -> None:
    assert CHOICE.read(f'{{"choice": {written}}}', ended=True).text("choice") == item


@pytest.mark.parametrize("written", ["0", "4", "-1", "1.0", "true", "null", "[1]", '"open"', '""'])
def test_what_is_no_item_is_refused(written: str) -> None:
    with pytest.raises(ReplyError, match='"choice": expected a number from 1 to 3, got'):
        CHOICE.read(f'{{"choice": {written}}}', ended=True)
    assert not read_grammar(CHOICE.grammar).accepts(f'{{"choice":{written}}}')


def test_the_grammar_has_the_numbers_of_a_choice() -> None:
    assert all(read_grammar(CHOICE.grammar).accepts(f'{{"choice":{n}}}') for n in (1, 2, 3))


def test_a_long_reply_is_refused_in_no_time() -> None:
    begin_s = time.process_time()
    with pytest.raises(ReplyError, match="no dictionary"):
        FORM.read("{'it' " * 60_000, ended=True)
    assert time.process_time() - begin_s < 2.0
