"""The order of a pass, and what stands before it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from played_bags import (
    BEGIN_NS,
    LATCHED,
    SECOND,
    STRING,
    Said,
    cdr,
    clock,
    make_bag,
    text_of,
    transform,
    words,
)

from planner.replay.bag import Bag
from planner.replay.player.cues import Cue, CueKind, Span, one_pass, passes
from planner.replay.player.in_order import in_order


def span(start_s: float, end_s: float) -> Span:
    return Span(BEGIN_NS + round(start_s * SECOND), BEGIN_NS + round(end_s * SECOND))


def texts(cues: list[Cue], kind: CueKind) -> list[str]:
    return [text_of(cue.data) for cue in cues if cue.kind is kind]


def test_messages_come_in_the_order_of_time(tmp_path: Path) -> None:
    """However a recorder that empties one queue after another has written them down."""
    moments = [n / 10 for n in range(200)]
    random.Random(3).shuffle(moments)
    bag = Bag(make_bag(tmp_path / "bag", (words(f"/w{n % 3}", n, f"{n:g}") for n in moments)))
    cues = list(one_pass(bag, dict.fromkeys(bag.topics, False), span(0.0, 19.9)))
    assert cues[0] == Cue(CueKind.BEGIN, BEGIN_NS)
    assert cues[-1] == Cue(CueKind.END, BEGIN_NS + round(19.9 * SECOND))
    assert texts(cues, CueKind.MESSAGE) == [f"{n:g}" for n in sorted(moments)]


def test_of_one_moment_they_come_as_they_were_written(tmp_path: Path) -> None:
    bag = Bag(make_bag(tmp_path / "bag", (words(f"/w{n % 2}", 1.0, str(n)) for n in range(9))))
    found = [text_of(m.data) for m in in_order(bag, tuple(bag.topics), BEGIN_NS, bag.end_ns + 1)]
    assert found == [str(n) for n in range(9)]


@given(moments=st.lists(st.integers(0, 10**12), min_size=1, max_size=30))
def test_silence_of_any_length_is_stepped_over(
    tmp_path_factory: pytest.TempPathFactory, moments: list[int]
) -> None:
    """Up to thirty years: no message is lost, none comes before its time."""
    folder = tmp_path_factory.mktemp("silence") / "bag"
    bag = Bag(make_bag(folder, (words("/w", n / 1000, str(n)) for n in moments)))
    found = [int(text_of(m.data)) for m in in_order(bag, ("/w",), bag.start_ns, bag.end_ns + 1)]
    assert found == sorted(moments)


def test_a_span_begins_with_what_stood_then(tmp_path: Path) -> None:
    said = [
        transform(0.0, "a"),
        words("/map", 0.1, "map 1", LATCHED),
        transform(0.2, "b"),
        words("/state", 0.3, "open", LATCHED),
        clock(0.4, 1.0),
        words("/words", 0.5, "said before"),
        words("/state", 90.0, "closed", LATCHED),
        clock(99.0, 30.0),
        words("/words", 100.0, "said then"),
        words("/state", 101.0, "open again", LATCHED),
        words("/words", 102.0, "said after"),
    ]
    bag = Bag(make_bag(tmp_path / "bag", said))
    latched = {topic: topic in ("/tf_static", "/map", "/state") for topic in bag.topics}
    cues = list(one_pass(bag, latched, span(100.0, 101.5)))
    state = [cue for cue in cues if cue.kind is CueKind.STATE]
    assert [cue.data for cue in state] == [said[n].data for n in (0, 1, 2, 6, 7)]
    assert texts(cues, CueKind.MESSAGE) == ["said then", "open again"]
    assert [cue.kind for cue in cues[:2]] == [CueKind.BEGIN, CueKind.STATE]


def test_from_the_beginning_nothing_stands(tmp_path: Path) -> None:
    bag = Bag(make_bag(tmp_path / "bag", [words("/state", 0.0, "open", LATCHED)]))
    cues = list(one_pass(bag, {"/state": True}, span(0.0, 0.0)))
    assert [cue.kind for cue in cues] == [CueKind.BEGIN, CueKind.MESSAGE, CueKind.END]


def test_passes_follow_each_other_without_end(tmp_path: Path) -> None:
    bag = Bag(make_bag(tmp_path / "bag", [words("/w", 0.0, "a"), words("/w", 1.0, "b")]))
    whole = span(0.0, 1.0)
    once = list(passes(bag, {"/w": False}, whole, loop=False))
    endless = passes(bag, {"/w": False}, whole, loop=True)
    assert [next(endless) for _ in range(3 * len(once))] == once * 3


def test_messages_of_another_type_under_the_same_name_are_no_messages_of_the_topic(
    tmp_path: Path,
) -> None:
    """A split bag may have them: whoever reads them as the first type would read nonsense."""
    split = tmp_path / "split"
    split.mkdir()
    number = Said("/w", 1.0, cdr("std_msgs/msg/Int32", data=7), "std_msgs/msg/Int32")
    first = make_bag(tmp_path / "a", [words("/w", 0.0, "a")])
    second = make_bag(tmp_path / "b", [number])
    for folder in (first, second):
        (file,) = folder.glob("*.mcap")
        file.rename(split / file.name)
    bag = Bag(split)
    found = list(in_order(bag, ("/w",), bag.start_ns, bag.end_ns + 1))
    assert [m.type_name for m in found] == [STRING]
