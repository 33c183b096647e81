"""The model `teacher`: seeded faults in replies that a planner computes."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

import pytest

from planner.models.chat import Message, ModelError, Request, Speaker
from planner.models.model_choice import ModelChoice, make_model
from planner.models.reference import Fault, Reference, ReferenceReply
from planner.models.teacher import Skill, Teacher
from planner.world.errors import PlannerError

MESSAGES = (Message(Speaker.USER, "What now?"),)


def telling(*possible: Fault) -> Reference:
    async def reply(_random: Random, heeds: bool) -> ReferenceReply:
        right = "heeded" if heeds else "right"
        return ReferenceReply(right, {fault: f"{fault}!" for fault in possible})

    return reply


def said(teacher: Teacher, reference: Reference | None, calls: int) -> list[tuple[str, str]]:
    async def ask() -> list[tuple[str, str]]:
        request = Request(MESSAGES, reference=reference)
        answers = [await teacher.complete(request) for _ in range(calls)]
        return [(answer.text, answer.notes["fault"]) for answer in answers]

    return asyncio.run(ask())


def test_without_faults_every_reply_is_right() -> None:
    assert said(Teacher(Skill()), telling(*Fault), 20) == [("right", "none")] * 20


def test_faults_come_at_their_rates_and_are_in_the_notes() -> None:
    skill = Skill({Fault.WRONG_ENTITY: 0.3, Fault.EARLY_DONE: 0.1})
    replies = said(Teacher(skill, seed=1), telling(*Fault), 2000)
    counted = Counter(fault for _, fault in replies)
    assert counted.keys() == {"none", "wrong_entity", "early_done"}
    assert 540 < counted["wrong_entity"] < 660
    assert 150 < counted["early_done"] < 250
    assert all(text == ("right" if fault == "none" else f"{fault}!") for text, fault in replies)


def test_the_draws_follow_from_seed_episode_and_call() -> None:
    skill = Skill(dict.fromkeys(Fault, 0.1))
    first = said(Teacher(skill, episode_id="a", seed=1), telling(*Fault), 50)
    assert said(Teacher(skill, episode_id="a", seed=1), telling(*Fault), 50) == first
    assert said(Teacher(skill, episode_id="b", seed=1), telling(*Fault), 50) != first
    assert said(Teacher(skill, episode_id="a", seed=2), telling(*Fault), 50) != first


def test_a_fault_that_cannot_happen_is_none() -> None:
    skill = Skill({Fault.UNNOTICED_FAILURE: 1.0})
    assert said(Teacher(skill), telling(Fault.EARLY_DONE), 1) == [("right", "none")]


def test_a_malformed_reply_breaks_off() -> None:
    assert said(Teacher(Skill({Fault.MALFORMED: 1.0})), telling(), 1) == [("ri", "malformed")]


def test_heeding_is_asked_of_the_reference() -> None:
    assert said(Teacher(Skill(heeding=1.0)), telling(), 2) == [("heeded", "none")] * 2


def test_a_planner_without_references_is_named_as_the_reason() -> None:
    with pytest.raises(ModelError, match="needs a planner that tells it the right replies"):
        said(Teacher(Skill()), None, 1)


def test_rates_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(PlannerError, match=r"add up to 0 to 1, not 1\.2"):
        Skill({Fault.EARLY_DONE: 0.6, Fault.MALFORMED: 0.6})
    options = {"fault_rate": 0.7, "early_done": 0.5}
    with pytest.raises(PlannerError, match="add up"):
        make_model(ModelChoice("teacher", options=options))


def test_its_name_says_that_it_is_privileged_and_how_it_errs() -> None:
    made = make_model(ModelChoice("teacher", options={"early_done": 0.05, "heeding": 1.0}))
    assert made is not None
    assert made.name == "teacher (reads the goal; early_done 0.05, heeding 1)"
