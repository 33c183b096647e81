"""Tries of a task by persons, in pairs or alone, and episodes to practise with."""

from __future__ import annotations

import json

import pytest
from console_messages import info, instruction, judgement
from dispatcher_stage import PARTNER, PICK, WORDS, Console

from planner.console.dispatcher import LESSONS, number_of
from planner.console.protocol import Again, Consent, Finish, Instruct, Join, Practice, Skill
from planner.console.rights import Visitor
from planner.world.house_checks import load_shipped_episode

AGAIN = Again(type="again", order=1)


def tried(console: Console, percent: float, status: int) -> None:
    """A try that the judge saw begin and end."""
    names = {f"part__{i}": i < percent * 4 for i in range(4)}
    console.view.take("/evaluation", judgement(1.0, 0, **names))
    console.view.take("/evaluation/result", judgement(2.0, status, **names))


def test_a_task_is_tried_three_times_and_the_best_one_counts(console: Console) -> None:
    page, other = console.page("aaaaaaaa"), console.page("bbbbbbbb")
    assert console.dispatch(page, AGAIN) == (False, "no task was begun at this console")
    console.dispatch(page, WORDS)
    tried(console, 0.25, 2)
    assert console.dispatch(other, AGAIN) == (False, "this page is not in control")
    assert console.dispatch(page, AGAIN) == (True, "DONE")
    assert console.robots.asked[-1] == ("again", "Tidy.", ())
    tried(console, 0.5, 2)
    console.dispatch(page, AGAIN)
    tried(console, 0.25, 2)
    assert console.dispatch(page, AGAIN) == (False, "the task had its 3 tries")
    shown = console.view.table.get("tries", "now")
    assert isinstance(shown, dict)
    assert (shown["best"], shown["again"]) == (2, "the task had its 3 tries")
    ends = [line for line in console.lines() if line["what"] == "try ended"]
    assert [(e["try"], e["percent"], e["best"]) for e in ends] == [
        (1, 0.25, 1),
        (2, 0.5, 2),
        (3, 0.25, 2),
    ]
    # Every line says of which try it is.
    assert [line["try"] for line in console.lines() if line["what"] == "again ended"] == [2, 3]
    # Another task begins with its first try.
    console.dispatch(page, Instruct(type="instruct", order=1, words="Clean."))
    assert console.lines()[-1]["try"] == 1


def test_a_success_ends_the_tries(console: Console) -> None:
    page = console.page("aaaaaaaa")
    console.dispatch(page, WORDS)
    # The verdict of before is repeated until the judge begins anew; it is not of this try.
    console.view.take("/evaluation/result", judgement(0.5, 1, part=True))
    assert console.lines()[-1]["what"] != "try ended"
    tried(console, 1.0, 1)
    assert console.lines()[-1]["state"] == "succeeded"
    assert console.dispatch(page, AGAIN) == (False, "the task has succeeded")


def test_an_answer_that_continues_a_dialogue_is_of_the_same_try(console: Console) -> None:
    page = console.page("aaaaaaaa")
    console.dispatch(page, WORDS)
    more = Instruct(type="instruct", order=1, words="Tidy.", dialogue=["What?", "The table."])
    console.dispatch(page, more)
    assert console.lines()[-1]["try"] == 1
    console.view.take("/instruct/status", instruction(1, "agent_0"))
    assert console.dispatch(page, AGAIN) == (False, "the instruction is running; end it first")


def test_a_try_that_was_stopped_is_over_when_the_next_one_begins(console: Console) -> None:
    page = console.page("aaaaaaaa")
    console.dispatch(page, WORDS)
    console.view.take("/evaluation", judgement(1.0, 0, one=True, two=False))
    console.dispatch(page, AGAIN)
    (ended,) = (line for line in console.lines() if line["what"] == "try ended")
    assert (ended["try"], ended["percent"], ended["state"]) == (1, 0.5, "failed")
    assert ended["who"] == page.who


def test_consent_to_training_is_recorded_and_shown_and_can_be_taken_back(console: Console) -> None:
    page, viewer = console.page("aaaaaaaa"), console.page("bbbbbbbb", may_order=False)
    for yes in (True, False):
        said = Consent(type="consent", order=1, yes=yes)
        assert console.dispatch(page, said)[0] is True
        assert console.view.table.get("seats", "consents") == {"aaaaaa": yes}
        assert console.dispatch(viewer, said) == (False, "this page may only look")
    lines = [
        line for line in console.lines() if line["what"] == "consent" and "refused" not in line
    ]
    assert [(line["who"], line["order"]) for line in lines] == [
        (page.who, {"yes": True}),
        (page.who, {"yes": False}),
    ]


JOIN = Join(type="join", order=1)


