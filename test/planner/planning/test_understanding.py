"""A language model reads what the rules do not; what it replies is checked before it counts."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from chat_server import chat_server
from planning_toys import ToyWorld, play

from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.models.caller import Caller
from planner.models.chat import Role
from planner.models.gbnf import read_grammar
from planner.models.model_choice import Retries, RetryingModel
from planner.models.openai_compatible import Dialect, OpenAiCompatible
from planner.models.teacher import ScriptedModel
from planner.planning.planner import Exchange, Task
from planner.planning.understanding import (
    TUNED,
    Ended,
    GoalReply,
    Unclear,
    Understood,
    understand,
)
from planner.planning.words_planner import Words
from planner.world.topics import InstructionCode
from planner.world.vocabulary import Relation

Make = Callable[..., ToyWorld]
GERMAN = "Stell bitte den Apfel auf das Sofa."
RIGHT = json.dumps([{"move": {"the": "apple"}, "to": {"on_top": {"the": "couch"}}}])
NAMED = json.dumps([{"meet": {"the": "person", "name": "Jane"}}])
LAMP = json.dumps([{"make": {"the": "lamp"}, "be": "powered on"}])
WRONG = json.dumps([{"move": {"the": "gronk"}, "to": {"on_top": {"the": "couch"}}}])


def test_what_the_model_reads_is_carried_out(toy_world: Make) -> None:
    model = ScriptedModel([WRONG, RIGHT])
    world = toy_world()
    task = Task(GERMAN, tuple(world.agents))
    outcome = play(Words(task, Caller("words", model, Role.PLANNER)), world, task)
    assert outcome.done
    assert world.things["apple_0"] == (Relation.ON, "couch_0")
    assert "unknown kind 'gronk'" in model.asked[1][-1].text
    assert {request.role for request in model.requests} == {Role.PLANNER}


@pytest.mark.parametrize("replies", [["[]"], [WRONG, "no idea"], ["[" * 5000, WRONG]])
def test_nothing_moves_where_the_model_finds_no_goal(toy_world: Make, replies: list[str]) -> None:
    world = toy_world()
    task = Task(GERMAN, tuple(world.agents))
    caller = Caller("words", ScriptedModel(replies), Role.PLANNER)
    outcome = play(Words(task, caller), world, task)
    assert outcome.calls == []
    assert outcome.decisions[-1].end is InstructionCode.NO_GOAL


def served(url: str, task: Task) -> Words:
    """The planner with a real client of a server of chat completions."""
    model = RetryingModel(
        OpenAiCompatible(url, "m", dialect=Dialect.VLLM), retries=Retries(1, 0.01, 0.01)
    )
    return Words(task, Caller("words", model, Role.PLANNER))


class TunedModel(ScriptedModel):
    name = f"smollm2{TUNED}"


ODD = "the apple ought to find its way onto the couch"


@pytest.mark.parametrize(("reply", "is_done"), [(RIGHT, True), (LAMP, False), (WRONG, False)])
def test_a_tuned_model_is_asked_shortly_and_held_to_the_text(
    toy_world: Make, reply: str, is_done: bool
) -> None:
    model = TunedModel([reply])
    world = toy_world()
    task = Task(ODD, tuple(world.agents))
    assert play(Words(task, Caller("words", model, Role.PLANNER)), world, task).done is is_done
    (request,) = model.requests
    assert [message.text for message in request.messages][1:] == [ODD]
    # No other kind can be said at all.
    fits = read_grammar(request.grammar).accepts(reply.replace(": ", ":").replace(", ", ","))
    assert fits is is_done


@pytest.mark.slow
def test_what_a_server_replies_is_checked_by_the_same_rules(toy_world: Make) -> None:
    world = toy_world()
    task = Task(GERMAN, tuple(world.agents))
    with chat_server([WRONG, RIGHT]) as (url, asked):
        outcome = play(served(url, task), world, task)
    assert outcome.done
    assert world.things["apple_0"] == (Relation.ON, "couch_0")
    assert [body["structured_outputs"]["grammar"] for body in asked] == [GoalReply().grammar] * 2
    assert asked[0]["messages"][-1]["content"] == f"Instruction: {GERMAN}\nGoal:"
    assert "unknown kind 'gronk'" in asked[1]["messages"][-1]["content"]


@pytest.mark.slow
def test_nothing_moves_where_a_server_replies_wrongly_twice(toy_world: Make) -> None:
    world = toy_world()
    task = Task(GERMAN, tuple(world.agents))
    with chat_server([WRONG]) as (url, asked):
        outcome = play(served(url, task), world, task)
    assert (len(asked), outcome.calls) == (2, [])
    assert outcome.decisions[-1].end is InstructionCode.NO_GOAL


@pytest.mark.slow
@pytest.mark.parametrize("is_there", [True, False])
def test_what_the_rules_say_stands_where_no_model_replies(toy_world: Make, is_there: bool) -> None:
    world = toy_world()
    task = Task(GERMAN, tuple(world.agents))
    with chat_server([""], status=503) as (url, _):
        if is_there:
            outcome = play(served(url, task), world, task)
    if not is_there:
        outcome = play(served(url, task), world, task)
    without = play(Words(task), toy_world(), task)
    assert outcome.calls == []
    assert outcome.decisions[-1].end is without.decisions[-1].end is InstructionCode.NO_GOAL
    rules, _, why = outcome.failure.partition("; no model could read it instead: ")
    assert rules == without.failure
    assert ("503" if is_there else f"{url}: APIConnectionError") in why


@pytest.mark.slow
def test_a_question_of_the_rules_is_asked_without_the_model(toy_world: Make) -> None:
    world = toy_world()
    task = Task("Put it on the table.", tuple(world.agents))
    with chat_server([RIGHT]) as (url, asked):
        outcome = play(served(url, task), world, task)
    assert asked == []
    assert outcome.decisions[-1].question


def test_the_rules_come_first(toy_world: Make) -> None:
    model = ScriptedModel([])
    world = toy_world()
    task = Task("Put the apple on the couch.", tuple(world.agents))
    assert play(Words(task, Caller("words", model, Role.PLANNER)), world, task).done
    assert model.requests == []


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (RIGHT, True),
        (NAMED, True),
        ('[{"find": {"the": "shelf", "pick": "lowest", "nth": 2}}]', True),
        ('[{"find": {"the": "shelf", "nth": 2}}]', False),
        ("[]", True),
        ("{}", False),
    ],
)
def test_the_grammar_is_of_json_arrays(text: str, fits: bool) -> None:
    compact = text.replace(": ", ":").replace(", ", ",")
    assert read_grammar(GoalReply().grammar).accepts(compact) is fits


def settled(text: str, answer: str | None) -> object:
    """What an instruction means once its question is answered."""
    asked = understand(text, ())
    assert isinstance(asked, Unclear)
    return understand(text, [Exchange(asked.question, answer)])


@pytest.mark.parametrize(
    ("text", "answer", "whole"),
    [
        ("Put it on the table.", "the red cup", "Put the red cup on the table."),
        ("The mug has to be moved.", "the kitchen", "Move the mug to the kitchen."),
        (
            "The mug has to be moved.",
            "to the kitchen table.",
            "The mug has to be moved to the kitchen table.",
        ),
        ("Give me my favourite mug.", "the blue one", "Give me the blue mug."),
        ("The usual, please.", "Wash the plates", "Wash the plates."),
    ],
)
def test_an_answer_completes_the_instruction(text: str, answer: str, whole: str) -> None:
    assert settled(text, answer) == understand(whole, ())


def test_one_answer_may_lead_to_the_next_question() -> None:
    text = "Put the things somewhere better."
    found = settled(text, "in the wardrobe")
    assert found == Unclear('What is meant by "the things"?')
    answers = [
        Exchange('Where should it go: "somewhere better"?', "in the wardrobe"),
        Exchange('What is meant by "the things"?', "the shirts"),
    ]
    last = understand(text, answers)
    assert last == understand("Put the shirts in the wardrobe.", ())


@pytest.mark.parametrize("answer", [None, "qwertz uiop"])
def test_without_an_answer_only_what_is_clear_is_understood(answer: str | None) -> None:
    found = settled("Put the cup in the sink. The mug has to be moved.", answer)
    assert isinstance(found, Understood)
    assert found.goal == interpret("Put the cup in the sink.")
    assert found.left_out == ("The mug has to be moved.",)


@pytest.mark.parametrize(
    "text", ["The mug has to be moved.", "Put the cup in the sink. Don't put it there."]
)
def test_without_an_answer_nothing_is_done_that_might_be_wrong(text: str) -> None:
    asked = understand(text, ())
    if isinstance(asked, Unclear):
        end = understand(text, [Exchange(asked.question, None)])
        assert isinstance(end, Ended)
        assert end.code is InstructionCode.QUESTION
        assert end.question == asked.question
    else:
        assert isinstance(asked, Ended)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", InstructionCode.BAD_REQUEST, "empty"),
        ("Bring bitte die Tasse in die Küche.", InstructionCode.NO_GOAL, "English"),
        ("Pick[cup_0]; DROP TABLE memory;", InstructionCode.NO_GOAL, "program"),
        ("Turn the lamp on and keep it off.", InstructionCode.BAD_REQUEST, "contradicts"),
        ("Bring me minus three apples.", InstructionCode.BAD_REQUEST, '"minus three"'),
        ("Slice the lamp.", InstructionCode.BAD_REQUEST, "not possible"),
        ("Vlask the cup to Jane.", InstructionCode.NO_GOAL, '"flask" for "vlask"'),
        ("Put the books that are on the shelf on the shelf.", InstructionCode.DONE, "already"),
    ],
)
def test_what_cannot_be_done_ends_with_one_sentence(
    text: str, code: InstructionCode, says: str
) -> None:
    found = understand(text, ())
    assert isinstance(found, Ended)
    assert found.code is code
    assert says in found.text
    assert "\n" not in found.text


@pytest.mark.parametrize(
    ("text", "question", "answer", "plain"),
    [
        (
            "Put 1 pear, 1 jelly and a lime in the fridge",
            'Is "yogurt" meant by "jelly"?',
            "yes",
            "Put 1 pear, 1 yogurt and a lime in the fridge",
        ),
        (
            "Bring the garden chair to the hall.",
            'Is "chair" meant by "garden chair"?',
            "Yes, please.",
            "Bring the chair to the hall.",
        ),
        (
            "Put the vlask on the shelf.",
            'Is "flask" meant by "vlask"?',
            "no, the jug",
            "Put the jug on the shelf.",
        ),
        (
            "Put the zorblax on the shelf.",
            'What is meant by "zorblax"?',
            "the remote control",
            "Put the remote control on the shelf.",
        ),
    ],
)
def test_what_an_unknown_word_is_like_is_asked_once(
    text: str, question: str, answer: str, plain: str
) -> None:
    assert understand(text, ()) == Unclear(question)
    assert understand(text, (Exchange(question, answer),)) == Understood(read(plain))
    silent = understand(text, (Exchange(question, None),))
    denied = understand(text, (Exchange(question, "no"),))
    assert isinstance(silent, Ended)
    assert silent == denied
    assert silent.code is InstructionCode.NO_GOAL


@pytest.mark.parametrize(
    "text", ["Zorblax the cup.", "Zorblax Jane.", "Put the cup away, then vacuum."]
)
def test_no_thing_is_asked_about_where_a_deed_or_a_name_is_unknown(text: str) -> None:
    assert isinstance(understand(text, ()), Ended)


def read(text: str) -> Goal:
    found = interpret(text)
    assert isinstance(found, Goal)
    return found
