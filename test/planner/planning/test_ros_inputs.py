"""What a planner takes for the world of now, of messages that come in any order."""

from __future__ import annotations

from typing import Any

import pytest
from planner_msgs.msg import WorldGraph, WorldGraphNode

from planner.planning.ros_inputs import RosInputs
from planner.world.house import House


def graph(stamp_s: int) -> Any:
    message = WorldGraph(nodes=[WorldGraphNode(name="agent_0", kind=WorldGraphNode.KIND_AGENT)])
    message.header.stamp.sec = stamp_s
    return message


@pytest.fixture
def inputs(small_house: House) -> RosInputs:
    made = RosInputs()
    made.set_house(small_house.layout)
    assert not made.ready
    return made


def test_what_was_believed_of_the_world_before_is_not_acted_on(inputs: RosInputs) -> None:
    inputs.set_graph(graph(190))
    assert inputs.ready
    inputs.begin_world(0.0)
    assert not inputs.ready
    inputs.set_graph(graph(191))
    assert not inputs.ready
    inputs.set_graph(graph(0))
    assert inputs.ready


def test_a_memory_that_was_faster_than_the_news_of_its_world_is_believed(inputs: RosInputs) -> None:
    inputs.set_graph(graph(190))
    inputs.set_graph(graph(1))
    inputs.begin_world(0.0)
    assert inputs.ready


def test_the_first_news_of_a_world_that_has_run_for_long_changes_nothing(inputs: RosInputs) -> None:
    inputs.begin_world(0.0)
    inputs.set_graph(graph(3600))
    assert inputs.ready
