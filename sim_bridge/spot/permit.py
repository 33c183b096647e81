"""Which commands may be sent: a stop revokes every motion that started before it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

LeaseT = TypeVar("LeaseT")


class WithdrawnError(Exception):
    """A motion was stopped or paused while sending a command."""


class Permit:
    """Grants of motions, and the order of leases between threads.

    A robot rejects a command whose lease is older than the newest one that it has seen. A stop
    revokes all grants before it takes its lease: commands permitted earlier that arrive later are
    rejected by the robot, later requests here.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._epoch = 0
        self._thread = threading.local()

    @property
    def epoch(self) -> int:
        """The grant for a motion that starts now."""
        return self._epoch

    def withdraw(self) -> None:
        """Revokes all grants."""
        with self._lock:
            self._epoch += 1

    @contextmanager
    def granted(self, epoch: int) -> Iterator[None]:
        """Commands of this thread belong to the motion with this grant in this context."""
        before = getattr(self._thread, "grant", None)
        self._thread.grant = epoch
        try:
            yield
        finally:
            self._thread.grant = before

    @property
    def withdrawn(self) -> bool:
        """Whether this thread's motion was stopped or paused."""
        grant = getattr(self._thread, "grant", None)
        return grant is not None and grant != self._epoch

    @property
    def is_motion(self) -> bool:
        """Whether this thread's commands belong to a motion, which a stop may overtake."""
        return getattr(self._thread, "grant", None) is not None

    def lease(self, advance: Callable[[], LeaseT]) -> LeaseT:
        """The next lease, for a command of this thread.

        Raises:
            WithdrawnError: if its motion was stopped or paused.
        """
        with self._lock:
            if self.withdrawn:
                raise WithdrawnError
            return advance()
