"""Commands of the competition's classes are drawn with the goal that each means."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from papers.robocup.carrying import SET_SIZE, Carried, End, carry_out, done_in_time, is_told
from papers.robocup.commands import KINDS, Arena, Command, Commands, arena_of, read_arena
from papers.robocup.gpsr import OUTCOMES, RIGHT, counted, outcome
from planner.cli import main
from planner.houses.clutter import ObjectRequest, place_objects
from planner.language.goal_form import Goal, Tell
from planner.language.interpretation import interpret
from planner.world.errors import FileError
from planner.world.house import ObjectPlacement
from planner.world.house_checks import load_house
from planner.world.vocabulary import Relation


def test_a_seed_gives_the_same_commands() -> None:
    first, second = (Commands(read_arena(), 7) for _ in range(2))
    drawn = [first.draw() for _ in range(30)]
    assert drawn == [second.draw() for _ in range(30)]
    assert drawn != [Commands(read_arena(), 8).draw() for _ in range(30)]


@pytest.mark.parametrize("kind", KINDS)
def test_each_class_is_read_as_it_is_meant(kind: str) -> None:
    """Each has a goal of the form, and words that are not those of another class."""
    commands = Commands(read_arena(), 3)
    drawn = [commands.draw(kind) for _ in range(12)]
    assert {command.kind for command in drawn} == {kind}
    assert len({command.text for command in drawn}) > 6
    assert [c.text for c in drawn if outcome(interpret(c.text), c) != RIGHT] == []


def test_all_classes_are_drawn() -> None:
    commands = Commands(read_arena(), 0)
    assert {commands.draw().kind for _ in range(300)} == set(KINDS)


@pytest.mark.parametrize(
    ("text", "became"),
    [
        ("Greet Kim in the hall.", "right"),
        ("Bring it to the hall.", "asked"),
        ("Frobnicate Kim in the hall.", "refused"),
        ("Greet Kim in the kitchen.", "wrong"),
        ("Follow Kim in the hall.", "wrong"),
    ],
)
def test_another_goal_than_the_one_meant_is_wrong(text: str, became: str) -> None:
    goal = [{"meet": {"the": "person", "name": "Kim", "in": {"the": "hall"}}}]
    assert outcome(interpret(text), Command("meet", text, Goal.model_validate(goal))) == became


def test_outcomes_are_counted_by_class_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    right = Commands(read_arena(), 0).draw("guide")
    odd = Command("guide", "Guide the wazzle.", right.goal)
    found = counted([right, odd], ["refused"])
    assert found["guide"] == found["all"] == {"right": 1, "refused": 1}
    assert capsys.readouterr().out.startswith("refused guide: Guide the wazzle.\n    {")


def test_a_house_is_an_arena() -> None:
    """Only what is there once can be "the", and things are those of the house."""
    house = load_house("heldout_0")
    arena = arena_of(house)
    classes = [piece.class_name.replace("_", " ") for piece in house.furniture]
    assert arena.furniture
    assert all(classes.count(piece) == 1 for piece in arena.furniture)
    assert "apple" in arena.things["fruit"]
    commands = Commands(arena, 1)
    assert all(commands.draw(kind).goal for kind in KINDS)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rooms": {"kitchen": ["wazzle"], "hall": ["bench"]}}, "wazzle"),
        ({"rooms": {"kitchen": ["bench", "bench", "desk"], "hall": []}}, "is there twice"),
        ({"rooms": {"kitchen": [], "hall": ["desk"]}}, "two pieces of furniture"),
        ({"things": {"fruit": ["cup"]}}, "things.fruit: 'cup' is none"),
        ({"names": ["robin"]}, "names"),
    ],
)
def test_what_is_wrong_with_an_arena_is_named(
    change: dict[str, object], reason: str, tmp_path: Path
) -> None:
    document = read_arena().model_dump(mode="json") | change
    path = tmp_path / "arena.yaml"
    path.write_text(str(document))
    with pytest.raises(FileError, match=re.escape(reason)) as raised:
        read_arena(path)
    assert str(path) in str(raised.value)


def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "gpsr", "--commands", "20", "--seed", "2", "--read-only"]) == 0
    head, *rows, total = capsys.readouterr().out.splitlines()
    assert [name for name in OUTCOMES if name in head] == list(OUTCOMES)
    assert total.split()[:3] == ["all", "20", "20"]
    assert sum(int(re.findall(r" (\d+) ", row)[0]) for row in rows) == 20


def test_the_command_carries_out_what_it_has_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "gpsr", "--commands", "6", "--seed", "2", "--show", "failed"]) == 0
    text = capsys.readouterr().out
    reading, carrying = text.split("carried out in heldout_0 by planner words\n")
    (read,) = (line for line in reading.splitlines() if line.startswith("all "))
    assert read.split()[:3] == ["all", "6", "6"]
    *_, total, sets = carrying.splitlines()
    assert total.startswith("all")
    numbers = [int(n) for n in re.findall(r"(\d+) with", sets)]
    assert sum(numbers) == int(total.split()[1]) // SET_SIZE


def command(text: str, *requests: dict[str, object]) -> Command:
    return Command("one", text, Goal.model_validate(requests))


BESIDE = {"at": {"the": "shoe rack"}}


@pytest.mark.parametrize(
    ("found", "end", "says"),
    [
        (
            command(
                "Bring me an apple from the shoe rack.",
                {"move": {"a": "apple", **BESIDE}, "to": "me"},
            ),
            End.DONE,
            "done: bring",
        ),
        (
            command(
                "Tell me how many pears there are on the shoe rack.",
                {"tell": "count", "of": {"all": "pear", **BESIDE}},
            ),
            End.DONE,
            "All pears on the shoe rack: ",
        ),
        # It is done as it was read, and that is not what was meant.
        (
            command(
                "Put an apple from the shoe rack on the bench.",
                {"move": {"a": "apple", **BESIDE}, "to": {"on_top": {"the": "couch"}}},
            ),
            End.FAILED,
            "done: put",
        ),
        (
            command(
                "Greet Kim in the kitchen.",
                {"meet": {"the": "person", "name": "Kim", "in": {"the": "kitchen"}}},
            ),
            End.DONE,
            "done: meet Kim",
        ),
        (
            command(
                "Tell me the name of the person at the shoe rack.",
                {"tell": "name", "of": {"the": "person", **BESIDE}},
            ),
            End.DONE,
            ". Ada",
        ),
        (
            command("Tell me the time.", {"tell": "time"}),
            End.DONE,
            "It is ",
        ),
        (
            command(
                "Answer the question of the person at the shoe rack.",
                {"tell": "answer", "to": {"the": "person", **BESIDE}},
            ),
            End.DONE,
            "? ",
        ),
        (
            command(
                "Answer the question of the person at the tv stand.",
                {"tell": "answer", "to": {"the": "person", **BESIDE}},
            ),
            End.FAILED,
            "nobody like that",
        ),
    ],
)
def test_a_command_is_carried_out_and_judged(found: Command, end: End, says: str) -> None:
    """What it speaks of is placed first; the judge does not ask the planner."""
    carried_out = carry_out(found, load_house("heldout_0"), seed=1)
    assert (carried_out.end, says in carried_out.said) == (end, True)


def test_what_has_no_place_is_not_carried_out() -> None:
    """Nothing is put elsewhere instead."""
    house = load_house("heldout_0")
    wanted = command(
        "Bring me an apple from the desk.",
        {"move": {"a": "apple", "at": {"the": "desk"}}, "to": "me"},
    )
    assert all(piece.class_name != "desk" for piece in house.furniture)
    assert carry_out(wanted, house, seed=1) == Carried(End.UNPLACED, "", 0.0)


@pytest.mark.parametrize(("said", "is_right"), [("2 (", True), ("3 (", False), ("12 (", False)])
def test_a_number_that_is_told_is_counted_in_the_world(said: str, is_right: bool) -> None:
    house = load_house("heldout_0")
    wanted = ObjectRequest(("pear",), Relation.ON, ("shoe_rack_0",))
    pears = place_objects(house, [wanted, wanted], np.random.default_rng(0), house.objects)
    objects = [item for item in pears if isinstance(item, ObjectPlacement)]
    request = {"tell": "count", "of": {"all": "pear", **BESIDE}}
    (tell,) = Goal.model_validate([request]).requests
    assert isinstance(tell, Tell)
    told = f"All pears on the shoe rack: {said}pear_0 at shoe_rack_0)."
    assert is_told(tell, told, [*house.objects, *objects], house) is is_right


@pytest.mark.parametrize(
    ("took_s", "done"), [((100, 200, 300), 3), ((100, 200, 301), 2), ((700, 1, 1), 0)]
)
def test_a_set_is_done_one_after_the_other_in_time(took_s: tuple[float, ...], done: int) -> None:
    assert done_in_time([Carried(End.DONE, "", each) for each in took_s]) == done
    assert done_in_time([Carried(End.FAILED, "", each) for each in took_s]) == 0


def test_a_house_that_is_no_arena_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "gpsr", "--commands", "0"]) == 2
    assert "--commands 0" in capsys.readouterr().err


def test_an_arena_has_its_own_words() -> None:
    arena = Arena.model_validate({
        "rooms": {"kitchen": ["table", "counter"], "bathroom": ["shelf"]},
        "things": {"fruit": ["apple"]},
        "names": ["Kim"],
    })  # fmt: skip
    assert arena.surfaces == ("table", "counter", "shelf")
    assert "Kim" in Commands(arena, 0).draw("meet twice").text
