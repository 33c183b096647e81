"""Ctrl-C and SIGTERM for commands that have something to end in order."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def termination_requested() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or SIGTERM came, instead of ending at once; a second one ends at once.

    Raises:
        KeyboardInterrupt: at the second.
    """
    heard: list[int] = []

    def note(number: int, _frame: object) -> None:
        if heard:
            raise KeyboardInterrupt
        heard.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(heard)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
