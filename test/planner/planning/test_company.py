"""Planner `words` with people, in one process and a memory that has only what the robot saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import pytest

from planner.api import Run, run
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.topics import InstructionCode
from sim_bridge.opening import Opened, bare_episode

PEOPLE = (
    {"name": "Kim", "clothes": ["red shirt"], "gesture": "waving", "room": "kitchen_0"},
    {"name": "Robin", "clothes": ["blue coat"], "room": "living_room_0", "at": "tv_stand_0"},
)


@cache
def house() -> House:
    return load_house("heldout_0")


def in_room(name: str) -> tuple[float, float, float]:
    """The robot's start in the middle of a room."""
    point = house().rooms_by_name[name].shape.representative_point()
    return (point.x, point.y, 0.0)


def follow(
    text: str,
    *done: tuple[str, dict[str, list[str]]],
    asked: str = "",
    people: Sequence[Mapping[str, object]] = PEOPLE,
    start: tuple[float, float, float] | None = None,
) -> Run:
    """What becomes of an instruction, judged by these predicates with arguments.

    `asked`: the question that everybody has; `start`: of the robot, None = anywhere.
    """
    question = {"question": asked} if asked else {}
    cast = [{**person, "answers": {"name": person["name"], **question}} for person in people]
    evaluation = {
        "propositions": [{"function_name": name, "args": args} for name, args in done],
        "constraints": [],
    }
    document = bare_episode(house(), 1).model_dump(mode="json") | {
        "episode_id": "company",
        "people": cast,
        "agents": [{"uid": "agent_0", "kind": "robot", "start": start}],
        "instruction": text,
        "evaluation": evaluation if done else None,
    }
    return run(Opened(house(), Episode.model_validate(document), 1), planner="words")


Done = tuple[str, dict[str, list[str]]]
MET_KIM: Done = ("is_met", {"persons": ["person_0"]})


@pytest.mark.parametrize(
    ("text", "done", "says"),
    [
        ("Greet Kim in the kitchen.", [MET_KIM], "done: meet Kim in the kitchen"),
        (
            "Greet the person at the tv stand.",
            [("is_met", {"persons": ["person_1"]})],
            "done: meet the person at the tv stand",
        ),
        (
            "Say hello to a person in a red shirt in the kitchen and tell them a joke.",
            [MET_KIM, ("is_told", {"persons": ["person_0"], "texts": ["joke"]})],
            "done: meet",
        ),
        (
            "Tell the name of the person at the tv stand to Kim in the kitchen.",
            [("is_told", {"persons": ["person_0"], "texts": ["name: Robin"]})],
            "done: tell Kim in the kitchen the name",
        ),
        (
            "Tell Kim in the kitchen what day it is tomorrow.",
            [("is_told", {"persons": ["person_0"], "texts": ["tomorrow"]})],
            "done: tell Kim in the kitchen",
        ),
        (
            "Follow Kim in the kitchen to the bedroom.",
            [("is_followed", {"persons": ["person_0"], "places": ["bedroom_0"]})],
            "done: follow Kim",
        ),
        (
            "Take an apple from the kitchen and give it to the waving person in the kitchen.",
            [("is_handed_over", {"objects": ["apple_0"], "persons": ["person_0"]})],
            "done: bring",
        ),
    ],
)
def test_what_is_asked_of_people_is_done(text: str, done: list[Done], says: str) -> None:
    """The judge knows what was done with whom; the memory has only what was seen and told."""
    found = follow(text, *done)
    assert found.verdict.success, found.result.outcome.text
    assert found.result.outcome.text.startswith(says)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("Who wrote Hamlet?", "answer: William Shakespeare wrote Hamlet."),
        ("Where is the couch?", "answer: The couch is in ..."),
        ("What is the name of your team?", "answer: planner"),
    ],
)
def test_the_question_of_a_person_is_heard_and_answered(asked: str, told: str) -> None:
    """By what the file says, by what is remembered of the house, and by what it is itself."""
    judged = ("is_told", {"persons": ["person_0"], "texts": [told]})
    found = follow("Answer the question of the waving person in the kitchen.", judged, asked=asked)
    assert found.verdict.success, found.result.outcome.text
    assert asked in found.result.outcome.text


