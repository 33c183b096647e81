"""Who reads the true world from now on hears of no world that the bridge had before."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest
from bridge_harness import Client
from planner_msgs.msg import WorldState as WorldMessage

from planner.ros import qos, sightings
from planner.ros.sightings import StateMessages, TruthInput
from planner.world import topics
from planner.world.state import StateUpdate, WorldState
from sim_bridge.world_state.node import WorldStateTopic


def _state(episode: str, step: int, revision: int) -> WorldState:
    return WorldState(
        stamp_s=step / 30, step=step, revision=revision, house="h", episode_id=episode, entities={}
    )


def test_a_memory_that_starts_late_knows_only_the_present_world(client: Client) -> None:
    runtime = SimpleNamespace(state=_state("first", 0, 1))
    runtime.world_state = lambda: runtime.state
    losses: Counter[str] = Counter()
    sent = WorldStateTopic(client.node, runtime, losses)  # type: ignore[arg-type]
    everything = client.listen(WorldMessage, topics.WORLD_STATE, qos.TRUTH_INPUT)
    client.wait(lambda: client.node.count_subscribers(topics.WORLD_STATE) == 1, "a reader")
    for episode in ("first", "second", "third"):
        runtime.state = _state(episode, 0, 1)
        sent.begin()
        runtime.state = _state(episode, 90, 2)
        sent.publish()
    client.wait(lambda: [m.episode_id for m in everything][-1:] == ["third"], "three worlds")
    begun: list[WorldState] = []
    late = Client("late")
    try:
        truth = TruthInput(late.node, begun.append)

        def knows() -> bool:
            sent.publish()
            late.idle(0.05)
            return bool(begun)

        client.wait(knows, "the present world")
        runtime.state = _state("third", 120, 3)
        sent.publish()
        late.wait(lambda: truth.newest_s == 4.0, "the next state")
    finally:
        late.close()
    assert [(state.episode_id, state.stamp_s) for state in begun] == [("third", 3.0)]
    assert not losses


def test_the_last_state_is_the_present_where_nothing_more_comes(client: Client) -> None:
    """As of a bag that is played: nobody answers who joins late."""
    publisher = client.node.create_publisher(WorldMessage, topics.WORLD_STATE, qos.TRUTH)
    for number, episode in enumerate(("first", "second")):
        update = StateUpdate(_state(episode, 0, 1), sequence=number)
        publisher.publish(StateMessages().message(update))
    client.idle(0.05)
    late = Client("late")
    try:
        begun: list[WorldState] = []
        TruthInput(late.node, begun.append)
        late.wait(lambda: begun, "the last world")
    finally:
        late.close()
    assert [state.episode_id for state in begun] == ["second"]


def test_a_bridge_of_which_nothing_comes_is_subscribed_to_anew(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sightings, "_UNMATCHED_PERIODS", 1)
    # Listed, but not matched: it offers less than what is requested.
    client.node.create_publisher(WorldMessage, topics.WORLD_STATE, qos.EVENTS)
    late = Client("late")
    try:
        begun: list[WorldState] = []
        truth = TruthInput(late.node, begun.append)
        first = truth._subscription
        late.wait(lambda: truth._subscription is not first, "a new subscription")
        publisher = client.node.create_publisher(WorldMessage, topics.WORLD_STATE, qos.TRUTH)
        publisher.publish(StateMessages().message(StateUpdate(_state("one", 0, 1), sequence=1)))
        late.wait(lambda: begun, "the world")
    finally:
        late.close()
    assert [state.episode_id for state in begun] == ["one"]