def test_two_persons_are_paired_as_the_partners_of_two_agents(console: Console) -> None:
    one, two, three = (console.page(name * 8) for name in "abc")
    world = info("agent_0", "agent_1")
    world.episode_json = json.dumps({"instruction": "Lay the table."})
    console.view.take("/world/info", world)
    assert console.dispatch(one, JOIN) == (True, "waits for a second person")
    assert console.view.table.get("seats", "lobby") == ["aaaaaa"]
    assert console.dispatch(one, JOIN) == (True, "waits for a second person")
    assert console.dispatch(two, JOIN) == (True, "you are agent_1")
    assert console.view.table.get("seats", "lobby") == []
    seats = console.view.table.get("seats", "now")
    assert isinstance(seats, dict)
    assert {seat: held["session"] for seat, held in seats.items()} == {  # type: ignore[index, call-overload]
        "operator": "aaaaaa",
        "agent_0": "aaaaaa",
        "agent_1": "bbbbbb",
    }
    first = Skill(type="skill", order=1, agent="agent_0", call="Pick[cup_0]")
    assert console.dispatch(one, first)[1] == "too far"
    assert console.dispatch(two, PICK)[1] == "too far"
    assert console.dispatch(two, first) == (False, "this page is not the partner agent_0")
    paired = [(e["who"], e["seat"]) for e in console.lines() if e["what"] == "paired"]
    assert paired == [(one.who, "agent_0"), (two.who, "agent_1")]
    assert console.dispatch(three, JOIN) == (False, "another page is agent_0 already")
    assert console.dispatch(two, JOIN) == (False, "this page is agent_1 already")
    # The task is that of the episode; another try tells nobody anything.
    assert console.dispatch(one, WORDS) == (
        False,
        "all agents are persons; one has to leave its seat first",
    )
    tried(console, 0.5, 2)
    assert console.dispatch(one, AGAIN)[0] is True
    assert console.robots.asked[-1] == ("again", "", ())
    assert console.lines()[-1]["try"] == 2


FINISH = Finish(type="finish", order=1)


def pair(console: Console) -> tuple[Visitor, Visitor]:
    one, two = console.page("aaaaaaaa"), console.page("bbbbbbbb")
    world = info("agent_0", "agent_1")
    world.episode_json = json.dumps({"instruction": "Lay the table."})
    console.view.take("/world/info", world)
    console.dispatch(one, JOIN)
    console.dispatch(two, JOIN)
    return one, two


def test_two_persons_end_their_try_or_it_ends_when_all_is_done(console: Console) -> None:
    one, two = pair(console)
    three = console.page("cccccccc")
    console.view.take("/evaluation", judgement(1.0, 0, cup=True, book=False))
    assert ("finish",) not in console.robots.asked
    words = "only who does the task ends it; this page is not a partner"
    assert console.dispatch(three, FINISH) == (False, words)
    assert console.dispatch(two, FINISH) == (True, "success")
    console.view.take("/evaluation/result", judgement(2.0, 2, cup=True, book=False))
    nothing = "nobody does a task alone here: a planner ends what it was told"
    assert console.dispatch(two, FINISH) == (False, nothing)
    console.dispatch(one, AGAIN)
    before = console.robots.asked.count(("finish",))
    console.view.take("/evaluation", judgement(3.0, 0, cup=True, book=False))
    console.view.take("/evaluation", judgement(4.0, 0, cup=True, book=True))
    assert console.robots.asked.count(("finish",)) == before + 1
    console.view.take("/evaluation/result", judgement(4.0, 1, cup=True, book=True))
    ends = [line for line in console.lines() if line["what"] == "try ended"]
    assert [(end["try"], end["state"], end["percent"]) for end in ends] == [
        (1, "failed", 0.5),
        (2, "succeeded", 1.0),
    ]


def test_who_is_in_control_loads_an_episode_to_practise_with(console: Console) -> None:
    page, other = console.page("aaaaaaaa"), console.page("bbbbbbbb")
    second = Practice(type="practice", order=1, lesson=2)
    assert console.dispatch(other, second) == (False, "this page is not in control")
    console.view.take("/instruct/status", instruction(1, "agent_0"))
    assert console.dispatch(page, second) == (False, "the instruction is running; end it first")
    console.view.take("/instruct/status", instruction(3, "agent_0"))
    robot = info("agent_0", "agent_1")
    robot.simulated = False
    console.view.take("/world/info", robot)
    assert "only a simulator" in console.dispatch(page, second)[1]
    console.view.take("/world/info", info("agent_0", "agent_1"))
    assert console.dispatch(page, second)[0] is True
    assert console.robots.asked[-1] == ("load", "bedside_0")
    assert console.view.table.get("practice", "done") is None
    console.view.take("/evaluation", judgement(1.0, 0, clock=True))
    assert console.robots.asked[-1] == ("finish",)
    console.view.take("/evaluation/result", judgement(1.0, 1, clock=True))
    assert console.view.table.get("practice", "done") == [2]


