"""A ROS domain of its own for each test process, so that no two runs hear each other."""

import fcntl
import os
import tempfile
from pathlib import Path
from typing import TextIO

import pytest

# Domains above these collide with the ports that Linux hands out to other programs.
DOMAINS = range(1, 102)

_held: list[TextIO] = []


def pytest_configure(config: pytest.Config) -> None:
    """Hold a domain that no other test process on this machine holds, until this one ends."""
    folder = Path(tempfile.gettempdir()) / "planner-ros-domains"
    folder.mkdir(mode=0o777, exist_ok=True)
    for domain in DOMAINS:
        lock = (folder / str(domain)).open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        _held.append(lock)
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        return
    raise pytest.UsageError(f"all ROS domains are in use; see {folder}")
