"""The order of a pass, and what stands before it."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
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
    picture,
    text_of,
    transform,
    words,
)

from planner.replay.bag import Bag
from planner.replay.player.cues import (
    COMPRESSED_IMAGE,
    IMAGE,
    Cue,
    CueKind,
    ReadAhead,
    Span,
    in_order,
    one_pass,
    passes,
    raw_topics,
    with_raw_pictures,
)
from planner.replay.player.options import PlayOptions, Selection, chosen_topics
from planner.replay.storage import TopicInfo
from planner.world.errors import PlannerError


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


def infos(**types: str) -> dict[str, TopicInfo]:
    names = {key: "/" + key.replace("__", "/") for key in types}
    return {names[k]: TopicInfo(names[k], kind, "text", 1) for k, kind in types.items()}


def test_raw_topics_are_those_that_the_bag_lacks() -> None:
    topics = infos(
        hand__compressed=COMPRESSED_IMAGE,
        depth__compressedDepth=COMPRESSED_IMAGE,
        both__compressed=COMPRESSED_IMAGE,
        both=IMAGE,
        words__compressed="std_msgs/msg/String",
        other__zstd=COMPRESSED_IMAGE,
        twice__compressed=COMPRESSED_IMAGE,
        twice__compressedDepth=COMPRESSED_IMAGE,
    )
    found = raw_topics(topics)
    assert {source: info.name for source, info in found.items()} == {
        "/hand/compressed": "/hand",
        "/depth/compressedDepth": "/depth",
        "/twice/compressed": "/twice",
    }
    assert all((info.type_name, info.definition) == (IMAGE, "") for info in found.values())


def test_pictures_are_unpacked_where_somebody_listens() -> None:
    cues = [Cue(CueKind.BEGIN, 0), Cue(CueKind.MESSAGE, 1, "/a", b"xy")]
    cues += [Cue(CueKind.MESSAGE, 2, "/b", b"xy"), Cue(CueKind.STATE, 3, "/a", b"broken")]

    def unpack(data: bytes) -> bytes:
        if data == b"broken":
            raise PlannerError("damaged")
        return data * 2

    found = list(with_raw_pictures(iter(cues), lambda topic: topic == "/a", unpack))
    assert [cue.raw for cue in found] == [b"", b"xyxy", b"", b""]
    assert [(cue.stamp_ns, cue.data) for cue in found] == [(c.stamp_ns, c.data) for c in cues]


def test_raw_pictures_are_chosen_by_their_own_names(tmp_path: Path) -> None:
    said = [picture("/hand/compressed", 0.0), words("/w", 0.0, "a")]
    topics = Bag(make_bag(tmp_path / "bag", said)).topics

    def chosen(**fields: object) -> tuple[dict[str, str], dict[str, str]]:
        selection = Selection(**fields)  # type: ignore[arg-type]
        found, _ = chosen_topics(topics, PlayOptions(selection=selection))
        return dict(found.names), dict(found.pictures)

    packed = {"/hand/compressed": "/hand/compressed"}
    assert chosen() == ({**packed, "/w": "/w"}, {"/hand/compressed": "/hand"})
    assert chosen(topics=("/hand",)) == ({}, {"/hand/compressed": "/hand"})
    assert chosen(topics=("/hand/*",)) == (packed, {})
    assert chosen(exclude=("/hand",)) == ({**packed, "/w": "/w"}, {})
    remapped = chosen(topics=("/hand",), remap={"/hand": "/eye"})
    assert remapped == ({}, {"/hand/compressed": "/eye"})


TIMEOUT_S = 30.0


def cues(count: int, size: int = 10) -> Iterator[Cue]:
    return (Cue(CueKind.MESSAGE, n, "/w", bytes(size)) for n in range(count))


def drain(ahead: ReadAhead) -> list[int]:
    found = []
    while (head := ahead.head(TIMEOUT_S)) is not None:
        found.append(head.stamp_ns)
        ahead.take()
    assert ahead.ended
    return found


@pytest.mark.parametrize("max_bytes", [1, 25, 1 << 20])
def test_everything_comes_in_order(max_bytes: int) -> None:
    ahead = ReadAhead(cues(1000), max_bytes=max_bytes, max_cues=100)
    assert drain(ahead) == list(range(1000))
    ahead.close()


def test_no_more_is_read_than_fits() -> None:
    made = []

    def endless() -> Iterator[Cue]:
        for cue in cues(10**9):
            made.append(cue)
            yield cue

    ahead = ReadAhead(endless(), max_bytes=500)
    ahead.wait_until_full(TIMEOUT_S)
    # One more is in the reader's hand.
    assert len(made) <= 51
    ahead.close()
    assert len(made) <= 51


def test_the_next_one_stays_until_it_is_taken() -> None:
    ahead = ReadAhead(cues(2))
    assert ahead.head(TIMEOUT_S) is ahead.head(TIMEOUT_S)
    assert drain(ahead) == [0, 1]


def test_nothing_yet_is_not_the_end() -> None:
    go = threading.Event()

    def late() -> Iterator[Cue]:
        go.wait(TIMEOUT_S)
        yield from cues(1)

    ahead = ReadAhead(late())
    assert ahead.head(0.01) is None
    assert not ahead.ended
    go.set()
    assert drain(ahead) == [0]


@pytest.mark.parametrize("error", [PlannerError("damaged"), ZeroDivisionError()])
def test_an_error_comes_after_what_was_read_before_it(error: Exception) -> None:
    def broken() -> Iterator[Cue]:
        yield from cues(2)
        raise error

    ahead = ReadAhead(broken())
    for stamp in range(2):
        head = ahead.head(TIMEOUT_S)
        assert head is not None
        assert head.stamp_ns == stamp
        ahead.take()
    with pytest.raises(type(error)):
        ahead.head(TIMEOUT_S)
    ahead.close()
