"""ROS domains that no other run of this machine uses, each for one run."""

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

# Domains above these collide with the ports that Linux hands out to other programs.
_DOMAINS = range(1, 102)
# Who takes one tries those first that were used longest ago: what was killed there is forgotten.
_NEXT = itertools.count(os.getpid())


@contextmanager
def own_domain() -> Iterator[int]:
    """A domain held for as long as the `with` lasts; tests with nodes heed the same locks.

    Raises:
        PlannerError: where all are held.
    """
    folder = Path(tempfile.gettempdir()) / "planner-ros-domains"
    folder.mkdir(mode=0o777, exist_ok=True)
    for _ in _DOMAINS:
        number = _DOMAINS[next(_NEXT) % len(_DOMAINS)]
        with (folder / str(number)).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Somebody may run a bridge in it who knows of no such locks.
                DomainLock(number).close()
            except (BlockingIOError, PlannerError):
                continue
            yield number
            return
    raise PlannerError(f"all ROS domains are in use; see {folder}")
