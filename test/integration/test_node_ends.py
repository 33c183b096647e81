"""What a node leaves behind: nothing if it was asked to end, and what is freed if it was killed."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from bridge_harness import Client, write_world
from node_processes import running

from planner.network import free_shared_memory, unused_segments
from planner.world.episode import Episode
from planner.world.house import House

# Each participant of Fast DDS has a segment of its own.
SEGMENT = re.compile(r"/dev/shm/fastdds_[0-9a-f]{16}\b")


def segments_of(pid: int) -> set[Path]:
    """The shared memory of Fast DDS that a process has mapped."""
    return {Path(found) for found in SEGMENT.findall(Path(f"/proc/{pid}/maps").read_text())}


@pytest.mark.parametrize("name", ["skill_executor", "task_planner", "memory", "evaluator"])
def test_a_node_that_ends_leaves_no_shared_memory(
    name: str, tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    world = write_world(tmp_path, small_house, small_episode)
    client = Client()
    others = segments_of(os.getpid())
    try:
        with running(name, episode=world) as node:
            client.wait(lambda: name in client.node.get_node_names(), name)
            client.idle(1.0)  # It may be seen before it is done with its beginning.
            made = segments_of(node.pid) - others
            assert made
            assert all(segment.exists() for segment in made)
        assert not [segment for segment in made if segment.exists()]
    finally:
        client.close()


def test_the_shared_memory_of_a_run_that_was_killed_can_be_freed(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    world = write_world(tmp_path, small_house, small_episode)
    with running("memory", episode=world) as node:
        until(lambda: segments_of(node.pid))
        (made,) = segments_of(node.pid)
        assert made not in unused_segments()
        node.kill()
        node.wait()
    until(lambda: made in unused_segments())
    free_shared_memory([made])
    assert not made.exists()
    assert not made.with_name(f"{made.name}_el").exists()


def until(met: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60.0
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.1)
