"""What is judged from a bag or a log is what the judge says of the states themselves."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import strategies as st
from random_cases import random_cases

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Mode
from planner.replay import judging
from planner.replay.judging import check_bag, judge
from planner.replay.runs import Request, StateGap
from planner.world.geometry import Pose
from planner.world.state import WorldState
from planner.world.vocabulary import Relation

THINGS = ("cup_0", "apple_0")
ENTITIES = st.sampled_from([*THINGS, "agent_0"])
CHANGES = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(THINGS), st.sampled_from([-0.3, 0.0, 0.3, 4.0])),
    st.tuples(st.just("held"), st.sampled_from(THINGS), st.booleans()),
    st.tuples(st.just("clean"), st.sampled_from(THINGS), st.booleans()),
    st.tuples(st.just("walk"), st.just("agent_0"), st.floats(-3, 3)),
    st.tuples(st.just("room"), ENTITIES, st.sampled_from([None, "hall_0", "a_long_room_0"])),
    st.tuples(st.just("gone"), ENTITIES, st.just(0)),
)


def changed(film, state: WorldState, what: str, name: str, value) -> WorldState:
    entities = dict(state.entities)
    if what == "gone":
        # What the goal names stays, or there is nothing to judge.
        if name not in THINGS:
            entities.pop(name, None)
        return replace(state, entities=entities)
    old = entities.get(name, film.states[0].entities[name])
    table = film.house.furniture_by_name["table_1"]
    if what == "put":
        height = table.surfaces[0].center[2]
        old = replace(old, pose=Pose.planar(table.x_m, table.y_m + value, 0.0, height))
    elif what == "held":
        relation = Relation.HELD if value else Relation.ON
        old = replace(old, parent="agent_0" if value else "table_1", relation=relation)
    elif what == "clean":
        old = replace(old, states={**(old.states or {}), "clean": value})
    elif what == "walk":
        old = replace(old, pose=Pose.planar(value, 0.0, value))
    else:
        old = replace(old, room=value)
    return replace(state, entities={**entities, name: old})


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(Mode))
@random_cases(
    10, 40, st.lists(st.tuples(st.lists(CHANGES, max_size=3), st.integers(0, 9)), max_size=8)
)
def test_bag_and_log_give_the_verdict_of_the_states(
    film, tmp_path_factory, small_house, small_episode, mode, stream
) -> None:
    film = type(film)(tmp_path_factory.mktemp("film"), small_house, small_episode)
    live = Evaluator(
        read_evaluation(film.episode.evaluation, "e"), film.house, film.states[0], mode
    )
    for changes, steps in stream:
        state = film.states[-1]
        for change in changes:
            state = changed(film, state, *change)
        film.states.append(replace(state, step=state.step + steps, revision=state.revision + 1))
        live.update(film.states[-1])
    verdict = live.finish()
    request = Request(mode, str(film.path))
    for recording in (film.bag(live=False), film.log()):
        (found,) = judge(recording, request)
        assert asdict(found)["verdict"] == asdict(verdict)
        assert found.verdict == verdict


def request(film) -> Request:
    return Request(episode=str(film.path))


def test_a_bag_that_says_the_same_agrees(film) -> None:
    bag = film.solved().bag()
    found = check_bag(bag.parent / bag.name, request(film))
    assert (found.agrees, found.text) == (True, "success")
    assert found.judged is not None
    assert found.judged.verdict.success


def test_a_bag_that_lacks_the_end_differs_from_what_was_said_live(film, messages) -> None:
    unsolved = [("/world/state", messages.world(state)) for state in film.states]
    verdict = film.solved().verdict()
    told = ("/evaluation/result", messages.verdict(verdict, 9.0))
    film.states = []
    found = check_bag(film.bag("cut", *unsolved, told, live=False), request(film))
    assert not found.agrees
    assert found.text.startswith(
        "failure, NOT FINAL: its end is missing, DIFFERENT from live: 0.00 complete after "
    )
    assert "live 1.00 after" in found.text


def test_a_bag_that_lacks_states_says_so_where_it_differs(film, messages, monkeypatch) -> None:
    unsolved = [("/world/state", messages.world(state)) for state in film.states]
    told = ("/evaluation/result", messages.verdict(film.solved().verdict(), 9.0))
    film.states = []
    folder = film.bag("cut", *unsolved, told, live=False)
    judged = check_bag(folder, request(film)).judged
    assert judged is not None
    incomplete = replace(judged, gaps=(StateGap(1, 2, 1.0, 2.0, 5),))
    monkeypatch.setattr(judging, "judge", lambda *_: (incomplete,))
    found = check_bag(folder, request(film))
    assert found.text.startswith("failure, NOT FINAL: 5 states missing, DIFFERENT from live: ")


def test_a_bag_without_a_live_verdict_cannot_agree(film) -> None:
    found = check_bag(film.solved().bag(live=False), request(film))
    assert (found.agrees, found.text) == (False, "success, and the bag has no live verdict")


def test_no_bag_and_two_bags_are_no_verdict(film, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "has no bag" in check_bag(tmp_path / "empty").text
    film.solved().bag("run/bag")
    film.bag("run/bag_2")
    found = check_bag(film.folder / "run", request(film))
    assert not found.agrees
    assert "the recorder was restarted, the run is in 2 bags: bag, bag_2" in found.text


def test_a_part_that_came_true_at_another_step_is_named(film, messages) -> None:
    verdict = film.solved().verdict()
    message = messages.verdict(verdict, 9.0)
    message.propositions[1].first_step += 3
    found = check_bag(film.bag("b", ("/evaluation/result", message), live=False), request(film))
    assert (found.agrees, found.text) == (
        False,
        "success, DIFFERENT from live: part 1 at step 20, live 23",
    )
