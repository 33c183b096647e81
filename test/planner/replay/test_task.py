"""The episode and the house of a bag: what it carries first, then what is shipped, never a path."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from planner.cli import main
from planner.replay.bag import Bag
from planner.replay.judging import Judged, Unjudged, judge
from planner.replay.runs import Request, load_task, task_of
from planner.world.errors import PlannerError

SHIPPED = "night_light_0"


def texts(film) -> tuple[str, str]:
    house, episode = (json.dumps(m.model_dump(mode="json")) for m in (film.house, film.episode))
    return house, episode


def states(bag, film, messages):
    for n, state in enumerate(film.states):
        bag.put("/world/state", messages.world(state), n + 1)
    return bag


def test_a_bag_is_judged_by_what_it_carries(film) -> None:
    bag = film.solved().everything().close()
    for path in (film.path, film.folder / "houses" / "small.json"):
        path.unlink()
    episode, house = load_task(Bag(bag))
    assert (episode, house.name) == (film.episode, "small")
    (judged,) = judge(bag, Request())
    assert isinstance(judged, Judged)
    assert (judged.verdict, judged.agrees, judged.final) == (film.verdict(), True, True)


def test_attached_files_do_as_well(film, messages) -> None:
    bag = states(messages.bag(film.folder / "bag"), film.solved(), messages)
    for name, text in zip(("house.json", "episode.json"), texts(film), strict=True):
        bag.writer.add_attachment(0, 0, name, "application/json", text.encode())
    (judged,) = judge(bag.close(), Request())
    assert isinstance(judged, Judged)
    assert judged.verdict == film.verdict()


def test_a_user_may_name_another_episode(film) -> None:
    bag = Bag(film.everything().close())
    (error,) = judge(bag.folder, Request(episode=SHIPPED))
    assert "is of house" in str(error)


def test_of_several_worlds_that_of_the_run_counts(film, messages) -> None:
    bag = messages.bag(film.folder / "bag")
    bag.put("/world/info", messages.info(*texts(film)))
    bag.put("/world/info", messages.info(house="other", episode_id="other"))
    (judged,) = judge(states(bag, film.solved(), messages).close(), Request())
    assert isinstance(judged, Judged)
    assert judged.verdict.success


NAMES = [
    "/etc/passwd",
    "../x.json",
    "houses/small.json",
    "small.json",
    "mine",
    "\x1b[2J",
    "x" * 9999,
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_bag_is_no_path(film, messages, monkeypatch, capsys, name) -> None:
    # Where it lies, a path would be found.
    monkeypatch.chdir(film.folder)
    film.states = [replace(state, episode_id=name) for state in film.solved().states]
    bag = states(messages.bag(film.folder / "bag"), film, messages).close()
    with pytest.raises(PlannerError, match=r"there is no episode .* among those that are shipped"):
        load_task(Bag(bag))
    assert main(["evaluate", str(bag)]) == 2
    said = capsys.readouterr()
    assert "among those that are shipped, and the bag has only its name" in said.err
    assert "\x1b" not in said.err
    assert said.err.count("\n") == 1


def test_the_name_of_a_shipped_episode_is_enough(film, messages) -> None:
    film.states = [replace(film.states[0], episode_id=SHIPPED, house="train_7")]
    bag = states(messages.bag(film.folder / "bag"), film, messages).close()
    episode, house = load_task(Bag(bag))
    assert episode is not None
    assert (episode.episode_id, house.name) == (SHIPPED, "train_7")


BROKEN = {
    "no JSON": (lambda h, e: ("{", e), "/world/info: is not well formed"),
    "deep": (lambda h, e: ("[" * 100_000, e), "/world/info: is nested too deeply"),
    "no house": (lambda h, e: ("{}", e), "/world/info: version"),
    "newer": (lambda h, e: (h.replace('"version": 1', '"version": 2', 1), e), "version 2 is not"),
    "huge": (lambda h, e: (h.replace("[8.0, 4.0]", "[8e8, 4.0]"), e), "larger than 150 m"),
    "no episode": (lambda h, e: (h, "{}"), "/world/info: version: Field required"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_house_or_episode_is_one_error(film, messages, case) -> None:
    change, reason = BROKEN[case]
    bag = messages.bag(film.folder / "bag")
    bag.put("/world/info", messages.info(*change(*texts(film))))
    bag = states(bag, film, messages).close()
    with pytest.raises(PlannerError, match=reason):
        load_task(Bag(bag))
    (error,) = judge(bag, Request())
    assert reason in str(error)


def test_a_bag_of_no_known_house(messages, tmp_path) -> None:
    bag = messages.bag(tmp_path / "bag")
    with pytest.raises(PlannerError, match="of no known house"):
        load_task(Bag(bag.put("/instruct/status", messages.instruct("go", 1)).close()))


def free(film, messages, *told) -> Path:
    """A run of words in a bare house."""
    film.states = [replace(state, episode_id="") for state in film.solved().states]
    bag = messages.bag(film.folder / "bag")
    bag.put("/world/info", messages.info(texts(film)[0], episode_id=""))
    for status in told:
        bag.put("/instruct/status", status)
    return states(bag, film, messages).close()


def test_a_run_of_free_words_has_no_goal_to_judge_by(film, messages, capsys) -> None:
    put = "put the cup away"
    bag = free(
        film,
        messages,
        messages.instruct("", 0, id=""),
        messages.instruct(put, 1),
        messages.instruct(put, 3, "it is in the cabinet"),
        messages.instruct("go \x1b[31mred", 5, id="0b"),
    )
    episode, house = load_task(Bag(bag))
    assert (episode, house) == (None, film.house)
    (found,) = judge(bag, Request())
    assert isinstance(found, Unjudged)
    assert [str(i.state) for i in found.instructions] == ["done", "canceled"]
    status = main(["evaluate", str(bag)])
    said = capsys.readouterr()
    assert (status, said.err) == (2, "")
    assert said.out.splitlines() == [
        f"{bag}: there is no goal to judge the run by: it had no episode",
        f"  instruction {put!r}: done  it is in the cabinet",
        "  instruction 'go \\x1b[31mred': canceled",
    ]
    main(["evaluate", "--json", str(bag)])
    document = json.loads(capsys.readouterr().out)
    assert (document["results"], document["errors"]) == ([], [])
    assert document["unjudged"][0]["instructions"][0]["text"] == "it is in the cabinet"


def test_free_words_may_be_judged_by_an_episode_that_is_named(film, messages) -> None:
    bag = free(film, messages)
    (judged,) = judge(bag, Request(episode=str(film.path)))
    assert isinstance(judged, Judged)
    assert judged.verdict.success


def test_only_perceived_free_words_have_no_goal_either(film, messages) -> None:
    bag = messages.bag(film.folder / "bag")
    bag.put("/instruct/status", messages.instruct("go", 4, "no way"))
    bag.put("/world_graph", messages.graph(film.states[0], 1.0))
    (found,) = judge(bag.close(), Request())
    assert isinstance(found, Unjudged)
    assert found.instructions[0].text == "no way"


def test_a_run_without_an_episode_is_reported_as_that(film) -> None:
    with pytest.raises(PlannerError, match="no goal to judge by: the run had no episode"):
        task_of(Bag(film.solved().everything().close()), "", "small")
