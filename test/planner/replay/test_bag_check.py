"""A run's verdict beside that of its bag: the same, another one, or none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from planner.replay import bag_check
from planner.replay.bag_check import check_bag
from planner.replay.runs import Request, StateGap


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
    monkeypatch.setattr(bag_check, "judge", lambda *_: (incomplete,))
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
