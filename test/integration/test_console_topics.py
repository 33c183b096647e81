"""How often the console reads messages of which the newest says everything; no node is started."""

from __future__ import annotations

from typing import Any

import pytest
from nav_msgs.msg import OccupancyGrid
from planner_msgs.msg import WorldGraph, WorldState

from planner.console import node
from planner.ros.subscriptions import PolledGroup, ReceivedMessage
from planner.world import topics

KINDS = {
    topics.MAP: OccupancyGrid,
    topics.WORLD_GRAPH: WorldGraph,
    topics.WORLD_STATE: WorldState,
}


class Queue:
    """A subscription whose publisher sends whenever it is asked."""

    def __init__(self, *_: object) -> None:
        self.sent = 0

    def take(self) -> ReceivedMessage | None:
        self.sent += 1
        return ReceivedMessage(b"", 0, 0, b"", self.sent)


@pytest.mark.parametrize(
    ("name", "has_truth", "read"),
    [
        # In ten seconds, asked ten times a second.
        (topics.MAP, True, 10),
        (topics.MAP, False, 10),
        # Three at once, so that what a person has corrected is seen; then one a second.
        (topics.WORLD_GRAPH, True, 12),
        # The page draws by it where agents are.
        (topics.WORLD_GRAPH, False, 100),
        (topics.WORLD_STATE, True, 100),
    ],
)
def test_what_is_large_is_read_once_a_second(
    monkeypatch: pytest.MonkeyPatch, name: str, has_truth: bool, read: int
) -> None:
    monkeypatch.setattr(node, "PolledSubscription", Queue)
    monkeypatch.setattr(node, "reader", lambda *_topic: lambda data: data)
    nobody: Any = None
    topic = node._Topic(nobody, KINDS[name], name, nobody, PolledGroup())
    taken = [
        at_s
        for at_s in range(100)
        if topic.take(1000.0 + at_s / 10, has_truth=has_truth) is not None
    ]
    assert len(taken) == read


def test_a_quiet_time_is_not_saved_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "PolledSubscription", Queue)
    monkeypatch.setattr(node, "reader", lambda *_topic: lambda data: data)
    nobody: Any = None
    topic = node._Topic(nobody, WorldGraph, topics.WORLD_GRAPH, nobody, PolledGroup())
    assert topic.take(0.0, has_truth=True) is not None
    burst = [topic.take(1000.0, has_truth=True) for _ in range(10)]
    assert len([found for found in burst if found is not None]) == 3
