"""The grammar of a turn: one text, read alike by every engine (PARTNR-7.4)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from grammar_engines import (
    HAS_XGRAMMAR,
    llguidance,
    llguidance_accepts,
    llguidance_speaks,
    xgrammar,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from planning_toys import ToyWorld, capabilities

from planner.models.gbnf import GrammarError, read_grammar
from planner.models.replies.turn import (
    Ability,
    Naming,
    Turn,
    TurnForm,
    TurnGrammar,
    Words,
    is_speakable,
    read_turn,
    turn_grammar,
    words_of,
)
from planner.planning.numbered_dialogue import offered
from planner.skills.part import SKILLS
from planner.world.belief import Belief
from planner.world.skill import CallError, SkillCall, SkillCode, SkillName
from planner.world.vocabulary import AgentKind

Make = Callable[..., ToyWorld]
ROBOT = Ability(offered(None))
PERSON = Ability(offered(capabilities(AgentKind.HUMAN)))
TOOLS = tuple(name for name, part in SKILLS.usable().items() if part.is_query)
EVERYTHING = Ability(tuple(SkillName), may_ask=True)
WORDS = Words(("cup_0", "cup_1"), ("table_0", "floor_kitchen_0"), ("kitchen_0",))
NOTHING = Words((), ("table_0",), ("kitchen_0",))
GRAMMARS = [
    turn_grammar(WORDS, {"agent_0": ROBOT}, TurnForm.CALL),
    turn_grammar(WORDS, {"agent_0": EVERYTHING}, TurnForm.THOUGHT),
    turn_grammar(WORDS, {"agent_0": ROBOT, "agent_1": PERSON}, TurnForm.TEAM),
    turn_grammar(WORDS, {"agent_0": PERSON}, TurnForm.BARE),
    turn_grammar(NOTHING, {"agent_0": PERSON}, TurnForm.CALL),
    turn_grammar(
        WORDS,
        {
            "agent_0": replace(ROBOT, blocked=(SkillCall(SkillName.PICK, ("cup_0",)),)),
            "agent_1": PERSON,
        },
        TurnForm.TEAM,
    ),
    turn_grammar(
        replace(WORDS, objects=('od"d_1', "back\\slash_2", "kóp_3", "茶杯_4")),
        {"agent_0": ROBOT},
        TurnForm.CALL,
    ),
]
COMPILED = [llguidance(grammar.text) for grammar in GRAMMARS]


def grammar_of(belief: Belief, ability: Ability = ROBOT) -> TurnGrammar:
    return turn_grammar(words_of(belief, Naming.NAMES), {"agent_0": ability}, TurnForm.CALL)


def call_of(text: str, belief: Belief, ability: Ability = ROBOT) -> str:
    turn = read_turn(text, grammar_of(belief, ability), belief, Naming.NAMES)
    return str(turn.calls["agent_0"])


def code_of(text: str, belief: Belief, ability: Ability = ROBOT) -> SkillCode:
    with pytest.raises(CallError) as caught:
        call_of(text, belief, ability)
    return caught.value.code


# ---- one language for every engine ------------------------------------------------------


def mutated(text: str, chance: random.Random) -> str:
    """A text with a few characters changed, doubled or left out."""
    for _ in range(chance.randrange(3)):
        at = chance.randrange(len(text) + 1)
        more = chance.choice(["", " ", ",", "]", "\n", "x", "1", "none", "é", text[at : at + 3]])
        text = text[:at] + more + text[at + chance.randrange(2) :]
    return text


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.sampled_from(range(len(GRAMMARS))), st.integers(0, 2**32))
def test_our_recogniser_and_llguidance_agree(number: int, seed: int) -> None:
    said = llguidance_speaks(COMPILED[number], seed)
    grammar = GRAMMARS[number].read
    assert grammar.accepts(said)
    chance = random.Random(seed)
    for _ in range(8):
        text = mutated(said, chance)
        assert grammar.accepts(text) == llguidance_accepts(COMPILED[number], text), text


@pytest.mark.skipif(not HAS_XGRAMMAR, reason="xgrammar needs torch, which the core has not")
@settings(max_examples=30, deadline=None)
@given(st.sampled_from(range(len(GRAMMARS))), st.integers(0, 2**32))
def test_xgrammar_and_llguidance_agree(number: int, seed: int) -> None:
    accepts = xgrammar(GRAMMARS[number].text)
    chance = random.Random(seed)
    said = llguidance_speaks(COMPILED[number], seed)
    assert accepts(said)
    for _ in range(8):
        text = mutated(said, chance)
        assert accepts(text) == llguidance_accepts(COMPILED[number], text), text


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(range(len(GRAMMARS))), st.integers(0, 2**32))
def test_the_parser_reads_every_text_of_the_language_and_only_its_calls(
    number: int, seed: int
) -> None:
    """What random weights say under the grammar is a valid turn; anything else gives no call
    that the grammar does not have."""
    grammar = GRAMMARS[number]
    belief = Belief(0.0, 0, {})
    said = llguidance_speaks(COMPILED[number], seed)
    turn = read_turn(said, grammar, belief, Naming.NAMES, cut=False)
    assert turn.exact
    assert_possible(turn, grammar)
    for _ in range(4):
        text = mutated(said, random.Random(seed))
        try:
            turn = read_turn(text, grammar, belief, Naming.NAMES)
        except CallError:
            continue
        assert_possible(turn, grammar)


def assert_possible(turn: Turn, grammar: TurnGrammar) -> None:
    assert turn.calls or turn.question
    all_done = all(str(call) == "Done[]" for call in turn.calls.values())
    for agent, call in turn.calls.items():
        whole_team = grammar.form is TurnForm.TEAM and all_done
        assert whole_team or grammar.allows(agent, str(call))


# ---- what it has in it ------------------------------------------------------------------


def test_check_24_a_robot_has_no_state_skills(toy_world: Make) -> None:
    belief = toy_world().belief()
    for verb in ("Clean", "Fill", "Pour", "PowerOn", "PowerOff"):
        call = f"{verb}[cup_0]"
        assert verb not in grammar_of(belief).text
        assert code_of(f"{call}\nAssigned!", belief) is SkillCode.NOT_ABLE
        assert call_of(f"{call}\nAssigned!", belief, PERSON) == call


@pytest.mark.parametrize(
    "text",
    [
        "Place[cup_0, on, table_0, none, none]",
        "Place[cup_0,on,table_0,None,None]",
        "Place[cup_0,  on, table_0,  None, none]",
        "Place[ cup_0 ,on,   table_0, none,   None ]",
    ],
)
def test_check_28_spellings_of_one_call(toy_world: Make, text: str) -> None:
    call = call_of(f"{text}\nAssigned!", toy_world().belief())
    assert call == "Place[cup_0, on, table_0, None, None]"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Place[cup_0, on, table_0, next_to, None]", SkillCode.WRONG_ARGUMENTS),
        ("Place[cup_0, under, table_0, None, None]", SkillCode.WRONG_ARGUMENTS),
        ("Pick[unknown_name]", SkillCode.UNKNOWN_ENTITY),
        ("Pick[table_0]", SkillCode.WRONG_ROLE),
    ],
)
def test_check_28_what_is_no_call(toy_world: Make, text: str, code: SkillCode) -> None:
    assert code_of(f"{text}\nAssigned!", toy_world().belief()) is code
    assert not grammar_of(toy_world().belief()).read.accepts(f"{text}\nAssigned!")


def test_check_29_the_grammar_follows_what_is_seen(toy_world: Make) -> None:
    world = toy_world("cup_0")
    assert code_of("Pick[cup_0]", world.belief()) is SkillCode.UNKNOWN_ENTITY
    assert '"cup_0"' not in grammar_of(world.belief()).text
    world.hidden.clear()
    assert call_of("Pick[cup_0]", world.belief()) == "Pick[cup_0]"


def test_d_53_without_things_no_call_needs_one(toy_world: Make) -> None:
    world = toy_world()
    world.hidden = set(world.things)
    text = grammar_of(world.belief(), PERSON).text
    for rule in ("pick ::=", "place ::=", "rearrange ::=", "fill ::=", "object ::="):
        assert rule not in text
    assert "clean ::=" in text


def test_tools_take_free_text_that_ends() -> None:
    grammar = turn_grammar(WORDS, {"agent_0": Ability(TOOLS)}, TurnForm.CALL)
    assert grammar.allows("agent_0", "FindObjectTool[toys on the floor, red ones]")
    assert grammar.allows("agent_0", "FindObjectTool[the mug of Mr. Bear.]")
    assert grammar.allows("agent_0", "FindRoomTool[]")
    assert not grammar.allows("agent_0", f"FindObjectTool[{'x' * 81}]")
    assert not grammar.allows("agent_0", "FindObjectTool[a]b]")


def test_a_blocked_call_is_left_out_for_its_agent_alone() -> None:
    grammar = GRAMMARS[5]
    assert not grammar.allows("agent_0", "Pick[cup_0]")
    assert grammar.allows("agent_0", "Pick[cup_1]")
    assert grammar.allows("agent_1", "Pick[cup_0]")


def test_a_blocked_place_leaves_the_hand_another_way_out() -> None:
    call = SkillCall(SkillName.PLACE, ("cup_0", "on", "table_0", None, None))
    grammar = turn_grammar(WORDS, {"agent_0": replace(ROBOT, blocked=(call,))}, TurnForm.BARE)
    assert not grammar.allows("agent_0", str(call))
    assert grammar.allows("agent_0", "Place[cup_0, on, floor_kitchen_0, None, None]")


def test_equal_worlds_share_one_grammar(toy_world: Make) -> None:
    world = toy_world()
    first = grammar_of(world.belief())
    world.sequence += 1
    assert grammar_of(world.belief()) is first
    world.hidden.add("cup_0")
    assert grammar_of(world.belief()).text != first.text


@pytest.mark.parametrize("name", ["a]b", "a, b", "", " cup", "None", "x\ny", "Pick[a"])
def test_names_that_no_call_can_hold_are_left_out(name: str) -> None:
    assert not is_speakable(name)


# ---- reading grammars -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no rule root"),
        ('root = "a"', "not understood"),
        ('root "a"', "a rule was expected"),
        ('root ::= "a', "not understood"),
        ("root ::= other", "other is not defined"),
        ('root ::= "a" | root', "refers to itself"),
        ('root ::= ("a"', "not closed"),
        ("root ::= |", "an alternative is empty"),
        ('root ::= "a"\nroot ::= "b"', "defined twice"),
        ('root ::= * "a"', "nothing can be repeated"),
        ('root ::= "\\q"', "unknown escape"),
        ('root ::= ([a-z]{1,260} "."){0,8}', "a rule of its own"),
        ("root ::= [a-z]{0,2001}", "above 2000"),
    ],
)
def test_what_is_no_grammar(text: str, reason: str) -> None:
    with pytest.raises(GrammarError, match=reason):
        read_grammar(text)


@pytest.mark.parametrize(
    ("text", "fits", "misfits"),
    [
        ('root ::= "a" ("b" | "c")* "d"', ["ad", "abcbd"], ["", "a", "abx", "add"]),
        ('root ::= ("ab"){1,2}', ["ab", "abab"], ["", "aba", "ababab"]),
        ('root ::= [a-c]{2,3} "c"?', ["ab", "abc", "abcc"], ["a", "abcabc"]),
        ('root ::= "a" | "ab" | "abc"', ["a", "ab", "abc"], ["", "abcd"]),
        ('root ::= x "b"\nx ::= "a" | "c"', ["ab", "cb"], ["acb"]),
        ('root ::= x{0,8}\nx ::= [a-z]{1,260} "."', ["", "a.b."], ["a"]),
    ],
)
def test_what_a_grammar_accepts(text: str, fits: list[str], misfits: list[str]) -> None:
    grammar = read_grammar(text)
    assert all(grammar.accepts(word) for word in fits)
    assert not any(grammar.accepts(word) for word in misfits)
    assert all(llguidance_accepts(llguidance(text), word) for word in fits)
