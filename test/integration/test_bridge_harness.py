"""What the tests of nodes stand on."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from bridge_harness import Client
from planner_msgs.action import FollowInstruction
from planner_msgs.msg import WorldGraph
from rclpy.action import ActionClient


def sockets() -> int:
    """How many this process has; each participant has some of its own."""
    return sum(fd.is_socket() for fd in Path("/proc/self/fd").iterdir())


def test_a_closed_client_leaves_the_domain_at_once() -> None:
    """Not when it happens to be collected: until then it would be one more in the graph."""
    Client().close()
    gc.collect()
    gc.disable()
    try:
        before = sockets()
        client = Client()
        client.listen(WorldGraph, "/world_graph")
        ActionClient(client.node, FollowInstruction, "/instruct")
        assert sockets() > before
        client.close()
        assert sockets() == before
    finally:
        gc.enable()


@pytest.mark.parametrize("_number", [1, 2])
def test_each_test_has_a_domain_of_its_own(_number: int) -> None:
    domain = os.environ["ROS_DOMAIN_ID"]
    assert domain not in _seen
    _seen.add(domain)


_seen: set[str] = set()
