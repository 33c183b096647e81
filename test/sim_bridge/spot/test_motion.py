"""The primitive under way, without a robot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")

from sim_bridge.spot.permit import Permit
from sim_bridge.spot.workers import Motion


def test_nothing_is_sent_once_the_time_of_the_last_heartbeat_is_over() -> None:
    """A bridge that was frozen sent one more step before its gate could pause the walk."""
    sent: list[int] = []
    over = [True]

    def steps() -> Iterator[tuple[str, float]]:
        for number in range(10):
            sent.append(number)
            yield "walking", 0.1 * number

    motion = Motion(lambda: 0.0, Permit(), lambda: None, lambda: over[0])
    handle = motion.begin(steps(), 60.0)  # type: ignore[arg-type]
    motion.advance()
    assert sent == []
    assert not motion.poll(handle).done
    over[0] = False
    motion.advance()
    motion.advance()
    assert sent == [0, 1]
    over[0] = True
    motion.advance()
    assert sent == [0, 1]
