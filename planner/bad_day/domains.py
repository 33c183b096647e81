"""Reserves ROS domains that no other run on this machine uses."""

from __future__ import annotations

import fcntl
import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planner.ros.domain_lock import DomainLock
from planner.world.errors import PlannerError

# Higher domains collide with the ephemeral ports of Linux.
_DOMAINS = range(1, 102)
# Least recently used first, so that peers have forgotten participants killed there.
_NEXT = itertools.count(os.getpid())


@contextmanager
def reserve_domain() -> Iterator[int]:
    """Reserves a domain for the `with` block; integration tests use the same locks.

    Raises:
        PlannerError: if all are reserved.
    """
    folder = Path(tempfile.gettempdir()) / "planner-ros-domains"
    folder.mkdir(mode=0o777, exist_ok=True)
    for _ in _DOMAINS:
        number = _DOMAINS[next(_NEXT) % len(_DOMAINS)]
        with (folder / str(number)).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A bridge started without such a lock may be running in it.
                DomainLock(number).close()
            except (BlockingIOError, PlannerError):
                continue
            yield number
            return
    raise PlannerError(f"all ROS domains are in use; see {folder}")
