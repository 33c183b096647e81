"""The story's lines and the picture, from what the topics carry."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.houses.marks import Move
from planner.narrator import story
from planner.narrator.picture import Moment, draw_run
from planner.world.belief import BeliefNode
from planner.world.house import House
from planner.world.topics import one_line
from planner.world.vocabulary import EntityKind, Hands, Relation


def test_lines_say_when_who_and_why() -> None:
    assert (
        story.decided_line(61.5, "agent_0", "Pick[cup_0]") == "01:01  agent_0  begins  Pick[cup_0]"
    )
    failed = story.ended_line(5, "agent_1", "Pick[cup_0]", 11, "Unexpected failure! - Too far.")
    assert failed == "00:05  agent_1  FAILED  Pick[cup_0]: Unexpected failure! - Too far."
    assert story.ended_line(5, "agent_1", "Done[]", 0, "") == "00:05  agent_1  did     Done[]"
    plain = story.ended_line(5, "agent_0", "Pick[cup_0]", 0, "Successful execution!")
    assert plain == "00:05  agent_0  did     Pick[cup_0]"


def test_the_line_of_a_success_names_the_hand() -> None:
    text = "Successful execution! cup_0 is in the left hand."
    line = story.ended_line(5, "agent_1", "Pick[cup_0]", 0, text)
    assert line == "00:05  agent_1  did     Pick[cup_0]: cup_0 is in the left hand."


@pytest.mark.parametrize(
    ("hands", "words"),
    [
        ((None, "plate_0"), "in the left hand of agent_1"),
        (("plate_0",), "in the hand of agent_1"),
        ((), "in the hand of agent_1"),
    ],
)
def test_what_is_seen_in_a_hand_names_it_where_there_are_two(hands: Hands, words: str) -> None:
    plate = BeliefNode(
        "plate_0",
        EntityKind.OBJECT,
        "plate",
        1,
        (0, 0, 1),
        parent="agent_1",
        relation=Relation.HELD,
    )
    person = BeliefNode("agent_1", EntityKind.AGENT, "human", None, (0, 0, 0), hands=hands)
    nodes = {node.name: node for node in (plate, person)}
    assert str(story.Sighting.of(plate, nodes)) == f"plate_0 {words}"


def test_what_was_seen_is_reported_by_room() -> None:
    found = [
        story.Sighting("cup_0", Relation.ON, "table_0", "kitchen_0"),
        story.Sighting("book_0", None, "", ""),
        story.Sighting("apple_0", Relation.WITHIN, "fridge_0", "kitchen_0"),
        story.Sighting("ball_0", Relation.ON, "floor_kitchen_0", "kitchen_0"),
        story.Sighting("plate_0", Relation.HELD, "agent_1", "hall_0"),
    ]
    events = story.seen_events(0, found)
    assert [event.line for event in events] == [
        "00:00  kitchen_0: saw cup_0 on table_0, apple_0 in fridge_0, ball_0 on the floor",
        "00:00  an unknown room: saw book_0",
        "00:00  hall_0: saw plate_0 in the hand of agent_1",
    ]
    assert json.loads(events[0].as_json()) == {
        "kind": "saw",
        "stamp_s": 0,
        "room": "kitchen_0",
        "things": ["cup_0", "apple_0", "ball_0"],
    }
    assert story.seen_events(0, []) == []


def test_the_reason_for_a_call_is_reported_with_it() -> None:
    plan = "agent_0: bring cup_0 onto table_1: Pick[cup_0]; agent_1: look for a book: Explore[hall]"
    assert story.reason_of(plan, "agent_0", "Pick[cup_0]") == "bring cup_0 onto table_1"
    assert story.reason_of(plan, "agent_1", "Explore[hall]") == "look for a book"
    assert story.reason_of(plan, "agent_1", "Pick[cup_0]") == ""
    assert story.reason_of("I think that I should go.", "agent_0", "Pick[cup_0]") == ""
    calls = {"agent_0": "Pick[cup_0]", "agent_1": "Explore[hall]"}
    bare = "agent_0: Pick[cup_0]; agent_1: Explore[hall]"
    assert story.reason_of(bare, "agent_0", "Pick[cup_0]") == ""
    assert story.has_only_calls(bare, calls)
    assert not story.has_only_calls(plan, calls)
    assert not story.has_only_calls("agent_0: Done[]", calls)
    line = story.decided_line(2, "agent_0", "Pick[cup_0]", "bring cup_0 onto table_1")
    assert line == "00:02  agent_0  begins  Pick[cup_0]  to bring cup_0 onto table_1"


def test_reasons_are_one_line_however_long() -> None:
    assert (
        story.reason_line(3, "bring cup_0\nonto table_1")
        == "00:03  plan:    bring cup_0 onto table_1"
    )
    long = story.reason_line(3, "because " * 500)
    assert len(long) < 300
    assert long.endswith("because ...")


def test_the_last_line_has_the_words_that_scripts_look_for() -> None:
    line = story.verdict_line(True, 1.0, 120, {"bag": "out/bag", "picture": ""})
    assert line == "verdict: success  percent_complete: 1.00  sim_steps: 120  bag: out/bag"
    assert story.verdict_line(False, 0.333, 7, {}).startswith(
        "verdict: failure  percent_complete: 0.33"
    )


def test_the_end_says_once_that_it_is_done() -> None:
    assert story.outcome_line("DONE", "done: put the cup away") == "done: put the cup away"
    assert story.outcome_line("NO_GOAL", "nothing was done") == "NO_GOAL: nothing was done"


def test_a_run_without_a_goal_ends_with_what_its_planner_says() -> None:
    outcome = story.outcome_line("DONE", "the cup is\non the table")
    assert story.no_verdict_line(outcome, {"bag": "out/bag", "picture": ""}) == (
        "verdict: none (no goal to judge by)  planner: DONE: the cup is on the table  bag: out/bag"
    )


@given(st.text())
def test_text_of_others_is_one_line_that_no_terminal_obeys(text: str) -> None:
    for line in (
        one_line(text),
        story.question_line(1.0, text),
        story.understood_line(1.0, [text, text]),
        story.reason_line(1.0, text),
    ):
        assert line.isprintable()


def test_progress_is_a_bar() -> None:
    assert "[##########..........] 1 of 2" in story.progress_line(0, 0.5, 1, 2)


@pytest.mark.slow
def test_the_picture_shows_ways_moves_and_moments(small_house: House) -> None:
    rgb = np.full((32, 32, 3), (250, 0, 250), np.uint8)
    bare = draw_run(small_house, "a title", {}, [], [])
    sheet = draw_run(
        small_house,
        "a title " * 40,
        {"agent_0": [(1.0, 1.0), (3.0, 3.0)], "agent_1": []},
        [Move("cup_0", (1.0, 3.0), (6.0, 3.0))],
        [Moment("00:01 agent_0\nPick[cup_0] " * 5, rgb) for _ in range(6)],
    )
    assert sheet.height > bare.height
    colours = {tuple(c) for c in np.asarray(sheet).reshape(-1, 3)}
    assert (250, 0, 250) in colours
    assert (190, 20, 60) in colours
    assert (30, 90, 200) in colours


def test_the_story_of_a_real_robot_begins_with_its_first_word() -> None:
    simulated, real = story.StoryClock(), story.StoryClock()
    assert [simulated.since(stamp_s) for stamp_s in (0.0, 1.5, 90.0)] == [0.0, 1.5, 90.0]
    day_s = 1_795_303_827.0
    assert [real.since(stamp_s) for stamp_s in (0.0, day_s, day_s + 65)] == [0.0, 0.0, 65.0]
    assert story.clock(real.since(day_s + 65)) == "01:05"
