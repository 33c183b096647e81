"""The sign of life of a supervisor, and the exit statuses by which it tells ends apart."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Mapping
from functools import cache

from planner.world.errors import PlannerError

# Of the environment: a file with the time, on the monotonic clock of this machine.
VARIABLE = "PLANNER_SUPERVISOR"
# Wall seconds between two signs of life, and after which without one it counts as silent.
PERIOD_S, SILENT_AFTER_S = 0.5, 3.0
_TIME = struct.Struct("d")


class Pulse:
    """The supervisor's side; close it in the end."""

    def __init__(self) -> None:
        """Begins with a sign of life."""
        self._file = os.memfd_create("planner-supervisor")
        self.environment: Mapping[str, str] = {
            VARIABLE: f"/proc/{os.getpid()}/fd/{self._file}",
        }
        self.beat()

    def beat(self) -> None:
        """Gives a sign of life."""
        os.pwrite(self._file, _TIME.pack(time.monotonic()), 0)

    def close(self) -> None:
        """Ends it; what reads it still can."""
        os.close(self._file)


def supervisor_is_silent() -> bool:
    """Whether this process has a supervisor of which nothing was heard for `SILENT_AFTER_S`.

    Raises:
        PlannerError: if its sign of life cannot be read.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return False
    (beat_s,) = _TIME.unpack(os.pread(_opened(path), _TIME.size, 0))
    return bool(time.monotonic() - beat_s > SILENT_AFTER_S)


@cache
def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise PlannerError(f"{VARIABLE}: {path}: {error.strerror}") from None


# Exit statuses shared by all processes, by which a supervisor tells ends apart.

EXIT_OK = 0
EXIT_FAILED = 1
# A wrong argument, as in argparse.
EXIT_USAGE = 2
# As shells report Ctrl-C.
EXIT_INTERRUPTED = 130
# A configuration error that no restart can fix: a wrong file, a second bridge in the domain.
# The number is EX_CONFIG of sysexits.h. The supervisor does not restart such a process.
EXIT_CONFIGURATION = 78
