"""How much of a busy machine the process of a robot's bridge gets."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

# The best that Linux knows.
MIN_NICE = -20
SWITCH_INTERVAL_S = 0.001
_THREADS = Path("/proc/self/task")


def raise_priority(nice: int) -> str:
    """Gives every thread of this process a nice value of `nice` at most.

    Linux keeps the value per thread; threads and processes that are started later inherit it.

    So does the interpreter's switch interval: a thread that wakes for a stop waits that long at
    most for one that computes.

    Returns:
        Why the system does not allow it, and what would; empty where it was done.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    for thread in sorted(int(each.name) for each in _THREADS.iterdir()):
        # A thread may end meanwhile.
        with contextlib.suppress(ProcessLookupError):
            if os.getpriority(os.PRIO_PROCESS, thread) <= nice:
                continue
            try:
                os.setpriority(os.PRIO_PROCESS, thread, nice)
            except PermissionError:
                return (
                    f"this user may not set a nice value of {nice}, so a stop may be late while "
                    f"other programs are busy; allow it in /etc/security/limits.conf: "
                    f"USER - nice {nice}"
                )
    return ""
