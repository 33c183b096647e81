"""The model `teacher`: seeded faults in replies that a planner computes."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

import pytest

from planner.models.chat import (
    Fault,
    Knows,
    Message,
    ModelError,
    Reader,
    Reference,
    ReferenceReply,
    Request,
    Role,
    Speaker,
)
from planner.models.model_choice import ModelChoice, make_model
from planner.models.teacher import Skill, Teacher
from planner.world.errors import PlannerError

MESSAGES = (Message(Speaker.USER, "What now?"),)


def telling(*possible: Fault, task: str = "0 put", acts: bool = False) -> list[Reference]:
    """References of the requests of a long task."""

    async def reply(_random: Random, reader: Reader) -> ReferenceReply:
        right = f"{'heeded' if reader.heeds else 'right'} by {reader.knows}"
        return ReferenceReply(right, {fault: f"{fault}!" for fault in possible}, acts)

    return [Reference(f"{task} {number}", reply) for number in range(4000)]


def said(
    teacher: Teacher, references: list[Reference], calls: int, role: Role = Role.ACTOR
) -> list[tuple[str, str]]:
    async def ask() -> list[tuple[str, str]]:
        asked = (Request(MESSAGES, reference=each, role=role) for each in references[:calls])
        answers = [await teacher.complete(request) for request in asked]
        return [(answer.text, answer.notes["fault"]) for answer in answers]

    return asyncio.run(ask())


def test_without_faults_every_reply_is_right() -> None:
    assert said(Teacher(Skill()), telling(*Fault), 20) == [("right by memory", "none")] * 20


def test_faults_come_at_their_rates_and_are_in_the_notes() -> None:
    skill = Skill({Fault.WRONG_ENTITY: 0.3, Fault.EARLY_DONE: 0.1})
    replies = said(Teacher(skill), telling(*Fault), 2000)
    counted = Counter(fault for _, fault in replies)
    assert counted.keys() == {"none", "wrong_entity", "early_done"}
    assert 540 < counted["wrong_entity"] < 660
    assert 150 < counted["early_done"] < 250
    assert all(
        text == ("right by memory" if fault == "none" else f"{fault}!") for text, fault in replies
    )


def test_the_draws_follow_from_the_request_whoever_else_asks() -> None:
    teacher = Teacher(Skill(dict.fromkeys(Fault, 0.1)))
    first = said(teacher, telling(*Fault), 50)
    assert said(teacher, telling(*Fault), 50) == first
    assert said(Teacher(Skill(dict.fromkeys(Fault, 0.1))), telling(*Fault), 50) == first
    assert said(teacher, telling(*Fault, task="1 put"), 50) != first


@pytest.mark.parametrize(
    ("role", "acts", "expected"),
    [
        (Role.VERIFIER, False, 0.2),
        (Role.PLANNER, False, 0.0),
        (Role.PLANNER, True, 0.4),
        (Role.CORRECTOR, False, 0.4),
        (Role.ACTOR, True, 0.4),
    ],
)
def test_a_role_has_its_share_of_the_rates_unless_it_acts(
    role: Role, expected: float, *, acts: bool
) -> None:
    skill = Skill({Fault.WRONG_ENTITY: 0.4}, shares={Role.VERIFIER: 0.5, Role.PLANNER: 0.0})
    replies = said(Teacher(skill), telling(Fault.WRONG_ENTITY, acts=acts), 2000, role)
    share = sum(fault == "wrong_entity" for _, fault in replies) / len(replies)
    assert share == pytest.approx(expected, abs=0.03)


def test_a_fault_that_cannot_happen_is_none() -> None:
    skill = Skill({Fault.UNNOTICED_FAILURE: 1.0})
    assert said(Teacher(skill), telling(Fault.EARLY_DONE), 1) == [("right by memory", "none")]


def test_a_malformed_reply_breaks_off() -> None:
    assert said(Teacher(Skill({Fault.MALFORMED: 1.0})), telling(), 1) == [("right b", "malformed")]


def test_heeding_is_asked_of_the_reference() -> None:
    assert said(Teacher(Skill(heeding=1.0)), telling(), 2) == [("heeded by memory", "none")] * 2


def test_what_it_knows_is_asked_of_the_reference() -> None:
    teacher = Teacher(Skill(knows=Knows.PROMPT))
    assert said(teacher, telling(), 1) == [("right by prompt", "none")]
    assert teacher.name == "teacher (reads the goal and its prompt; no faults)"


def test_a_planner_without_references_is_named_as_the_reason() -> None:
    with pytest.raises(ModelError, match="needs a planner that tells it the right replies"):
        asyncio.run(Teacher(Skill()).complete(Request(MESSAGES)))


def test_rates_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(PlannerError, match=r"add up to 0 to 1, not 1\.2"):
        Skill({Fault.EARLY_DONE: 0.6, Fault.MALFORMED: 0.6})
    options = {"fault_rate": 0.7, "early_done": 0.5}
    with pytest.raises(PlannerError, match="add up"):
        make_model(ModelChoice("teacher", options=options))


def test_only_the_named_kinds_share_the_rate() -> None:
    options = {"fault_rate": 0.6, "fault_kinds": "wrong_entity, malformed", "early_done": 0.1}
    made = make_model(ModelChoice("teacher", options=options))
    assert made is not None
    assert "wrong_entity 0.3, early_done 0.1, malformed 0.3" in made.name
    with pytest.raises(PlannerError, match="fault_kinds has 'laziness', which is not a fault"):
        make_model(ModelChoice("teacher", options={"fault_kinds": "laziness"}))


def test_its_name_says_that_it_is_privileged_and_how_it_errs() -> None:
    options = {"early_done": 0.05, "heeding": 1.0, "verifier_faults": 0.0}
    made = make_model(ModelChoice("teacher", options=options))
    assert made is not None
    assert made.name == (
        "teacher (reads the goal and its prompt; early_done 0.05, heeding 1, verifier 0 of it)"
    )
    made = make_model(ModelChoice("teacher", options={"teacher_knows": "memory"}))
    assert made is not None
    assert made.name == "teacher (reads the goal; no faults)"
