"""What is wanted, done and missing, for readings that are given by hand."""

from __future__ import annotations

import numpy as np
from learned_toys import place_of, zeros

from planner.planning.learned.network import MARKS, NUMBERS
from planner.planning.learned.progress import Progress, Situation, progress_of
from planner.planning.learned.tokens import read_tokens

TABLE, BED, CUP, BOWL = 100, 101, 102, 103


def begun(*things: str) -> Situation:
    now = Situation()
    now.begin(
        ["Object.100: table in kitchen_0", "Object.101: bed in bedroom_0"],
        {TABLE: (0.0, 0.0), BED: (5.0, 0.0)},
    )
    now.told(things)
    return now


def carried(now: Situation, thing: int, place: int) -> None:
    now.ended(f"Navigate[Object.{thing}]", succeeded=True)
    now.ended(f"Pick[Object.{thing}]", succeeded=True)
    now.ended(f"Navigate[Object.{place}]", succeeded=True)
    now.ended(f"Place[Object.{thing}, on, Object.{place}, None, None]", succeeded=True)
    now.told([f"Update Object.{thing}: cup with the Object.{place}"])


def test_a_thing_goes_to_its_second_place_once_it_was_at_the_first() -> None:
    tokens = read_tokens("Put the cup on the table, then move it to the bed.")
    cup, table, bed = (place_of(tokens, text) for text in ("cup", "table", "bed"))
    reading = zeros(len(tokens))
    reading.goes[0, cup, table] = reading.then[0, cup, bed] = 1
    now = begun("Add Object.102: cup with the Object.101")

    def wanted() -> tuple[Progress, list[float]]:
        found = progress_of(tokens, reading, now)
        return found, [float(found.goes[0, 0, f]) for f in range(2)]

    before, goes = wanted()
    assert goes == [1, 0]
    assert before.move[0] == 1
    # It lies on the bed already, and still has to come by the table.
    assert before.begun[0] == 0
    carried(now, CUP, TABLE)
    between, goes = wanted()
    assert goes == [0, 1]
    assert between.move[0] == 1
    assert between.begun[0] == 1
    carried(now, CUP, BED)
    after, _ = wanted()
    assert after.move[0] == 0
    assert after.remaining.max() == 0


def test_what_something_goes_next_to_is_missing_until_it_is_known() -> None:
    tokens = read_tokens("Put the cup next to the bowl.")
    cup, bowl = place_of(tokens, "cup"), place_of(tokens, "bowl")
    reading = zeros(len(tokens))
    reading.next[cup, bowl] = 1
    now = begun("Add Object.102: cup with the Object.101")
    found = progress_of(tokens, reading, now)
    assert found.missing[bowl] == 1
    assert found.missing[cup] == 0
    assert found.ready[0] == 0
    now.told(["Add Object.103: bowl with the Object.100"])
    found = progress_of(tokens, reading, now)
    assert found.missing.max() == 0
    assert found.ready[0] == 1
    assert found.move.tolist() == [1, 0]


def test_next_to_is_done_for_the_pair_that_was_asked_and_undone_when_one_is_taken() -> None:
    tokens = read_tokens("Put the cup next to the bowl.")
    cup, bowl = place_of(tokens, "cup"), place_of(tokens, "bowl")
    reading = zeros(len(tokens))
    reading.next[cup, bowl] = 1
    now = begun(
        "Add Object.102: cup with the Object.101",
        "Add Object.103: bowl with the Object.100",
        "Add Object.104: lamp with the Object.100",
    )
    now.ended("Place[Object.102, on, Object.100, next_to, Object.104]", succeeded=True)
    assert progress_of(tokens, reading, now).move[0] == 1
    now.ended("Place[Object.102, on, Object.100, next_to, Object.103]", succeeded=True)
    assert progress_of(tokens, reading, now).move[0] == 0
    now.ended("Pick[Object.103]", succeeded=True)
    assert progress_of(tokens, reading, now).move[0] == 1