def test_an_episode_to_practise_with_is_tried_again_by_the_person_and_begins_anew(
    console: Console,
) -> None:
    page = console.page("aaaaaaaa")
    console.view.take("/world/info", info("agent_0", "agent_1"))
    second = Practice(type="practice", order=1, lesson=2)
    console.dispatch(page, second)
    console.dispatch(page, PARTNER)
    for number in (1, 2):
        console.view.take("/evaluation", judgement(float(number), 0, clock=False))
        console.dispatch(page, FINISH)
        console.view.take("/evaluation/result", judgement(float(number), 2, clock=False))
        assert console.lines()[-1]["try"] == number
        # One of its agents is free, but no planner gets the words.
        assert console.dispatch(page, AGAIN)[0] is True
        assert console.robots.asked[-1] == ("again", "", ("agent_0",))
    console.dispatch(page, second)
    assert console.lines()[-1]["try"] == 1


@pytest.mark.parametrize("verdict_is_first", [True, False])
def test_persons_may_end_a_try_before_the_judge_has_said_anything_of_it(
    console: Console, verdict_is_first: bool
) -> None:
    page = console.page("aaaaaaaa")
    console.view.take("/world/info", info("agent_0", "agent_1"))
    assert console.dispatch(page, Practice(type="practice", order=1, lesson=2))[0] is True
    console.dispatch(page, PARTNER)
    console.robots.is_slow = True
    answers: list[tuple[bool, str]] = []
    console.dispatcher.dispatch(page, FINISH, lambda good, text: answers.append((good, text)))
    verdict = judgement(1.0, 2, clock=False)
    if verdict_is_first:
        console.view.take("/evaluation/result", verdict)
    console.robots.waiting.pop()(True, "failure")
    if not verdict_is_first:
        console.view.take("/evaluation/result", verdict)
    assert answers == [(True, "failure")]
    assert console.lines()[-1]["what"] in ("try ended", "finish ended")
    ends = [line for line in console.lines() if line["what"] == "try ended"]
    assert [(end["try"], end["state"], end["percent"]) for end in ends] == [(1, "failed", 0.0)]


def test_a_late_answer_to_an_end_does_not_end_the_next_try(console: Console) -> None:
    page = console.page("aaaaaaaa")
    console.view.take("/world/info", info("agent_0", "agent_1"))
    console.dispatch(page, Practice(type="practice", order=1, lesson=2))
    console.dispatch(page, PARTNER)
    console.view.take("/evaluation", judgement(0.5, 0, clock=False))
    console.robots.is_slow = True
    console.dispatcher.dispatch(page, FINISH, lambda good, text: None)
    answer = console.robots.waiting.pop()
    console.view.take("/evaluation/result", judgement(1.0, 2, clock=False))
    console.robots.is_slow = False
    assert console.dispatch(page, AGAIN)[0] is True
    answer(True, "failure")
    ends = [line["try"] for line in console.lines() if line["what"] == "try ended"]
    assert ends == [1]


def test_the_episodes_to_practise_with_are_of_each_type_and_in_one_house() -> None:
    types, houses = set(), set()
    for number, lesson in enumerate(LESSONS, 1):
        episode, house = load_shipped_episode(lesson.episode)
        assert number_of(episode.instruction) == number
        assert episode.split == "train"
        types |= set(episode.task_types)
        houses.add(house.name)
    assert len(types) == 4
    assert len(houses) == 1
    assert number_of("Tidy.") == 0


def test_a_planner_ends_what_it_was_told(console: Console) -> None:
    page = console.page("aaaaaaaa")
    console.dispatch(page, PARTNER)
    console.dispatch(page, WORDS)
    console.view.take("/evaluation", judgement(1.0, 0, cup=True))
    assert ("finish",) not in console.robots.asked
    assert console.dispatch(page, FINISH)[0] is False


def test_who_leaves_the_lobby_or_is_lost_is_not_paired(console: Console) -> None:
    one, two, three = (console.page(name * 8) for name in "abc")
    console.dispatch(one, JOIN)
    assert console.dispatch(one, Join(type="join", order=1, on=False)) == (True, "waits no longer")
    assert console.dispatch(two, JOIN) == (True, "waits for a second person")
    console.dispatcher.visitor_left(two)
    assert console.dispatch(three, JOIN) == (True, "waits for a second person")
    assert console.dispatch(one, JOIN) == (True, "you are agent_1")


def test_nobody_is_paired_while_the_agents_follow_an_instruction(console: Console) -> None:
    page = console.page("aaaaaaaa")
    console.view.take("/instruct/status", instruction(1, "agent_0"))
    text = "agent_0 follows the instruction that is running; end that first"
    assert console.dispatch(page, JOIN) == (False, text)
    console.view.take("/world/info", info("agent_0"))
    console.view.take("/instruct/status", instruction(3, "agent_0"))
    assert (
        console.dispatch(page, JOIN)[1] == "agent_0 is the only agent; a partner needs a second one"
    )
