"""A run of free text is judged by the goal as understood, as it was live."""

import json
from dataclasses import replace

import pytest

from planner.evaluation.as_understood import WordsJudge
from planner.evaluation.progress import Mode, variant_text
from planner.replay.judging import judge
from planner.replay.runs import Request
from planner.world.topics import InstructState

GOAL = json.dumps(
    {"understood": [{"move": {"the": "cup"}, "to": {"next_to": {"the": "apple"}}}], "answers": []}
)
START_S = 1.0


@pytest.fixture
def recorded(film, messages):
    """Makes a bag of things put on the table after an instruction in words."""

    def bag(*, live: bool = True, **words):
        film.states = [
            replace(state, stamp_s=START_S + state.stamp_s, **words) for state in film.states
        ]
        house, episode = (json.dumps(m.model_dump(mode="json")) for m in (film.house, film.episode))
        made = messages.bag(film.folder / "words")
        if film.states[0].episode_id:
            made.put("/world/info", messages.info(house, episode))
        else:
            made.put("/world/info", messages.info(house, "", episode_id=""))
        made.put("/instruct/status", messages.instruct("put them together", 1))
        updates = messages.updates(film.states)
        made.put("/world/state", updates[0])
        made.put("/instruct/status", messages.instruct("put them together", 1, goal=GOAL))
        for update in updates[1:]:
            made.put("/world/state", update)
        if live:
            made.put(
                "/evaluation/result", messages.verdict(live_verdict(film), 9.0, start_s=START_S)
            )
        (found,) = judge(made.close(), Request())
        return found

    return bag


def live_verdict(film):
    words = WordsJudge()
    words.take(film.states[0])
    words.instruct("0a", START_S, InstructState.RUNNING, GOAL)
    for state in film.states[1:]:
        words.take(state)
    return words.evaluator(film.house, Mode.STRICT).finish()


def test_the_bag_gives_the_verdict_of_the_run(film, recorded):
    film.solved()
    found = recorded()
    assert (found.verdict.success, found.agrees) == (True, True)
    assert variant_text(found.verdict) == "boxes, as understood"


def test_what_was_not_done_fails(film, recorded):
    film.put("cup_0", z=2.0)
    found = recorded()
    assert (found.verdict.success, found.agrees) == (False, True)


def test_a_house_without_an_episode_is_enough(film, recorded):
    film.solved()
    assert recorded(live=False, episode_id="").verdict.success
