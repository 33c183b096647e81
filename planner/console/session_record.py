"""Who did what at the console, as lines of JSON."""

from __future__ import annotations

import json
import time
from pathlib import Path

from planner.world.errors import FileError


class SessionRecord:
    """A file to which each order and each outcome is one line; "" = none is written."""

    def __init__(self, path: str) -> None:
        """Opens it to append.

        Raises:
            FileError: if it cannot be written.
        """
        self._file = None
        if not path:
            return
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - open until the end
        except OSError as error:
            raise FileError(path, "", f"cannot be written: {error.strerror}") from None

    def write(self, who: str, seat: str, what: str, **more: object) -> str:
        """Writes a line at once, so that it survives the end of the process.

        Args:
            who: session and name of the person.
            seat: in which it was done; "" = none.
            what: the order or its outcome.
            more: fields of it.

        Returns:
            Why it could not be written, once: a full disk ends the record and nothing else.
        """
        if self._file is None:
            return ""
        line = {"wall_s": round(time.time(), 3), "who": who, "seat": seat, "what": what, **more}
        try:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()
        except OSError as error:
            self._file = None
            return f"the record of this console ends: {error.strerror}"
        return ""

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
