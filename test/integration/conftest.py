"""A ROS domain of its own for each test process, so that no two runs hear each other."""

import fcntl
import os
import tempfile
from pathlib import Path
from typing import TextIO

import pytest

# Domains above these collide with the ports that Linux hands out to other programs.
DOMAINS = range(1, 102)

# Files of the longest tests, in this order before all others: none is left over at the end, when
# the other processes have nothing to do any more.
LONGEST = (
    "test_faults.py",
    "test_task_planner.py",
    "test_bridge_robustness.py",
    "test_same_without_ros.py",
    "test_documented_commands.py",
)

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; those in other folders stay where they are."""

    def rank(item: pytest.Item) -> int:
        here = item.path.parent == Path(__file__).parent
        return LONGEST.index(item.path.name) if here and item.path.name in LONGEST else len(LONGEST)

    items.sort(key=rank)
