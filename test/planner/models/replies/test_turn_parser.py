"""Replies of models: every text gives a call or one clear error (EPM-C24, EPM-C28, EPM-C29)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning_toys import ToyWorld

from planner.models.replies.turn import (
    MAX_CHARACTERS,
    Ability,
    Naming,
    Turn,
    TurnForm,
    Words,
    check_call,
    check_reference,
    read_turn,
    turn_grammar,
    words_of,
)
from planner.parts.calls import parse_call
from planner.planning.dialogues import NumberedScript
from planner.world.belief import Belief
from planner.world.skill import CallError, SkillCall, SkillCode

VERBS = ["Close", "ExploreFurniture", "Navigate", "Open", "Pick", "Place", "Done"]
Make = Callable[..., ToyWorld]


KNOWN = Words(("Object.115", "Object.149"), ("Object.101", "Object.102"), ())
NOBODY = Belief(0.0, 0, {})


def read_reply(text: str, words: Words = KNOWN, *, cut: bool = False) -> Turn:
    ability = Ability(NumberedScript().verbs(None))
    grammar = turn_grammar(words, {"agent_0": ability}, TurnForm.CALL)
    return read_turn(text, grammar, NOBODY, Naming.NUMBERS, cut=cut)


def only(turn: Turn) -> SkillCall:
    return turn.calls["agent_0"]


def code_of(text: str) -> SkillCode:
    with pytest.raises(CallError) as caught:
        read_reply(text)
    return caught.value.code


def test_check_24_text_after_the_end_of_the_turn_is_ignored() -> None:
    reply = read_reply("Navigate[Object.101]\nAssigned!\nPick[Object.102]\nAssigned!")
    assert str(only(reply)) == "Navigate[Object.101]"
    assert reply.ended


def test_check_24_a_missing_end_is_flagged_and_the_call_still_read() -> None:
    reply = read_reply("Navigate[Object.101]")
    assert str(only(reply)) == "Navigate[Object.101]"
    assert not reply.ended


def test_a_thought_before_the_call_is_no_call() -> None:
    text = "Thought: first Open[x], I mean the [fridge].\nNavigate[Object.101]\nAssigned!"
    assert str(only(read_reply(text))) == "Navigate[Object.101]"


def test_check_28_five_arguments_of_place() -> None:
    call = only(read_reply("Place[Object.115, on, Object.102, None, None]\nAssigned!"))
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
        ("x" * (MAX_CHARACTERS + 1), SkillCode.UNPARSABLE),
    ],
)
def test_what_is_no_call_has_one_clear_error(text: str, code: SkillCode) -> None:
    assert code_of(text) is code


@given(st.text(max_size=300))
def test_any_text_is_a_call_or_a_call_error(text: str) -> None:
    try:
        call = only(read_reply(text))
    except CallError:
        return
    assert parse_call(str(call)) == call


WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789_.", min_size=1, max_size=12).filter(
    lambda word: word.lower() != "none"
)


@given(
    st.sampled_from(["Navigate", "Pick", "Open", "Close", "ExploreFurniture"]),
    WORDS,
    st.text(st.characters(blacklist_characters="[]!"), max_size=80),
    st.text(max_size=80),
)
def test_a_call_is_found_between_any_texts(verb: str, word: str, before: str, after: str) -> None:
    words = Words((word,), (word,), ())
    reply = read_reply(f"{before}\n{verb}[{word}]\nAssigned!{after}", words)
    assert str(only(reply)) == f"{verb}[{word}]"


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
    """EPM-C28, EPM-C29: relation, constraint and reference."""
    call, belief = parse_call(text), toy_world().belief()

    def check() -> None:
        check_call(call, belief, VERBS)
        check_reference(call, belief)

    with pytest.raises(CallError) as caught:
        check()
    assert caught.value.code is code


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("Navigate[Object.100]", "Navigate[Object.100]"),
        ("Pick[Object.150]", "Pick[Object.150]"),
        ("Pick[cup_0]", "Pick[Object.150]"),
        ("Pick[Object 150]", "Pick[Object.150]"),
        ("PickObject[0_cup]", "Pick[Object.150]"),
        ("Pick[cup_150]", "Pick[Object.150]"),
        (
            "Place[Object.150,on,Object.100,None,none]",
            "Place[Object.150, on, Object.100, None, None]",
        ),
        (
            "Place[Object.150, on, Object.100, next_to, Object.151]",
            "Place[Object.150, on, Object.100, next_to, Object.151]",
        ),
        ("Done[]", "Done[]"),
    ],
)
def test_what_models_write_is_read_in_the_usual_spelling(
    toy_world: Make, text: str, call: str
) -> None:
    """Aliases, PARTNR-D40's names and blanks: the papers' own outputs have them."""
    belief = toy_world().belief()
    ability = Ability(NumberedScript().verbs(None))
    words = words_of(belief, Naming.NUMBERS)
    grammar = turn_grammar(words, {"agent_0": ability}, TurnForm.CALL)
    turn = read_turn(f"{text}\nAssigned!", grammar, belief, Naming.NUMBERS)
    assert str(only(turn)) == call
    assert turn.exact == grammar.allows("agent_0", text)


def read_team(text: str) -> Turn:
    abilities = {
        agent: Ability(NumberedScript().verbs(None)[:-1]) for agent in ("agent_0", "agent_1")
    }
    grammar = turn_grammar(KNOWN, abilities, TurnForm.TEAM)
    return read_turn(text, grammar, NOBODY, Naming.NUMBERS)


def test_check_37_a_teams_reply_has_a_call_for_each_agent() -> None:
    text = (
        "Thought: divide\nAgent_0_Action: Navigate[Object.101]\n"
        "Agent_1_Action: Pick[Object.115]\nAssigned!"
    )
    turn = read_team(text)
    assert {a: str(c) for a, c in turn.calls.items()} == {
        "agent_0": "Navigate[Object.101]",
        "agent_1": "Pick[Object.115]",
    }
    assert turn.exact


def test_check_37_a_teams_end_is_for_all() -> None:
    turn = read_team("Thought: all is done\nDone[]\nAssigned!")
    assert [str(call) for call in turn.calls.values()] == ["Done[]", "Done[]"]
    assert turn.exact


@pytest.mark.parametrize(
    "text",
    [
        "Thought: x\nAgent_0_Action: Navigate[Object.101]\nAssigned!",
        "Agent_0_Action: Done[]\nAgent_1_Action: Done[]\nAssigned!",
        "Agent_0_Action: Navigate[Object.101]\nAgent_1_Action: I wait\nAssigned!",
        "Done[] Agent_0_Action: Navigate[Object.101]",
        "Assigned!",
    ],
)
def test_half_a_teams_reply_is_none(text: str) -> None:
    with pytest.raises(CallError):
        read_team(text)
