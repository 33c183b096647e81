"""Replies of models: every text gives a call or one clear error (spec/epm.md checks 24, 28, 29)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning_toys import ToyWorld

from planner.planning.reply_parser import MOST_CHARACTERS, check_call, read_reply
from planner.world.skill import CallError, SkillCode, parse_call

VERBS = ["Close", "ExploreFurniture", "Navigate", "Open", "Pick", "Place", "Done"]
Make = Callable[..., ToyWorld]


def code_of(text: str) -> SkillCode:
    with pytest.raises(CallError) as caught:
        read_reply(text)
    return caught.value.code


def test_check_24_text_after_the_end_of_the_turn_is_ignored() -> None:
    reply = read_reply("Navigate[Object.101]\nAssigned!\nPick[Object.102]\nAssigned!")
    assert str(reply.call) == "Navigate[Object.101]"
    assert reply.ended


def test_check_24_a_missing_end_is_flagged_and_the_call_still_read() -> None:
    reply = read_reply("Navigate[Object.101]")
    assert str(reply.call) == "Navigate[Object.101]"
    assert not reply.ended


def test_a_thought_before_the_call_is_no_call() -> None:
    text = "Thought: first Open[x], I mean the [fridge].\nNavigate[Object.101]\nAssigned!"
    assert str(read_reply(text).call) == "Navigate[Object.101]"


def test_check_28_five_arguments_of_place() -> None:
    call = read_reply("Place[Object.115, on, Object.102, None, None]\nAssigned!").call
    assert call.arguments == ("Object.115", "on", "Object.102", None, None)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", SkillCode.UNPARSABLE),
        ("Assigned!", SkillCode.UNPARSABLE),
        ("I am sorry, I cannot do that.", SkillCode.UNPARSABLE),
        ("Navigate[Object.101", SkillCode.UNPARSABLE),
        ("Fly[Object.101]", SkillCode.UNKNOWN_SKILL),
        ("__import__('os')[0]", SkillCode.UNPARSABLE),
        ("Navigate[Object.101, Object.102]", SkillCode.WRONG_ARGUMENTS),
        ("Done[Object.1]", SkillCode.WRONG_ARGUMENTS),
        ("Place[Object.115, on, Object.102]", SkillCode.WRONG_ARGUMENTS),
        ("导航[对象]", SkillCode.UNPARSABLE),
        ("x" * (MOST_CHARACTERS + 1), SkillCode.UNPARSABLE),
    ],
)
def test_what_is_no_call_has_one_clear_error(text: str, code: SkillCode) -> None:
    assert code_of(text) is code


@given(st.text(max_size=300))
def test_any_text_is_a_call_or_a_call_error(text: str) -> None:
    try:
        call = read_reply(text).call
    except CallError:
        return
    assert parse_call(str(call)) == call


WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789_.", min_size=1, max_size=12).filter(
    lambda word: word != "None"
)


@given(
    st.sampled_from(["Navigate", "Pick", "Open", "Close", "ExploreFurniture"]),
    WORDS,
    st.text(st.characters(blacklist_characters="[]!"), max_size=80),
    st.text(max_size=80),
)
def test_a_call_is_found_between_any_texts(verb: str, word: str, before: str, after: str) -> None:
    reply = read_reply(f"{before}\n{verb}[{word}]\nAssigned!{after}")
    assert str(reply.call) == f"{verb}[{word}]"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Navigate[Object.999]", SkillCode.UNKNOWN_ENTITY),
        ("Pick[Object.100]", SkillCode.WRONG_ROLE),
        ("Open[Object.150]", SkillCode.WRONG_ROLE),
        ("Clean[Object.150]", SkillCode.NOT_ABLE),
        ("Pick[None]", SkillCode.WRONG_ARGUMENTS),
        ("Place[Object.150, under, Object.100, None, None]", SkillCode.WRONG_ARGUMENTS),
        ("Place[Object.150, on, Object.100, beside, Object.151]", SkillCode.WRONG_ARGUMENTS),
        ("Place[Object.150, on, Object.100, next_to, None]", SkillCode.WRONG_ARGUMENTS),
        ("Place[Object.150, on, Object.100, next_to, Object.152]", SkillCode.REFERENCE_ELSEWHERE),
    ],
)
def test_calls_are_checked_against_what_is_known(
    toy_world: Make, text: str, code: SkillCode
) -> None:
    """Checks 28 and 29: relation, constraint and reference."""
    with pytest.raises(CallError) as caught:
        check_call(parse_call(text), toy_world().belief(), VERBS)
    assert caught.value.code is code


@pytest.mark.parametrize(
    "text",
    [
        "Navigate[Object.100]",
        "Navigate[kitchen_0]",
        "Pick[Object.150]",
        "Pick[cup_0]",
        "Place[Object.150, on, Object.100, None, none]",
        "Place[Object.150, on, Object.100, next_to, Object.151]",
        "Done[]",
    ],
)
def test_right_calls_pass(toy_world: Make, text: str) -> None:
    check_call(parse_call(text), toy_world().belief(), VERBS)
