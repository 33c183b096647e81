"""Gaps: jumps of the publisher's count, what the recorder says it missed, and what is final."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.cli import main
from planner.replay.bag import Bag
from planner.replay.storage import GAP, Gap, merged
from planner.world.errors import FileError

TOPIC = "/world/state"
ONE = "- history: unknown\n  depth: 0\n"


def numbered(
    film,
    messages,
    numbers,
    *,
    qos="",
    noted=(),
    live_at=None,
    unsent=0,
    name="bag",
    library="planner",
):
    """A bag of states with such sequence numbers, one a second; the live verdict after one.

    The last states, `unsent` of them, were judged live and are not in the bag.
    """
    bag = messages.bag(film.folder / name, library=library)
    text = messages.store.generate_msgdef("planner_msgs/msg/WorldState", ros_version=2)[0]
    bag.channel(TOPIC, "planner_msgs/msg/WorldState", text, qos=qos)
    second = 10**9
    sent = list(zip(numbers, film.states, strict=True))[: len(numbers) - unsent]
    for n, (number, state) in enumerate(sent):
        bag.put(TOPIC, messages.world(state), number, time_ns=(n + 1) * second)
    if live_at is not None:
        states, film.states = film.states, film.states[: live_at + 1]
        verdict = messages.verdict(film.verdict(), 9.0)
        film.states = states
        bag.put("/evaluation/result", verdict, 1, time_ns=(live_at + 1) * second + 1)
    for begin, end, missing in noted:
        texts = {"topic": TOPIC, "from_ns": str(begin), "to_ns": str(end), "missing": str(missing)}
        bag.writer.add_metadata(GAP, texts)
    return bag.close()


def spans(path) -> list[tuple[int, int, int]]:
    return [(g.from_ns // 10**9, g.to_ns // 10**9, g.missing) for g in Bag(path).gaps(TOPIC)]


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ([1, 2, 3], []),
        ([0, 0, 0], []),
        ([7, 8, 9], []),
        ([1, 3, 4], [(1, 2, 1)]),
        ([1, 4, 9], [(1, 2, 2), (2, 3, 4)]),
        # A publisher that was restarted.
        ([8, 9, 1], []),
        ([8, 1, 3], [(2, 3, 1)]),
        ([5, 5, 6], []),
    ],
)
def test_a_jump_of_the_count_is_a_gap(film, messages, numbers, found) -> None:
    film.solved()
    assert spans(numbered(film, messages, numbers)) == found
    assert spans(numbered(film, messages, numbers, qos=ONE, name="one")) == found
    # Our recorder counts by topic; with others, the counts of two publishers are mixed.
    assert spans(numbered(film, messages, numbers, qos=ONE + ONE, name="two")) == found
    theirs = {"qos": ONE + ONE, "library": "rosbag2", "name": "theirs"}
    assert spans(numbered(film, messages, numbers, **theirs)) == []


def test_what_the_recorder_missed_is_a_gap(film, messages) -> None:
    second = 10**9
    bag = numbered(
        film.solved(),
        messages,
        [1, 4, 5],
        noted=[(second, 2 * second, 2), (5 * second, 6 * second, 0)],
    )
    # That which both tell of is one.
    assert spans(bag) == [(1, 2, 2), (5, 6, 0)]
    assert Bag(bag).gaps("/skills/results") == ()


@pytest.mark.parametrize("text", ["", "x", "-1", "1e3", "9" * 19, "9" * 5000, "\u0661"])
def test_a_note_of_a_gap_without_numbers_is_one_error(film, messages, text) -> None:
    bag = numbered(film.solved(), messages, [1, 2, 3], noted=[(1, 2, text)])
    with pytest.raises(FileError, match=r"metadata: planner\.gap\.missing: expected a number"):
        Bag(bag).gaps(TOPIC)


GAPS = st.builds(
    lambda begin, length, missing: Gap(TOPIC, begin, begin + length, missing),
    st.integers(0, 50),
    st.integers(1, 9),
    st.integers(0, 9),
)


@given(st.lists(GAPS))
def test_merged_gaps_cover_the_same_time_and_do_not_overlap(gaps) -> None:
    found = merged(gaps)
    inside = {t for g in gaps for t in range(g.from_ns, g.to_ns)}
    assert {t for g in found for t in range(g.from_ns, g.to_ns)} == inside
    assert all(a.to_ns <= b.from_ns for a, b in itertools.pairwise(found))
    assert max((g.missing for g in found), default=0) == max((g.missing for g in gaps), default=0)


def evaluate(capsys, *words) -> tuple[int, str, dict]:
    status = main(["evaluate", *map(str, words)])
    out = capsys.readouterr().out
    main(["evaluate", "--json", *map(str, words)])
    return status, out, json.loads(capsys.readouterr().out)


def test_a_verdict_on_what_lacks_states_is_not_final(film, messages, capsys) -> None:
    bag = numbered(film.solved(), messages, [1, 5, 6], live_at=2)
    status, out, document = evaluate(capsys, bag, "--episode", film.path)
    row, line = out.splitlines()[1:]
    assert status == 2
    assert row.split()[:3] == ["small", "not", "final"]
    assert line == (
        "gap in small: 3 states missing between 0.000 s and 0.333 s, received between "
        "1970-01-01T00:00:01.000+00:00 and 1970-01-01T00:00:02.000+00:00"
    )
    (result,) = document["results"]
    assert (result["final"], result["success"], "summary" in document) == (False, None, False)
    (gap,) = result["gaps"]
    assert (gap["missing"], gap["from_ns"], gap["to_ns"]) == (3, 10**9, 2 * 10**9)
    assert (gap["from_s"], round(gap["to_s"], 3)) == (0.0, 0.333)
    # What is there may be judged all the same.
    status, out, document = evaluate(capsys, bag, "--episode", film.path, "--partial")
    assert (status, "success" in out, "3 states missing" in out) == (0, True, True)
    assert (document["results"][0]["final"], document["results"][0]["success"]) == (False, True)


def judged(capsys, film, bag) -> tuple[int, bool]:
    status, _, document = evaluate(capsys, bag, "--episode", film.path)
    return status, document["results"][0]["final"]


def test_only_what_is_missing_within_the_run_matters(film, messages, capsys) -> None:
    film.put("cup_0").put("apple_0", 0.2).put("cup_0", -0.2)
    after = numbered(film, messages, [1, 2, 3, 9], live_at=2, name="after")
    assert judged(capsys, film, after) == (0, True)
    within = numbered(film, messages, [1, 2, 8, 9], live_at=2, name="within")
    assert judged(capsys, film, within) == (2, False)
    # Without a live verdict, all of it is the run.
    assert judged(capsys, film, numbered(film, messages, [1, 2, 3, 9], name="all")) == (2, False)


def test_states_missing_between_the_last_one_and_the_live_verdict_are_a_gap(
    film, messages, capsys
) -> None:
    film.put("cup_0").put("apple_0", 0.2).put("cup_0", -0.2)
    whole = numbered(film, messages, [1, 2, 3, 4], live_at=3, name="whole")
    assert judged(capsys, film, whole) == (0, True)
    # The bridge ended before the recorder had the last state, at which the verdict was given.
    bag = numbered(film, messages, [1, 2, 3, 4], live_at=3, unsent=1, name="tail")
    status, out, document = evaluate(capsys, bag, "--episode", film.path)
    assert (status, document["results"][0]["final"]) == (2, False)
    assert "gap in small: states missing between 0.667 s and the end" in out


def test_what_was_missed_before_a_run_began_does_not_matter(film, messages, capsys) -> None:
    first = film.put("apple_0", 0.2).states
    film.states = first[:1]
    film.states = [*first, *film.solved().states]
    numbers = [1, 2, 9, 10, 11]
    assert judged(capsys, film, numbered(film, messages, numbers, name="b")) == (0, True)
    # A run that was joined late may lack its beginning.
    del film.states[2], numbers[2]
    late = numbered(film, messages, numbers, name="late")
    assert judged(capsys, film, late)[1] is False


def test_what_the_recorder_missed_before_its_first_state(film, messages, capsys) -> None:
    film.solved()
    before = [(0, 10**9, 4)]
    whole = numbered(film, messages, [4, 5, 6], noted=before, name="whole")
    assert judged(capsys, film, whole) == (0, True)
    del film.states[0]
    late = numbered(film, messages, [5, 6], noted=before, name="late")
    status, out, document = evaluate(capsys, late, "--episode", film.path)
    assert (status, document["results"][0]["final"]) == (2, False)
    assert "4 states missing between the beginning and 0.333 s" in out


def test_the_end_that_the_recorder_missed_matters_up_to_the_verdict(film, messages, capsys) -> None:
    film.solved()
    second = 10**9
    lost = [(int(3.5 * second), 4 * second, 2)]
    assert judged(capsys, film, numbered(film, messages, [1, 2, 3], noted=lost)) == (2, False)
    whole = numbered(film, messages, [1, 2, 3], noted=lost, live_at=2, name="live")
    assert judged(capsys, film, whole) == (0, True)


def test_of_several_only_final_verdicts_count(film, messages, capsys) -> None:
    good = numbered(film.solved(), messages, [1, 2, 3], name="good")
    bad = numbered(film, messages, [1, 2, 5], name="bad")
    status, out, document = evaluate(capsys, good, bad, "--episode", film.path)
    assert (status, "n=1" in out) == (2, True)
    assert document["summary"][0]["n"] == 1
