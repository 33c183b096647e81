"""Scheduling priority of the bridge's process with a real robot."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

# The highest priority that Linux has.
MIN_NICE = -20
SWITCH_INTERVAL_S = 0.001
_THREADS = Path("/proc/self/task")


def raise_priority(nice: int) -> str:
    """Lowers the nice value of every thread of this process to at most `nice`.

    Linux keeps the value per thread; threads and processes started later inherit it. The
    interpreter's switch interval is shortened too: a thread that wakes for a stop waits at most
    that long for one that computes.

    Returns:
        Why the system does not allow it and what to do; empty if it was done.
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
