"""A process whose machine loses power: what was not synchronised is gone.

The disk is a stand-in, `lose_unsynced.c`: the system calls are real, what survives is computed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHIM = Path(__file__).with_name("lose_unsynced.c")
_REPOSITORY = SHIM.parents[1]


class Machine:
    """A folder on a disk that keeps only what was synchronised.

    Attributes:
        folder: for the process.
    """

    def __init__(self, place: Path) -> None:
        self.folder = place / "disk"
        self._durable, self._library = place / "durable", place / "lose_unsynced.so"
        self.folder.mkdir()
        self._durable.mkdir()
        words = ["cc", "-shared", "-fPIC", "-O1", "-o", str(self._library), str(SHIM), "-ldl"]
        subprocess.run(words, check=True)
        self._copies = 0

    @contextmanager
    def running(self, script: str) -> Iterator[subprocess.Popen[str]]:
        """Runs a Python script, whose `FOLDER` is the folder, until the power is cut."""
        environment = {
            **os.environ,
            "LD_PRELOAD": str(self._library),
            "DURABLE": str(self._durable),
            "PYTHONPATH": os.pathsep.join(
                map(str, (_REPOSITORY, _REPOSITORY / "test/integration"))
            ),
        }
        # The folder was there before: only what happens in it may be lost.
        head = (
            "import os\nfrom pathlib import Path\n"
            f"FOLDER = Path({str(self.folder)!r})\n"
            "_d = os.open(FOLDER, os.O_RDONLY); os.fsync(_d); os.close(_d)\n"
        )
        words = [sys.executable, "-c", head + textwrap.dedent(script)]
        with subprocess.Popen(
            words, env=environment, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def after_power_cut(self) -> Path:
        """A folder with what would be on the disk if the power were cut now."""
        self._copies += 1
        copy = self.folder.parent / f"copy_{self._copies}"
        self._restore(self._key(self.folder), copy)
        return copy

    def _key(self, path: Path) -> str:
        found = path.stat()
        (name,) = [f.name for f in self._durable.glob(f"{found.st_ino}-*") if f.suffix == ""]
        return name

    def _restore(self, key: str, copy: Path) -> None:
        copy.mkdir()
        for line in self._kept(key).decode().splitlines():
            inner, kind, name = line.split(" ", 2)
            if kind == "d":
                self._restore(inner, copy / name)
            else:
                (copy / name).write_bytes(self._kept(inner))

    def _kept(self, key: str) -> bytes:
        """Of something that was never synchronised itself, nothing."""
        file = self._durable / key
        return file.read_bytes() if file.is_file() else b""
