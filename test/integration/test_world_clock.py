"""A clock that is polled costs its node nothing while nobody asks for the time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bridge_harness import Client
from rosgraph_msgs.msg import Clock

from planner.ros import qos
from planner.ros.conversions import time_message
from planner.ros.subscriptions import PolledGroup, WorldClock


@pytest.fixture
def sender() -> Iterator[Client]:
    made = Client("sender")
    yield made
    made.close()


def test_unread_time_does_not_wake_the_node(
    client: Client, sender: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = WorldClock(client.node)
    publisher = sender.node.create_publisher(Clock, "/clock", qos.CLOCK)

    def came() -> bool:
        publisher.publish(Clock(clock=time_message(5.0)))
        return clock.now_s == 5.0

    sender.wait(came, "the time")
    publisher.publish(Clock(clock=time_message(6.0)))
    sender.idle(0.3)

    # The executor asks the group about each of its entities before each wait.
    asked: list[object] = []
    can_execute = PolledGroup.can_execute

    def counted(group: PolledGroup, entity: object) -> bool:
        asked.append(entity)
        return can_execute(group, entity)

    monkeypatch.setattr(PolledGroup, "can_execute", counted)
    client.executor.spin_once(timeout_sec=0.3)
    assert 1 <= len(asked) < 20
    assert clock.now_s == 6.0
