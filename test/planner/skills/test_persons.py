"""Skills with persons, over a memory that has only what the robot's camera saw."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from planner.app.in_process_world import BackendPort
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.memory.memory import Memory
from planner.memory.privileged import PrivilegedUpdater
from planner.skills.executor import SkillExecutor
from planner.world.episode import Episode
from planner.world.house_checks import load_shipped_house
from planner.world.skill import SkillCode, SkillResult
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import Relation
from sim_bridge.embedded.backend import EmbeddedBackend

HOUSE = load_shipped_house("train_0")
STEP_S, LOOK_STEPS = 1 / 30, 10


class Home:
    """A robot in the kitchen of a house with persons."""

    def __init__(self, *people: dict[str, object]) -> None:
        self.backend = EmbeddedBackend()
        episode = Episode.model_validate(
            {
                "version": 1,
                "episode_id": "persons",
                "house": HOUSE.name,
                "instruction": "",
                "agents": [{"uid": "agent_0", "kind": "robot"}],
                "objects": [item.model_dump() for item in HOUSE.objects],
                "people": list(people),
            }
        )
        self.backend.reset(HOUSE, episode, 3)
        updater = PrivilegedUpdater(self.backend.world_state, sightings=self.backend.sightings)
        self.memory = Memory(HOUSE.layout, updater)
        self.said: list[str] = []
        self.executor = SkillExecutor(
            HOUSE.layout,
            BackendPort(self.backend, "agent_0"),
            lambda: self.memory.belief(self.backend.now_s()),
            report=lambda call, result: self.memory.note_result(
                "agent_0", call, result, self.backend.now_s()
            ),
            speak=self.said.append,
        )

    @property
    def state(self) -> WorldState:
        state = self.backend.world_state()
        assert state is not None
        return state

    def truth(self, name: str) -> EntityState:
        return self.state.entities[name]

    def done(self, name: str = "person_0") -> Sequence[str]:
        person = self.truth(name).person
        assert person is not None
        return person.done

    def run(self, call: str) -> SkillResult:
        result = self.executor.start(call)
        for step in range(60_000):
            if result is not None:
                return result
            self.backend.step(STEP_S)
            if step % LOOK_STEPS == 0:
                self.memory.observe(self.backend.observe("agent_0", ()))
            result = self.executor.step()
        raise AssertionError(f"{call} did not end")


def test_a_waving_person_is_found_and_greeted() -> None:
    home = Home(
        {"name": "Ann", "room": "living_room_0", "posture": "sitting"},
        {"name": "Bob", "room": "bedroom_0", "gesture": "waving", "clothes": ["red shirt"]},
    )
    found = home.run("FindPerson[waving person in a red shirt]")
    assert found.code is SkillCode.SUCCESS, found.text
    assert found.evidence["person"] == "person_1"
    assert "red shirt, waving" in found.text
    assert home.done("person_1") == ()
    greeted = home.run("Greet[person_1]")
    assert greeted.succeeded, greeted.text
    assert home.done("person_1") == ("met",)
    assert home.said == ["Hello."]
    robot, person = home.truth("agent_0"), home.truth("person_1")
    assert math.dist(robot.pose.position_m[:2], person.pose.position_m[:2]) <= 1.5


def test_the_judge_sees_what_was_done_with_persons() -> None:
    home = Home({"name": "Ann", "room": "kitchen_0"}, {"name": "Bob", "room": "bedroom_0"})
    document = {
        "propositions": [
            {"function_name": name, "args": {"persons": ["person_0"], **args}}
            for name, args in (
                ("is_met", {}),
                ("is_told", {"texts": ["time"]}),
                ("is_guided", {"places": ["bedroom_0"]}),
                ("is_guided", {"places": ["person_1"]}),
            )
        ]
    }
    judge = Evaluator(read_evaluation(document, "test"), HOUSE, home.state)
    home.run("FindPerson[person in kitchen_0]")
    for call, share in (
        ("Greet[person_0]", 0.25),
        ("Say[person_0, time: It is noon.]", 0.5),
        ("FindPerson[person in bedroom_0]", 0.5),
        ("Guide[person_0, person_1]", 1.0),
    ):
        result = home.run(call)
        assert result.succeeded, result.text
        assert judge.update(home.state).percent_complete == share
    assert judge.finish().success


def test_a_name_is_asked_for_and_remembered() -> None:
    home = Home({"name": "Ann", "room": "bedroom_0"}, {"name": "Bob", "room": "bedroom_0"})
    found = home.run("FindPerson[Bob in bedroom_0]")
    assert found.succeeded, found.text
    assert found.evidence["person"] == "person_1"
    node = home.memory.belief(0).nodes["person_1"]
    assert node.person is not None
    assert node.person.name == "Bob"
    # And at the next look.
    home.run("Wait[]")
    again = home.run("FindPerson[Bob]")
    assert again.duration_s == 0


def test_nobody_is_found_where_there_is_nobody() -> None:
    home = Home({"name": "Ann", "room": "bedroom_0"})
    result = home.run("FindPerson[lying person in kitchen_0]")
    assert result.code is SkillCode.NOT_GROUNDED
    assert "Nobody was found who is as described: lying person in kitchen_0." in result.text


def test_what_is_told_may_have_commas() -> None:
    home = Home({"room": "kitchen_0"})
    home.run("FindPerson[person]")
    assert home.run("Say[person_0, joke: Knock, knock.]").succeeded
    assert home.said[-1] == "Knock, knock."
    assert home.done() == ("told joke: Knock, knock.",)


def test_a_person_without_a_name_does_not_say_it() -> None:
    home = Home({"room": "kitchen_0"})
    home.run("FindPerson[person]")
    result = home.run("AskName[person_0]")
    assert result.code is SkillCode.NEED_UNMET
    assert "person_0 does not say the name." in result.text


def test_a_person_is_asked_for_the_question() -> None:
    home = Home({"room": "kitchen_0", "answers": {"question": "Who wrote Hamlet?"}})
    home.run("FindPerson[person]")
    result = home.run("Listen[person_0]")
    assert result.evidence["question"] == "Who wrote Hamlet?"
    assert home.said[-1] == "What is your question?"


def test_a_person_is_guided_into_another_room() -> None:
    home = Home({"name": "Ann", "room": "kitchen_0", "posture": "sitting"})
    home.run("FindPerson[person]")
    result = home.run("Guide[person_0, bedroom_0]")
    assert result.succeeded, result.text
    assert home.truth("person_0").room == "bedroom_0"
    assert "guided bedroom_0" in home.done()


def test_a_person_who_does_not_want_to_come_along_stays() -> None:
    home = Home({"room": "kitchen_0", "answers": {"come": "no"}})
    home.run("FindPerson[person]")
    before = home.truth("person_0").pose.position_m
    result = home.run("Guide[person_0, bedroom_0]")
    assert result.code is SkillCode.NEED_UNMET
    assert home.truth("person_0").pose.position_m == before


def test_a_person_is_followed_to_a_place() -> None:
    home = Home({"room": "kitchen_0"})
    home.run("FindPerson[person]")
    result = home.run("Follow[person_0, bedroom_0]")
    assert result.succeeded, result.text
    assert {"followed", "followed bedroom_0"} <= {*home.done()}
    assert home.truth("agent_0").room == "bedroom_0"


@pytest.mark.parametrize(
    ("answers", "code"), [({"follow": "no"}, SkillCode.NEED_UNMET), ({}, SkillCode.SUCCESS)]
)
def test_nobody_is_followed_who_does_not_want_it(answers: dict[str, str], code: SkillCode) -> None:
    home = Home({"room": "kitchen_0", "answers": answers})
    home.run("FindPerson[person]")
    assert home.run("Follow[person_0, None]").code is code
    assert ("followed" in home.done()) is (code is SkillCode.SUCCESS)


def test_a_thing_is_handed_over_and_taken_back() -> None:
    home = Home({"room": "kitchen_0"})
    home.run("Explore[kitchen_0]")
    thing = next(
        node.name
        for node in home.memory.belief(0).nodes.values()
        if (node.room, node.relation, node.person) == ("kitchen_0", Relation.ON, None)
    )
    home.run(f"Navigate[{thing}]")
    assert home.run(f"Pick[{thing}]").succeeded
    given = home.run(f"HandOver[{thing}, person_0]")
    assert given.succeeded, given.text
    assert given.hands == (None,)
    assert (home.truth(thing).parent, home.truth(thing).relation) == ("person_0", Relation.HELD)
    assert home.memory.belief(0).nodes[thing].parent == "person_0"
    # It is not picked up from a hand.
    assert home.run(f"Pick[{thing}]").code is SkillCode.HELD_BY_OTHER
    taken = home.run("TakeFrom[person_0]")
    assert taken.succeeded, taken.text
    assert home.truth("agent_0").hands == (thing,)
    full = home.run("TakeFrom[person_0]")
    assert full.code is SkillCode.ALREADY_HOLDING
    assert f"already holding {thing}" in full.text


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("Greet[cup_0]", SkillCode.UNKNOWN_ENTITY),
        ("Greet[bed_0]", SkillCode.WRONG_ROLE),
        ("Greet[person_7]", SkillCode.UNKNOWN_ENTITY),
        ("Say[person_0]", SkillCode.WRONG_ARGUMENTS),
        ("HandOver[bed_0, person_0]", SkillCode.WRONG_ROLE),
        ("Guide[person_0]", SkillCode.WRONG_ARGUMENTS),
    ],
)
def test_wrong_calls_are_refused(call: str, code: SkillCode) -> None:
    assert Home({"room": "bedroom_0"}).run(call).code is code


def test_who_went_away_meanwhile_is_looked_for() -> None:
    """The person leaves the kitchen unasked, while the robot stands there."""
    stroll = {"after_s": 40.0, "to": "bedroom_0"}
    home = Home({"name": "Ann", "room": "kitchen_0", "strolls": [stroll]})
    home.run("FindPerson[person]")
    home.run("Navigate[living_room_0]")
    while home.backend.now_s() < 90.0:
        home.run("Wait[]")
    assert home.truth("person_0").room == "bedroom_0"
    result = home.run("Greet[person_0]")
    assert result.succeeded, result.text
    assert home.done() == ("met",)
