"""A small disk for the output of a run, which can be filled up."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

from planner.world.errors import PlannerError

_SIZE_MB = 400
_BLOCK = b"\0" * (1 << 20)


class SmallDisk:
    """A tmpfs at a folder."""

    def __init__(self, folder: Path) -> None:
        """Mounts it.

        Raises:
            PlannerError: if this machine does not allow it.
        """
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        words = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE_MB}m", "bad-day", str(folder)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise PlannerError(f"cannot mount a small disk: {done.stderr.strip()}")
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Fills it to the last byte."""
        with suppress(OSError), self._ballast.open("wb", buffering=0) as file:
            while file.write(_BLOCK):
                pass

    def empty(self) -> None:
        """Frees the space again."""
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmounts it, with everything on it."""
        subprocess.run(["umount", "-l", str(self.folder)], capture_output=True, check=False)