def test_clean_ones_wait_for_the_others_where_all_are_cleaned_first() -> None:
    tokens = read_tokens("First clean the two cups, then put them on the bed.")
    cup, bed = (place_of(tokens, text) for text in ("cups", "bed"))
    reading = zeros(len(tokens))
    reading.numbers[cup] = np.eye(len(NUMBERS))[1]
    reading.goes[0, cup, bed] = reading.before[cup, cup] = 1
    reading.marks[cup, MARKS.index("clean")] = 1
    now = begun(
        "Add Object.102: cup with the Object.100", "Add Object.103: cup with the Object.100"
    )
    now.ended("Clean[Object.102]", succeeded=True)
    waiting = progress_of(tokens, reading, now).blocked
    assert waiting[0] == 1
    assert waiting[1] == 0
    now.ended("Clean[Object.103]", succeeded=True)
    assert (progress_of(tokens, reading, now).blocked == 0).all()


def test_all_three_are_three_however_few_are_known() -> None:
    tokens = read_tokens("Put all three cups on the bed.")
    cups, bed = place_of(tokens, "cups"), place_of(tokens, "bed")
    reading = zeros(len(tokens))
    reading.numbers[cups] = np.eye(len(NUMBERS))[NUMBERS.index("all")]
    reading.goes[0, cups, bed] = 1
    now = begun(
        "Add Object.102: cup with the Object.100", "Add Object.103: cup with the Object.100"
    )
    assert progress_of(tokens, reading, now).missing[cups] == 1
    carried(now, 102, BED)
    carried(now, 103, BED)
    assert progress_of(tokens, reading, now).remaining[cups] == 1
    now.told(["Add Object.104: cup with the Object.101"])
    found = progress_of(tokens, reading, now)
    assert (found.missing[cups], found.remaining[cups]) == (0, 0)


def test_what_another_agent_brings_is_not_needed_twice() -> None:
    tokens = read_tokens("Put the cup on the bed.")
    cup, bed = place_of(tokens, "cup"), place_of(tokens, "bed")
    reading = zeros(len(tokens))
    reading.numbers[cup] = np.eye(len(NUMBERS))[0]
    reading.goes[0, cup, bed] = 1
    now = begun(
        "Add Object.102: cup with the Object.100", "Add Object.103: cup with the Object.100"
    )
    assert progress_of(tokens, reading, now).need[:2].tolist() == [1, 1]
    now.see_others({"agent_1": "Navigate[Object.102]"})
    assert progress_of(tokens, reading, now).need[:2].tolist() == [1, 0]
    now.see_others({"agent_1": "Pick[Object.102]"})
    now.told(["Update Object.102 (picked): cup"])
    assert progress_of(tokens, reading, now).need[1] == 0
    # The other one put it down elsewhere and does something else.
    now.told(["Update Object.102: cup with the Object.100"])
    now.see_others({})
    assert progress_of(tokens, reading, now).need[:2].tolist() == [1, 1]


def test_of_two_things_of_one_noun_either_is_next_to_the_other() -> None:
    tokens = read_tokens("Put the two cups next to each other.")
    cup = place_of(tokens, "cups")
    reading = zeros(len(tokens))
    reading.next[cup, cup] = 0.5
    now = begun(
        "Add Object.102: cup with the Object.100", "Add Object.103: cup with the Object.101"
    )
    said = progress_of(tokens, reading, now).grounded.next_things
    assert said.tolist() == [[0, 1], [1, 0]]


def test_what_was_switched_off_is_not_switched_on_again() -> None:
    # "All the phones" was read as both, and each was switched off and on.
    tokens = read_tokens("Switch off the headset and all the phones.")
    phones = place_of(tokens, "phones")
    reading = zeros(len(tokens))
    on, off = MARKS.index("powered_on"), MARKS.index("powered_off")
    reading.marks[phones, on], reading.marks[phones, off] = 0.6, 0.2
    now = begun("Add Object.102: cellphone powered on with the Object.100")
    state = progress_of(tokens, reading, now).state[0]
    assert (state[on], state[off]) == (0, np.float32(0.2))
    now.ended("PowerOff[Object.102]", succeeded=True)
    now.told(["Update Object.102: cellphone with the Object.100"])
    assert not progress_of(tokens, reading, now).state.any()
