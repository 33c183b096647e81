"""Which commands may still be sent: a stop withdraws every motion that began before it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

LeaseT = TypeVar("LeaseT")


class WithdrawnError(Exception):
    """A motion was stopped or paused while it was about to send, or had just sent, a command."""


class Permit:
    """Grants of motions, and the order of leases between threads.

    A robot refuses a command whose lease is older than the newest that it has seen. A stop
    withdraws all grants before it takes its lease, so what was permitted earlier and arrives
    later is refused by the robot, and what asks later is refused here.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._epoch = 0
        self._thread = threading.local()

    @property
    def epoch(self) -> int:
        """The grant of a motion that begins now."""
        return self._epoch

    def withdraw(self) -> None:
        """Ends all grants given until now."""
        with self._lock:
            self._epoch += 1

    @contextmanager
    def granted(self, epoch: int) -> Iterator[None]:
        """Commands that this thread sends meanwhile belong to the motion with this grant."""
        before = getattr(self._thread, "grant", None)
        self._thread.grant = epoch
        try:
            yield
        finally:
            self._thread.grant = before

    @property
    def withdrawn(self) -> bool:
        """Whether the motion that this thread carries out was stopped or paused."""
        grant = getattr(self._thread, "grant", None)
        return grant is not None and grant != self._epoch

    def lease(self, advance: Callable[[], LeaseT]) -> LeaseT:
        """The next lease, for a command that this thread is about to send.

        Raises:
            WithdrawnError: where the motion that it belongs to was stopped or paused.
        """
        with self._lock:
            if self.withdrawn:
                raise WithdrawnError
            return advance()
