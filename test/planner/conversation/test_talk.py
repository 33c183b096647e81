"""The conversation about one task, with a session that only notes what it is told."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from planner.conversation.afterwards import NOTHING_BACK, Meant, Past, meant_after
from planner.conversation.changes import Doubt, text_of
from planner.conversation.journal import Journal, Standing
from planner.conversation.talk import (
    Next,
    Reply,
    Revision,
    Talk,
    as_json,
    names_something,
    reply_without_task,
)
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.parts.calls import parse_call
from planner.world.belief import Belief, BeliefNode
from planner.world.bounds import MAX_TEXT_LENGTH
from planner.world.errors import PlannerError
from planner.world.skill import SkillCall
from planner.world.topics import InstructionCode
from planner.world.vocabulary import EntityKind, Relation

TASK = "Put the red cup in the sink."


def belief_of(held: str = "", robot: str = "robot") -> Belief:
    def node(name: str, relation: Relation, parent: str) -> BeliefNode:
        return BeliefNode(
            name, EntityKind.OBJECT, "cup", 7, (1.0, 1.0, 1.0), parent=parent, relation=relation
        )

    cup = node("cup_0", Relation.ON, "table_0")
    if held:
        cup = node("cup_0", Relation.HELD, held)
    agent = BeliefNode("agent_0", EntityKind.AGENT, robot, None, (0.0, 0.0, 0.0), room="hall_0")
    lamp = BeliefNode(
        "lamp_0", EntityKind.OBJECT, "lamp", 8, (1.0, 1.0, 1.0), parent="table_0",
        relation=Relation.ON, states={"powered_on": True},
    )  # fmt: skip
    return Belief(1.0, 1, {"cup_0": cup, "agent_0": agent, "lamp_0": lamp})


class FakeSession:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.is_held = False
        self.calls: dict[str, SkillCall] = {"agent_0": parse_call("Navigate[cup_0]")}

    @property
    def running(self) -> Mapping[str, SkillCall]:
        return self.calls

    @property
    def standing(self) -> Standing:
        done, left = ("put the cup in the sink",), ("put the book on the shelf",)
        return Standing(self.calls, ("agent_0",), "", done, left, 30.0, self.is_held)

    def hold(self) -> None:
        self.is_held = True

    def go_on(self) -> None:
        self.is_held = False


class Spoken:
    """A talk and what came of it."""

    def __init__(self, task: str = TASK, held: str = "", problem: str = "") -> None:
        self.session, self.revisions, self.problem = FakeSession(), list[Revision](), problem
        self.talk = Talk(task, lambda: belief_of(held), lambda: 2.5, self.revise)
        self.talk.begin(self.session)

    def revise(self, revision: Revision) -> None:
        if self.problem:
            raise PlannerError(self.problem)
        self.revisions.append(revision)

    def hear(self, text: str, *dialogue: str) -> Reply:
        return self.talk.hear(text, dialogue)


def test_stop_says_what_is_held_and_go_on_goes_on() -> None:
    spoken = Spoken(held="agent_0")
    reply = spoken.hear("Stop!")
    assert spoken.session.is_held
    assert reply.stands
    assert spoken.talk.stood(reply).text.endswith("agent_0 holds cup_0.")
    assert spoken.hear("what are you doing?").text.startswith("All agents stand")
    assert spoken.hear("go on").text == f"I go on with: {TASK}"
    assert not spoken.session.is_held
    assert spoken.hear("go on").text.startswith("I am at it")
    said = json.loads(as_json(spoken.talk.said))
    assert [one["who"] for one in said] == ["person", "robot"] * 4
    assert said[0] == {"t": 2.5, "who": "person", "text": "Stop!"}


def test_a_long_conversation_keeps_what_was_said_last() -> None:
    spoken = Spoken()
    for _ in range(40):
        spoken.hear("stop " * 100)
    text = as_json(spoken.talk.said)
    assert len(text) <= MAX_TEXT_LENGTH
    assert json.loads(text)[-1]["text"] == spoken.talk.said[-1].text


def test_what_was_stopped_before_it_began_stands_when_it_begins() -> None:
    talk = Talk(TASK, belief_of, lambda: 0.0, lambda _: None)
    talk.hear("wait")
    session = FakeSession()
    talk.begin(session)
    assert session.is_held


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what are you doing?", "agent_0 goes to cup_0. The task: Put the red cup in the sink."),
        ("how long?", "About 30 s more: 1 of 2 parts are done, and 30 s have passed."),
        ("what have you done so far?",
         "Done: put the cup in the sink. Left to do: put the book on the shelf."),
        ("what's left?", "Left to do: put the book on the shelf."),
        ("where are you?", "agent_0 is in hall_0."),
        ("what are you holding?", "agent_0 holds nothing."),
        ("what was the task?", "The task: Put the red cup in the sink."),
    ],
)  # fmt: skip
def test_questions_are_answered_from_the_plan(question: str, answer: str) -> None:
    spoken = Spoken()
    reply = spoken.hear(question)
    assert (reply.code, reply.text) == (InstructionCode.DONE, answer)
    assert not spoken.revisions
    assert not spoken.session.is_held


def test_a_correction_halts_and_an_addition_does_not() -> None:
    spoken = Spoken()
    assert spoken.hear("no, the blue one").text == "Now: Put the blue cup in the sink."
    assert spoken.hear("and the bowl too").code is InstructionCode.DONE
    first, second = spoken.revisions
    assert (first.text, first.halts) == ("Put the blue cup in the sink.", True)
    assert second.text == "Put the blue cup in the sink and put the bowl in the sink."
    assert not second.halts


def test_what_a_planner_understood_is_corrected_not_the_words() -> None:
    spoken = Spoken("Put it in the sink.")
    goal = interpret("Put the green cup in the sink.")
    assert isinstance(goal, Goal)
    spoken.talk.understood({"understood": goal.model_dump(mode="json", by_alias=True)})
    assert spoken.hear("no, the plate").text == "Now: Put the plate in the sink."


def test_where_nobody_knows_the_goal_the_words_are_told_to_the_planner() -> None:
    spoken = Spoken("Stell die rote Tasse in die Spüle.")
    spoken.hear("no, the blue one")
    (revision,) = spoken.revisions
    assert revision.goal is None
    assert revision.text.endswith("Correction: no, the blue one.")


def test_a_doubt_stands_until_it_is_answered() -> None:
    spoken = Spoken("Put the cup in the sink and the plate on the table.")
    spoken.session.calls = {}
    reply = spoken.hear("no, the blue one")
    assert reply.code is InstructionCode.QUESTION
    assert spoken.session.is_held
    again = spoken.hear("no, the blue one", reply.question, "the plate")
    assert again.text == "Now: Put the cup in the sink and put the blue plate on the table."
    assert not spoken.session.is_held


def test_silence_after_a_doubt_goes_on_as_before() -> None:
    spoken = Spoken()
    reply = spoken.hear("no, the flumbox")
    assert spoken.session.is_held
    assert spoken.talk.silence(reply.question)
    assert not spoken.session.is_held
    assert not spoken.talk.silence(reply.question)
    assert not spoken.revisions


def test_stop_is_no_answer() -> None:
    spoken = Spoken()
    reply = spoken.hear("no, the flumbox")
    assert spoken.hear("stop").stands
    assert spoken.talk.asks == reply.question
    assert spoken.session.is_held


def test_who_said_stop_is_not_gone_on_with_because_nobody_answers() -> None:
    spoken = Spoken()
    reply = spoken.hear("Stop, not that flumbox.")
    assert reply.question
    assert spoken.talk.silence(reply.question)
    assert spoken.session.is_held


def test_text_alone_carries_no_other_task() -> None:
    talk = Spoken().talk
    reply = talk.hear("Instead bring me the book.", None)
    assert (reply.next, reply.code) == (Next.NOTHING, InstructionCode.BAD_REQUEST)
    assert talk.hear("no, the blue one", None).code is InstructionCode.DONE


@pytest.mark.parametrize(
    ("answer", "follows"),
    [("afterwards", Next.QUEUE), ("instead, please", Next.REPLACE), ("not at all", Next.NOTHING)],
)
def test_another_task_is_asked_about(answer: str, follows: Next) -> None:
    spoken = Spoken()
    other = "Put the book on the shelf."
    asked = spoken.hear(other)
    assert asked.question == '"Put the book on the shelf": afterwards, instead, or not at all?'
    assert not spoken.session.is_held
    assert spoken.hear(other, asked.question, answer).next is follows


@pytest.mark.parametrize(
    ("text", "follows", "instruction"),
    [
        ("Afterwards bring me the book.", Next.QUEUE, "bring me the book"),
        ("Bring me the book when you're done.", Next.QUEUE, "Bring me the book"),
        ("Instead bring me the book.", Next.REPLACE, "bring me the book"),
        ("Forget that, bring me the book.", Next.REPLACE, "bring me the book"),
        ("never mind", Next.END, ""),
    ],
)
def test_words_say_what_becomes_of_both(text: str, follows: Next, instruction: str) -> None:
    reply = Spoken().hear(text)
    assert (reply.next, reply.instruction) == (follows, instruction)


@pytest.mark.parametrize("text", [TASK, "Sing.", "purple monkey", "What is in the fridge?"])
def test_the_same_again_and_what_is_not_known_are_busy(text: str) -> None:
    spoken = Spoken()
    assert spoken.hear(text).code is InstructionCode.BUSY
    assert not spoken.session.is_held


def test_a_change_that_no_planner_follows_changes_nothing() -> None:
    spoken = Spoken(problem="needs a model")
    reply = spoken.hear("no, the blue one")
    assert (reply.code, reply.text) == (InstructionCode.BAD_REQUEST, "I cannot: needs a model")
    assert spoken.talk.instruction == TASK


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("the blue one", True), ("The kitchen one.", True), ("the bowl", True),
        ("in the kitchen", True), ("the second", True), ("Sing.", False), ("purple", False),
        ("Put the cup in the sink.", False),
    ],
)  # fmt: skip
def test_only_what_names_something_answers_a_planners_question(text: str, is_one: bool) -> None:
    assert names_something(text) is is_one


def test_without_a_task_there_is_nothing_to_stop() -> None:
    for text in ("stop", "go on", "never mind"):
        reply = reply_without_task(text)
        assert reply is not None
        assert reply.code is InstructionCode.NO_GOAL
    assert reply_without_task("put the cup in the sink") is None


# After a task


def past_of(task: str = TASK) -> Past:
    goal, journal = interpret(task), Journal()
    for call in ("Pick[cup_0]", "PowerOff[lamp_0]"):
        journal.begins(parse_call(call), Known())
    return Past(goal if isinstance(goal, Goal) else None, journal, "kitchen_0")


class Known:
    """What was believed before anything changed."""

    belief = belief_of()


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("And the bowls too.", "Put all bowls in the sink."),
        ("The bowl as well, please!", "Put the bowl in the sink."),
        ("the same with the plate", "Put the plate in the sink."),
        ("No, the blue one.", "Put the blue cup in the sink."),
        ("Do it again.", "Put the red cup in the sink."),
        (
            "the same in the bathroom",
            "Put the red cup that is in the bathroom in the sink in the bathroom.",
        ),
    ],
)
def test_what_refers_to_the_task_before_is_meant_so(said: str, means: str) -> None:
    found = meant_after(past_of(), said, belief_of())
    assert isinstance(found, Meant)
    assert found.goal is not None
    assert text_of(found.goal) == means == found.text


@pytest.mark.parametrize(
    "said", ["Put it back.", "put it back where it was", "Bring it back, please"]
)
def test_it_goes_back_to_where_it_was(said: str) -> None:
    found = meant_after(past_of(), said, belief_of())
    assert isinstance(found, Meant)
    args = {"objects": ["cup_0"], "receptacles": ["table_0"]}
    assert found.evaluation == {
        "propositions": [{"function_name": "is_on_top", "args": args}],
    }


def test_undo_also_changes_states_back() -> None:
    found = meant_after(past_of(), "Undo that.", belief_of())
    assert isinstance(found, Meant)
    assert found.evaluation is not None
    text = json.dumps(found.evaluation)
    assert "is_on_top" in text
    assert "is_powered_on" in text


def test_nothing_that_was_moved_is_put_back() -> None:
    nothing = Past(None, Journal())
    assert meant_after(nothing, "put it back", belief_of()) == NOTHING_BACK


@pytest.mark.parametrize(
    ("robot", "way"), [("robot", "Go to the kitchen."), ("human", "Come here.")]
)
def test_come_back_is_to_where_it_began_or_to_the_person(robot: str, way: str) -> None:
    found = meant_after(past_of(), "come back", belief_of(robot=robot))
    assert found == Meant(way)


@pytest.mark.parametrize("said", ["Put the plate on the table.", "Leave the plates.", "Sing."])
def test_what_is_a_task_by_itself_is_left_alone(said: str) -> None:
    assert meant_after(past_of(), said, belief_of()) is None


def test_a_doubt_after_a_task_is_one() -> None:
    past = past_of("Put the cup in the sink and the book on the shelf.")
    assert isinstance(meant_after(past, "and the plate too", belief_of()), Doubt)
