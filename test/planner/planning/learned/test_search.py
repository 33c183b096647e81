"""Where to look: the catalogue's likelihoods, what was looked at, and what it costs to go there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learned_toys import place_of, zeros

from planner.planning.learned.chooser import FEATURES
from planner.planning.learned.learned import ChoiceMaker
from planner.planning.learned.network import MARKS, NUMBERS, Reading
from planner.planning.learned.progress import Situation, progress_of
from planner.planning.learned.search import Looks, Standing, looks_of, said_places
from planner.planning.learned.tokens import Token, read_tokens

COUNTER, FRIDGE, BED, TABLE, LAMP, SINK, OTHER_TABLE = range(100, 107)
VERBS = (
    "Close", "ExploreFurniture", "Navigate", "Open", "Pick", "Place", "Clean", "Fill", "PowerOn",
    "PowerOff", "Done",
)  # fmt: skip


def house() -> Situation:
    now = Situation()
    names = {
        COUNTER: ("counter in kitchen_0", (0.0, 0.0)),
        FRIDGE: ("fridge in kitchen_0", (1.0, 0.0)),
        BED: ("bed in bedroom_0", (9.0, 0.0)),
        TABLE: ("table in dining_room_0", (5.0, 0.0)),
        LAMP: ("floor lamp in bedroom_0", (8.0, 0.0)),
        SINK: ("sink in kitchen_0", (2.0, 0.0)),
        OTHER_TABLE: ("table in garage_0", (30.0, 0.0)),
    }
    now.begin(
        [f"Object.{n}: {text}" for n, (text, _) in names.items()],
        {n: at for n, (_, at) in names.items()},
    )
    return now


def said(text: str, thing: str, place: str) -> tuple[tuple[Token, ...], Reading]:
    tokens = read_tokens(text)
    reading = zeros(len(tokens))
    reading.goes[0, place_of(tokens, thing), place_of(tokens, place)] = 1
    return tokens, reading


def looks(now: Situation, tokens: tuple[Token, ...], reading: Reading, **more: bool) -> Looks:
    progress = progress_of(tokens, reading, now)
    unknown = np.full(len(progress.pieces), np.nan, np.float32)
    return looks_of(tokens, reading, now, progress, unknown, can_open=more.get("can_open", True))


def maker(now: Situation, tokens: tuple[Token, ...], reading: Reading) -> ChoiceMaker:
    return ChoiceMaker(Standing(tokens, reading, now, progress_of(tokens, reading, now), VERBS, 1))


def calls(now: Situation, tokens: tuple[Token, ...], reading: Reading) -> list[str]:
    return [str(call) for call in maker(now, tokens, reading).choices().calls]


def test_what_could_not_be_reached_is_looked_at_later() -> None:
    tokens, reading = said("Put the milk on the table.", "milk", "table")
    now = house()
    before = looks(now, tokens, reading)
    place = int(before.first.argmax())
    number = list(now.pieces)[place]
    for _ in range(2):
        now.ended(f"Navigate[Object.{number}]", succeeded=False)
        now.ended(f"ExploreFurniture[Object.{number}]", succeeded=False)
    after = looks(now, tokens, reading)
    assert int(after.first.argmax()) != place
    # It may be there all the same.
    assert after.left == before.left
    assert after.explore[place] + after.open[place] > 0


def test_likelihoods_are_the_catalogues_and_shrink_with_what_was_looked_at() -> None:
    tokens, reading = said("Put the milk on the table.", "milk", "table")
    now = house()
    first = looks(now, tokens, reading)
    assert first.left == 1
    assert first.inside[1] == first.inside.max() > first.outside[2]
    # Nothing lies on a floor lamp, and nothing is looked for in what does not open.
    assert first.outside[4] == 0
    assert first.inside[3] == 0
    now.ended(f"ExploreFurniture[Object.{FRIDGE}]", succeeded=True)
    now.ended(f"Open[Object.{FRIDGE}]", succeeded=True)
    then = looks(now, tokens, reading)
    assert then.inside[1] < 0.2 * first.inside[1]
    assert then.left < first.left
    # From beside the fridge some of what is on the counter was seen; the bed is elsewhere.
    assert then.outside[0] < first.outside[0]
    assert then.outside[2] == first.outside[2]


def test_what_the_instruction_says_comes_first_and_full_hands_open_nothing() -> None:
    plain = looks(house(), *said("Put the milk on the table.", "milk", "table"))
    tokens, reading = said("Put the milk from the bed on the table.", "milk", "table")
    bed = place_of(tokens, "bed")
    milk = place_of(tokens, "milk")
    reading.at[milk, bed] = 1
    told = looks(house(), tokens, replace(reading, at_none=1 - reading.at.sum(1)))
    assert told.outside[2] > 2 * plain.outside[2]
    assert told.first[2] == 1
    assert (looks(house(), tokens, reading, can_open=False).open == 0).all()


def test_a_search_shows_the_look_of_the_highest_worth_and_opens_where_it_came_to_open() -> None:
    tokens, reading = said("Put the milk on the table.", "milk", "table")
    now = house()
    now.ended(f"Navigate[Object.{SINK}]", succeeded=True)
    choices = maker(now, tokens, reading)
    first = choices.next_look()
    assert first is not None
    assert choices.is_look(first)
    listed = choices.choices()
    marked = listed.features[:, FEATURES.index("first look")]
    assert [call for call, mark in zip(listed.calls, marked, strict=True) if mark] == [first]
    now.ended(f"Navigate[Object.{FRIDGE}]", succeeded=True)
    names = calls(now, tokens, reading)
    assert f"Open[Object.{FRIDGE}]" in names
    assert not [name for name in names if name.startswith("Navigate[")]
    assert str(maker(now, tokens, reading).next_look()) == f"Open[Object.{FRIDGE}]"


def test_what_cannot_be_is_no_choice() -> None:
    tokens, reading = said("Put the cup on the bed.", "cup", "bed")
    now = house()
    now.told([f"Add Object.110: cup with the Object.{TABLE}"])
    now.ended("Navigate[Object.110]", succeeded=True)
    # A lamp holds nothing, so it is not explored.
    assert f"ExploreFurniture[Object.{LAMP}]" not in calls(now, tokens, reading)
    assert "Pick[Object.110]" in calls(now, tokens, reading)
    now.ended("Pick[Object.110]", succeeded=True)
    now.ended(f"Navigate[Object.{BED}]", succeeded=True)
    now.ended(f"Place[Object.110, on, Object.{BED}, None, None]", succeeded=True)
    now.told([f"Update Object.110: cup with the Object.{BED}"])
    # It is where it belongs: it is not taken again.
    assert "Pick[Object.110]" not in calls(now, tokens, reading)


def test_a_thing_is_filled_at_a_faucet_and_only_gets_states_that_it_can_have() -> None:
    tokens = read_tokens("Fill the cup and the fork.")
    reading = zeros(len(tokens))
    for noun in ("cup", "fork"):
        reading.marks[place_of(tokens, noun), MARKS.index("filled")] = 1
    now = house()
    now.told([f"Add Object.110: cup with the Object.{TABLE}"])
    now.told([f"Add Object.111: fork with the Object.{TABLE}"])
    now.ended("Navigate[Object.110]", succeeded=True)
    names = calls(now, tokens, reading)
    assert "Pick[Object.110]" in names
    assert "Pick[Object.111]" not in names
    assert "Fill[Object.110]" not in names
    now.ended("Pick[Object.110]", succeeded=True)
    now.ended(f"Navigate[Object.{SINK}]", succeeded=True)
    assert "Fill[Object.110]" in calls(now, tokens, reading)


def test_what_waits_is_not_taken_unless_all_waits() -> None:
    tokens = read_tokens("Put the cup on the bed, then the fork on the counter.")
    reading = zeros(len(tokens))
    cup, bed, fork, counter = (place_of(tokens, w) for w in ("cup", "bed", "fork", "counter"))
    reading.goes[0, cup, bed] = reading.goes[0, fork, counter] = reading.before[cup, fork] = 1
    now = house()
    now.told([f"Add Object.110: cup with the Object.{TABLE}"])
    now.told([f"Add Object.111: fork with the Object.{TABLE}"])
    now.ended("Navigate[Object.110]", succeeded=True)
    assert "Pick[Object.110]" in calls(now, tokens, reading)
    assert "Pick[Object.111]" not in calls(now, tokens, reading)
    reading.before[fork, cup] = 1
    assert "Pick[Object.111]" in calls(now, tokens, reading)


def test_what_got_its_state_is_put_aside_until_the_others_have_theirs() -> None:
    # It used to be put where it goes, before the other was filled.
    tokens = read_tokens("First fill the two cups, then put them on the sink.")
    reading = zeros(len(tokens))
    cups, sink = place_of(tokens, "cups"), place_of(tokens, "sink")
    reading.numbers[cups] = np.eye(len(NUMBERS))[1]
    reading.goes[0, cups, sink] = reading.before[cups, cups] = 1
    reading.marks[cups, MARKS.index("filled")] = 1
    now = house()
    now.told([f"Add Object.{n}: cup with the Object.{TABLE}" for n in (110, 111)])
    for call in ("Navigate[Object.110]", "Pick[Object.110]", f"Navigate[Object.{SINK}]"):
        now.ended(call, succeeded=True)
    now.ended("Fill[Object.110]", succeeded=True)
    walks = {f"Navigate[Object.{piece}]" for piece in (COUNTER, FRIDGE)}
    assert set(calls(now, tokens, reading)) == walks
    now.ended(f"Navigate[Object.{COUNTER}]", succeeded=True)
    put = f"Place[Object.110, on, Object.{COUNTER}, None, None]"
    assert calls(now, tokens, reading) == [put]
    now.ended(put, succeeded=True)
    now.told([f"Update Object.110: cup filled with water with the Object.{COUNTER}"])
    assert "Pick[Object.110]" not in calls(now, tokens, reading)
    # Once the other is filled as well, both are put where they go.
    for call in ("Navigate[Object.111]", "Pick[Object.111]", f"Navigate[Object.{SINK}]"):
        now.ended(call, succeeded=True)
    now.ended("Fill[Object.111]", succeeded=True)
    there = f"Place[Object.111, on, Object.{SINK}, None, None]"
    assert there in calls(now, tokens, reading)
    now.ended(there, succeeded=True)
    now.ended("Navigate[Object.110]", succeeded=True)
    assert "Pick[Object.110]" in calls(now, tokens, reading)


@pytest.mark.parametrize(
    ("text", "thing", "goes", "where"),
    [
        ("Take the pen from the desk and put it on the bed.", "pen", "bed", "desk"),
        ("Put the pen from the office on the bed.", "pen", "bed", "office"),
        ("Put the pen on the desk in the office on the bed.", "pen", "bed", "desk"),
        ("Put the pen on the bed.", "pen", "bed", ""),
        # Not the place of another thing, nor of another sentence.
        ("Put the pen and the cup from the desk on the bed.", "pen", "bed", ""),
        ("Bring the pen. The desk is old, put it on the bed.", "pen", "bed", ""),
    ],
)
def test_a_place_that_is_left_over_says_where_the_thing_before_it_is(
    text: str, thing: str, goes: str, where: str
) -> None:
    tokens = read_tokens(text)
    reading = zeros(len(tokens))
    reading.goes[0, place_of(tokens, thing), place_of(tokens, goes)] = 1
    at, sure = said_places(tokens, reading)
    row = place_of(tokens, thing)
    assert sure[row] == float(bool(where))
    if where:
        assert at[row].tolist() == np.eye(len(tokens))[place_of(tokens, where)].tolist()
    else:
        assert not at[row].any()


def test_what_says_which_piece_is_meant_or_gets_a_state_is_no_hint() -> None:
    tokens = read_tokens("Put the pen in the office on the bed.")
    pen, office, bed = (place_of(tokens, text) for text in ("pen", "office", "bed"))
    reading = zeros(len(tokens))
    reading.goes[0, pen, bed] = reading.at[bed, office] = 1
    assert said_places(tokens, reading)[1][pen] == 0
    tokens = read_tokens("Bring the pen after the dishwasher is on.")
    pen, washer = (place_of(tokens, text) for text in ("pen", "dishwasher"))
    reading = zeros(len(tokens))
    reading.marks[washer, MARKS.index("powered_on")] = 1
    assert said_places(tokens, reading)[1][pen] == 0


def test_what_the_reader_says_itself_stands() -> None:
    tokens = read_tokens("Put the pen from the desk on the bed.")
    pen, desk, bed = (place_of(tokens, text) for text in ("pen", "desk", "bed"))
    reading = zeros(len(tokens))
    reading.goes[0, pen, bed] = 1
    reading.at[pen, bed], reading.at_none[pen] = 0.9, 0.1
    at, sure = said_places(tokens, reading)
    assert (at[pen, desk], at[pen, bed]) == (0, np.float32(0.9))
    assert sure[pen] == pytest.approx(0.9)


def test_a_search_begins_where_the_instruction_says() -> None:
    # A carrot is usually in the kitchen; this one is said to be elsewhere.
    tokens = read_tokens("Bring the carrot from the bedroom to the table.")
    carrot, table = place_of(tokens, "carrot"), place_of(tokens, "table")
    reading = zeros(len(tokens))
    reading.goes[0, carrot, table] = 1
    now = Situation()
    now.begin(
        [
            "Object.100: counter in kitchen_0",
            "Object.101: bed in bedroom_0",
            "Object.102: table in dining_room_0",
        ],
        {100: (0.0, 0.0), 101: (4.0, 0.0), 102: (2.0, 0.0)},
    )
    progress = progress_of(tokens, reading, now)
    unknown = np.full(len(progress.pieces), np.nan, np.float32)
    looks = looks_of(tokens, reading, now, progress, unknown, can_open=True)
    assert looks.first.tolist() == [0, 1, 0]
    assert looks.told.tolist() == [0, 1, 0]
