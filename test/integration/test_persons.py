"""Skills with persons over ROS: a real bridge and skill executor; the test is the memory."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from bridge_harness import bridge, write_world
from geometry_msgs.msg import PoseArray
from skill_harness import Caller, Skills
from std_msgs.msg import String

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.person import Gesture, Person, PersonPlacement
from planner.world.skill import SkillCode

ANN = PersonPlacement(
    name="Ann",
    clothes=("red shirt",),
    gesture=Gesture.WAVING,
    room="kitchen_0",
    answers={"question": "Where is the sink?"},
)


@pytest.fixture(scope="module")
def caller(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> Iterator[Caller]:
    episode = small_episode.model_copy(update={"people": (ANN,)})
    path = write_world(tmp_path_factory.mktemp("people"), small_house, episode)
    with bridge(episode=path, rate=4.0):
        skills, caller = Skills(episode=path, use_sim_time="true"), Caller(small_house)
        try:
            caller.tell()
            caller.skill()
            yield caller
        finally:
            caller.close()
            skills.kill()


def test_a_person_is_greeted_told_and_asked(caller: Caller) -> None:
    said = caller.listen(String, "/agent_0/speech", 100)
    before = caller.state().entities["person_0"].person
    assert before == Person("Ann", ("red shirt",), gesture=Gesture.WAVING)
    assert caller.run("Greet[person_0]").code == SkillCode.SUCCESS
    assert caller.run("Say[person_0, joke: Knock, knock.]").code == SkillCode.SUCCESS
    asked = caller.run("AskName[person_0]")
    assert {item.key: item.value for item in asked.evidence}["name"] == "Ann"
    heard = caller.run("Listen[person_0]")
    assert {item.key: item.value for item in heard.evidence}["question"] == "Where is the sink?"
    caller.wait(lambda: len(said) == 4, "four sentences")
    assert [each.data for each in said] == [
        *("Hello.", "Knock, knock."),
        *("What is your name?", "What is your question?"),
    ]
    person = caller.state().entities["person_0"].person
    assert person is not None
    assert person.done == ("met", "told joke: Knock, knock.")


def test_persons_are_among_the_people(caller: Caller) -> None:
    at_m = caller.state().entities["person_0"].pose.position_m
    people = [(p.position.x, p.position.y) for p in caller.hear(PoseArray, "/people").poses]
    assert len(people) == 2
    assert min(math.dist(point, at_m[:2]) for point in people) < 0.01


def test_nobody_is_followed_who_is_unknown(caller: Caller) -> None:
    assert caller.run("Follow[person_3, None]").code == SkillCode.UNKNOWN_ENTITY
