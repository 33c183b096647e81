"""A progress bar for reading long bags; silent unless on a terminal."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_CELLS = 30
# Seconds until a bar appears, and between updates.
_AFTER_S, _EVERY_S = 0.7, 0.1


class ProgressBar:
    """Shows progress on a terminal."""

    def __init__(self, title: str, stream: TextIO = sys.stderr) -> None:
        """Takes the title, printable text."""
        self._title = title
        self._stream = stream
        self._begun_s = self._shown_s = time.monotonic()
        self._shown = False

    def show(self, share: float) -> None:
        """Shows the completed share, 0 to 1."""
        now_s = time.monotonic()
        if not self._stream.isatty() or now_s - self._begun_s < _AFTER_S:
            return
        if now_s - self._shown_s < _EVERY_S:
            return
        self._shown_s, self._shown = now_s, True
        done = round(min(max(share, 0.0), 1.0) * _CELLS)
        self._stream.write(f"\r{self._title} [{'#' * done}{'.' * (_CELLS - done)}] {share:4.0%}")
        self._stream.flush()

    def end(self) -> None:
        """Clears the line."""
        if self._shown:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
