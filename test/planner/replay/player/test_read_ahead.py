"""Reading ahead: all of it, in order, bounded, and its errors where they belong."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from planner.replay.player.cues import Cue, CueKind
from planner.replay.player.read_ahead import ReadAhead
from planner.world.errors import PlannerError

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
