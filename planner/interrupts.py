"""Ctrl-C and SIGTERM for commands that have to clean up."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def termination_requested() -> Iterator[Callable[[], bool]]:
    """Catches Ctrl-C and SIGTERM; yields a function that returns whether one came.

    Raises:
        KeyboardInterrupt: at the second.
    """
    received: list[int] = []

    def note(number: int, _frame: object) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
