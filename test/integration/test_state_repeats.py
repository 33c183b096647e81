"""`/world/state` sends a state again that a reader has not acknowledged."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from planner_msgs.msg import WorldState as WorldMessage

from planner.world.state import WorldState
from sim_bridge.world_state import node as topic

START = WorldState(stamp_s=1.0, step=30, revision=1, house="h", episode_id="e", entities={})


class Channel:
    """A publisher with one reader, which acknowledges where the test says so."""

    def __init__(self, *_: object) -> None:
        self.sent: list[WorldMessage] = []
        self.acknowledges = True
        self.has_subscribers, self.has_new_subscribers = True, False

    def publish(self, message: WorldMessage) -> bool:
        self.sent.append(message)
        return True

    def wait_for_acks(self, limit_s: float) -> bool:
        assert limit_s == 0.0
        return self.acknowledges


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The topic at a first change after the start, and what is behind it."""
    channel = Channel()
    monkeypatch.setattr(topic, "SafePublisher", lambda *_: channel)
    runtime = SimpleNamespace(state=START)
    runtime.world_state = lambda: runtime.state
    states = topic.WorldStateTopic(None, runtime, Counter())  # type: ignore[arg-type]
    states.begin()
    runtime.state = replace(START, stamp_s=3.0, step=90, revision=2)
    states.publish()
    assert [m.keyframe for m in channel.sent] == [True, True]
    channel.sent.clear()
    return SimpleNamespace(states=states, channel=channel, runtime=runtime)


def test_a_state_that_was_not_acknowledged_is_repeated_a_few_times(world: Any) -> None:
    world.channel.acknowledges = False
    sent_s = time.monotonic()
    world.states.keep_readable(sent_s)
    assert world.channel.sent == []
    for later in range(1, 2 * topic.MAX_REPEATS):
        world.states.keep_readable(sent_s + later * 2 * topic.ACKNOWLEDGE_WAIT_S)
    found = [(m.sim_step, m.keyframe, m.sequence) for m in world.channel.sent]
    assert found == [(90, True, 2)] * topic.MAX_REPEATS


def test_an_acknowledged_state_is_not_repeated(world: Any) -> None:
    sent_s = time.monotonic()
    world.states.keep_readable(sent_s + 2 * topic.ACKNOWLEDGE_WAIT_S)
    # Once acknowledged by all: whoever joins later gets it as a late joiner.
    world.channel.acknowledges = False
    world.states.keep_readable(sent_s + 4 * topic.ACKNOWLEDGE_WAIT_S)
    assert world.channel.sent == []


def test_the_next_state_is_again_repeated(world: Any) -> None:
    world.states.keep_readable(time.monotonic() + 2 * topic.ACKNOWLEDGE_WAIT_S)
    world.runtime.state = replace(START, stamp_s=5.0, step=150, revision=3)
    world.states.publish()
    world.channel.acknowledges = False
    world.states.keep_readable(time.monotonic() + 2 * topic.ACKNOWLEDGE_WAIT_S)
    assert [(m.sim_step, m.sequence) for m in world.channel.sent] == [(150, 3), (150, 3)]


def test_a_new_reader_gets_the_state_again_until_it_has_it(world: Any) -> None:
    world.states.keep_readable(time.monotonic())
    world.channel.acknowledges, world.channel.has_new_subscribers = True, False
    world.states.keep_readable(time.monotonic() + 2 * topic.ACKNOWLEDGE_WAIT_S)
    assert world.channel.sent == []
    world.channel.acknowledges, world.channel.has_new_subscribers = False, True
    world.states.publish()
    world.channel.has_new_subscribers = False
    world.states.keep_readable(time.monotonic() + 2 * topic.ACKNOWLEDGE_WAIT_S)
    assert [(m.sim_step, m.keyframe) for m in world.channel.sent] == [(90, True), (90, True)]
