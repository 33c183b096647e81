"""The command's arguments, and what is wrong with them in one line."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from played_bags import BEGIN_NS, SECOND, clock, make_bag, words

from planner import cli
from planner.replay import replay_cli
from planner.replay.bag import Bag
from planner.replay.player.options import (
    ClockMode,
    PlayOptions,
    chosen_topics,
    options_of,
    span_of,
)
from planner.world.errors import PlannerError


def options(*given: str) -> PlayOptions:
    parser = argparse.ArgumentParser()
    replay_cli.add_arguments(parser)
    return options_of(parser.parse_args(["bag", *given]))


def test_by_default_everything_is_played_once_at_its_own_pace() -> None:
    assert options() == PlayOptions()


def test_all_arguments() -> None:
    given = "--rate 2.5 --start 3 --duration 4 --loop --pause --topics /a /b* --exclude /c "
    given += "--remap /a:=/x --clock made --all --force --wait-for-subscribers 0"
    found = options(*given.split())
    assert found.rate == 2.5
    assert (found.start_s, found.duration_s) == (3.0, 4.0)
    assert found.loop
    assert found.paused
    assert found.selection.topics == ("/a", "/b*")
    assert found.selection.exclude == ("/c",)
    assert found.selection.remap == {"/a": "/x"}
    assert found.selection.commands
    assert found.clock is ClockMode.MADE
    assert found.force
    assert found.subscribers_s == 0.0
    assert options("--rate", "max").rate is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("--rate 0.05", "--rate 0.05: expected 0.1 to 100, or max"),
        ("--rate fast", "--rate fast: expected 0.1 to 100, or max"),
        ("--rate nan", "--rate nan: expected"),
        ("--rate inf", "--rate inf: expected"),
        ("--start -1", "--start -1: expected seconds, 0 or more"),
        ("--duration nan", "--duration nan: expected seconds"),
        ("--wait-for-subscribers inf", "--wait-for-subscribers inf: expected"),
        ("--remap /a", "--remap '/a': expected FROM:=TO"),
    ],
)
def test_a_wrong_argument_is_reported_in_one_line(
    given: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["replay", "bag", *given.split()]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {reason}")
    assert told.count("\n") == 1


@pytest.fixture
def bag(tmp_path: Path) -> Bag:
    said = [words("/w", 0.0, "a"), clock(1.0, 0.5), words("/v", 10.0, "b")]
    return Bag(make_bag(tmp_path / "bag", said))


def test_a_span_is_a_part_of_the_bag(bag: Bag) -> None:
    whole = span_of(bag, options())
    assert (whole.start_ns, whole.end_ns) == (BEGIN_NS, BEGIN_NS + 10 * SECOND)
    part = span_of(bag, options("--start", "2.5", "--duration", "3"))
    assert part.start_ns == BEGIN_NS + round(2.5 * SECOND)
    assert part.end_ns == BEGIN_NS + round(5.5 * SECOND)
    assert span_of(bag, options("--duration", "1e6")).end_ns == whole.end_ns
    with pytest.raises(PlannerError, match=r"--start 11: the bag is 10\.0 s long"):
        span_of(bag, options("--start", "11"))


def test_an_empty_bag_has_nothing_to_play(tmp_path: Path) -> None:
    empty = Bag(make_bag(tmp_path / "empty", []))
    with pytest.raises(PlannerError, match="holds no messages"):
        span_of(empty, options())


@pytest.mark.parametrize(
    ("given", "clock_mode", "names"),
    [
        ("", ClockMode.BAG, {"/clock": "/clock", "/v": "/v", "/w": "/w"}),
        ("--topics /w", ClockMode.BAG, {"/clock": "/clock", "/w": "/w"}),
        ("--exclude /clock", ClockMode.NONE, {"/v": "/v", "/w": "/w"}),
        ("--clock none", ClockMode.NONE, {"/v": "/v", "/w": "/w"}),
        ("--clock made", ClockMode.MADE, {"/v": "/v", "/w": "/w"}),
        ("--topics /w --remap /clock:=/c", ClockMode.BAG, {"/clock": "/c", "/w": "/w"}),
    ],
)
def test_who_publishes_the_time(
    bag: Bag, given: str, clock_mode: ClockMode, names: dict[str, str]
) -> None:
    chosen, found = chosen_topics(bag.topics, options(*given.split()))
    assert found is clock_mode
    assert chosen.names == names


def test_a_bag_without_a_clock_gets_one_that_is_made(tmp_path: Path) -> None:
    topics = Bag(make_bag(tmp_path / "bag", [words("/w", 0.0, "a")])).topics
    assert chosen_topics(topics, options())[1] is ClockMode.MADE
    with pytest.raises(PlannerError, match="--clock bag: the bag has no /clock"):
        chosen_topics(topics, options("--clock", "bag"))


def test_no_bag_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["replay", str(tmp_path / "none")]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
