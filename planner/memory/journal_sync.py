"""Brings an SQLite database's write-ahead journal to the disk at a stated pace."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

# A commit survives a power cut no later than this many wall seconds after it was made.
SYNC_S = 1.0


class JournalSync:
    """Synchronises the journal in a thread of its own, as a busy disk takes seconds for it.

    SQLite's `synchronous = NORMAL` brings commits to the disk only when it empties the journal,
    which may be an hour later; `FULL` makes each commit wait for the disk.
    """

    def __init__(self, database: Path) -> None:
        """Waits for the first commit; the thread begins with it."""
        self._journal = database.with_name(f"{database.name}-wal")
        self._changed, self._ended = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self.failure = ""

    def note(self) -> None:
        """A commit was made."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="journal sync", daemon=True)
            self._thread.start()
        self._changed.set()

    def close(self) -> None:
        """Ends the thread; safe to call twice. SQLite itself synchronises what it closes."""
        self._ended.set()
        self._changed.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._changed.wait()
            if self._ended.is_set():
                return
            self._changed.clear()
            try:
                self._sync()
                self.failure = ""
            except OSError as error:
                self.failure = f"cannot be brought to the disk: {error.strerror or error}"
                self._changed.set()
            self._ended.wait(SYNC_S)

    def _sync(self) -> None:
        # Not there = SQLite has just emptied it, and synchronised the database.
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(self._journal, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)
