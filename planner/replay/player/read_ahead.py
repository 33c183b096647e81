"""Reads a bag ahead of playback, which must not wait for disk or decompression."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from threading import Condition, Thread

from planner.replay.player.cues import Cue

MAX_BYTES = 64 << 20
MAX_CUES = 50_000
_WAIT_S = 0.2


class ReadAhead:
    """Reads cues in a thread of its own and buffers some of them."""

    def __init__(
        self, cues: Iterator[Cue], *, max_bytes: int = MAX_BYTES, max_cues: int = MAX_CUES
    ) -> None:
        """Starts reading.

        Args:
            cues: to read.
            max_bytes: limit of buffered messages; a larger one is buffered alone.
            max_cues: limit of buffered cues.
        """
        self._cues = cues
        self._max_bytes, self._max_cues = max_bytes, max_cues
        self._ready: deque[Cue] = deque()
        self._bytes = 0
        self._ended = False
        self._error: Exception | None = None
        self._changed = Condition()
        self._thread = Thread(target=self._read, name="read-ahead", daemon=True)
        self._thread.start()

    def head(self, timeout_s: float) -> Cue | None:
        """The next cue, which stays the next until `take`; None if none came in time.

        Raises:
            PlannerError: if the bag could not be read further; what was read before it comes first.
        """
        # The writer only appends: the first cue can be read without its lock.
        if self._ready:
            return self._ready[0]
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._ended, timeout_s)
            if self._ready:
                return self._ready[0]
            if self._error is not None:
                raise self._error
            return None

    @property
    def ended(self) -> bool:
        """Whether the last cue was taken."""
        return self._ended and not self._ready

    def take(self) -> None:
        """Advances to the next cue."""
        with self._changed:
            cue = self._ready.popleft()
            self._bytes -= _size(cue)
            if self._bytes <= self._max_bytes // 2 and len(self._ready) <= self._max_cues // 2:
                self._changed.notify()

    def __iter__(self) -> Iterator[Cue]:
        """All cues; waits for each."""
        while True:
            cue = self.head(_WAIT_S)
            if cue is not None:
                self.take()
                yield cue
            elif self.ended:
                return

    def wait_until_full(self, timeout_s: float) -> None:
        """Waits until the buffer is full, or everything was read."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or not self._has_room(), timeout_s)

    def close(self) -> None:
        """Stops reading."""
        with self._changed:
            self._ended = True
            self._ready.clear()
            self._changed.notify_all()
        self._thread.join()

    def _has_room(self) -> bool:
        return not self._ready or (
            self._bytes < self._max_bytes and len(self._ready) < self._max_cues
        )

    def _read(self) -> None:
        error: Exception | None = None
        try:
            for cue in self._cues:
                with self._changed:
                    if not self._has_room():
                        self._changed.notify_all()
                        self._changed.wait_for(lambda: self._ended or self._has_room())
                    if self._ended:
                        return
                    self._ready.append(cue)
                    self._bytes += _size(cue)
                    if len(self._ready) == 1:
                        self._changed.notify_all()
        except Exception as raised:
            error = raised
        with self._changed:
            self._error = error
            self._ended = True
            self._changed.notify_all()


def _size(cue: Cue) -> int:
    return len(cue.data) + len(cue.raw)