def test_who_asks_what_nobody_knows_hears_that_and_the_request_fails() -> None:
    judged = ("is_told", {"persons": ["person_0"], "texts": ["answer: I am sorry..."]})
    asked = "How many stars are there?"
    found = follow("Answer the quiz of Kim in the kitchen.", judged, asked=asked)
    assert found.verdict.success
    assert found.result.outcome.code is InstructionCode.GAVE_UP
    assert f"nobody knows the answer to: {asked}" in found.result.outcome.text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Tell me the name of the person at the tv stand.", "Robin"),
        ("Tell me the gesture of Kim in the kitchen.", "waving"),
        ("Tell me how many people in the kitchen are wearing red shirts.", "1"),
    ],
)
def test_what_is_asked_about_people_is_told_at_the_end(text: str, says: str) -> None:
    assert follow(text).result.outcome.text.endswith(f". {says}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Greet the sitting person in the kitchen, then bring me an apple.", "Nobody was found"),
        ("Greet the person wearing a red shirt at the tv stand.", "nobody like that is at"),
        ("Answer the question of Kim in the kitchen.", "person_0 does not say the question"),
        ("Answer a question.", "say the question itself"),
        ("Guide Kim in the kitchen to the desk.", "there is no such place: the desk"),
    ],
)
def test_what_cannot_be_done_with_people_ends_with_the_reason(text: str, why: str) -> None:
    """What would come after it is named as not done."""
    outcome = follow(text).result.outcome
    assert outcome.code is InstructionCode.GAVE_UP
    assert outcome.text.startswith("not done: ")
    assert why in outcome.text
    assert ("bring a apple to you" in outcome.text) is ("then bring" in text)


SPEAKER = {"name": "Sam", "clothes": ["white coat"], "room": "bathroom_0"}
HAS_APPLE: Done = ("is_handed_over", {"objects": ["apple_0"], "persons": ["person_0"]})


@pytest.mark.parametrize(
    ("text", "strolls", "done"),
    [
        ("Bring me an apple.", (), [HAS_APPLE]),
        # The speaker has gone to another room meanwhile.
        ("Bring me an apple.", ({"after_s": 30.0, "to": "bedroom_0"},), [HAS_APPLE]),
        (
            "Follow me to the kitchen.",
            (),
            [("is_followed", {"persons": ["person_0"], "places": ["kitchen_0"]})],
        ),
        (
            "Take me to the bedroom.",
            (),
            [("is_guided", {"persons": ["person_0"], "places": ["bedroom_0"]})],
        ),
    ],
)
def test_the_speaker_is_the_person_who_is_there(
    text: str, strolls: tuple[dict[str, object], ...], done: list[Done]
) -> None:
    """Somebody else stands in the kitchen."""
    speaker = {**SPEAKER, "strolls": strolls}
    found = follow(text, *done, people=(speaker, PEOPLE[0]), start=in_room("bathroom_0"))
    assert found.verdict.success, found.result.outcome.text
    assert found.result.outcome.code is InstructionCode.DONE


def test_what_the_speaker_cannot_take_is_put_down_beside() -> None:
    """A person holds one thing."""
    beside: Done = ("is_in_room", {"objects": ["mixing_bowl_0"], "rooms": ["bathroom_0"]})
    text, start = "Bring me an apple and a mixing bowl.", in_room("bathroom_0")
    found = follow(text, HAS_APPLE, beside, people=(SPEAKER,), start=start)
    assert found.verdict.success, found.result.outcome.text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Follow me to the kitchen.", "nobody knows where the speaker is"),
        ("Bring me an apple.", "Where are you: in the bathroom"),
    ],
)
def test_without_anybody_there_the_speaker_is_not_known(text: str, why: str) -> None:
    found = follow(text, people=(PEOPLE[0],), start=in_room("bathroom_0"))
    assert found.result.outcome.code is not InstructionCode.DONE
    assert why in f"{found.result.outcome.text} {found.result.outcome.question}"
