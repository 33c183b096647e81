"""A growing file that a full disk does not end and a power cut does not tear."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path


class SyncedFile:
    """What is written waits in memory until `commit` has brought it to the disk, all or nothing.

    A commit that fails leaves the file as the last one did and can be repeated: nothing that was
    written is lost by a disk that is full for a while. The file is locked (`flock`, exclusive)
    until it is closed, so that readers can tell that it is growing.
    """

    def __init__(self, path: Path) -> None:
        """Creates the file.

        Raises:
            OSError: if it exists already or cannot be created.
        """
        self.path = path
        self._stream = path.open("xb", buffering=0)
        self._descriptor = self._stream.fileno()
        fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._committed = 0
        self._waiting: list[bytes] = []
        self.waiting_bytes = 0

    def write(self, data: bytes) -> int:
        """Adds to what waits; never fails."""
        if data:
            self._waiting.append(bytes(data))
            self.waiting_bytes += len(data)
        return len(data)

    def flush(self) -> None:
        """Does nothing: `commit` writes."""

    def tell(self) -> int:
        """Bytes so far, with those that wait."""
        return self._committed + self.waiting_bytes

    def commit(self) -> None:
        """Brings what waits to the disk.

        Raises:
            OSError: if it cannot be written; it goes on waiting.
        """
        if not self._waiting:
            return
        try:
            at = self._committed
            for piece in self._waiting:
                at = self._put(piece, at)
            os.fdatasync(self._descriptor)
        except OSError:
            # No reader sees half of it, and the space is free for others.
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._committed)
            raise
        self._committed = at
        self._waiting.clear()
        self.waiting_bytes = 0

    def _put(self, piece: bytes, at: int) -> int:
        rest = memoryview(piece)
        while rest:
            written = os.pwrite(self._descriptor, rest, at)
            rest, at = rest[written:], at + written
        return at

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._stream.closed

    def close(self) -> None:
        """Closes and unlocks it, without what still waits; safe to call twice."""
        self._stream.close()
