"""What a planner hears over ROS: worlds that begin anew, changes that come late, lockstep."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from planner_msgs.msg import Entity as EntityMessage
from planner_msgs.msg import EntityList, MemoryUpdate, Operation, WorldGraph, WorldGraphNode

from planner.planning.planner_inputs import RosInputs, is_soon
from planner.world.house import House


@pytest.mark.parametrize(("after", "joined"), [(0, True), (2, True), (1000, False)])
def test_it_waits_until_the_world_hears_the_planner_but_not_for_ever(
    after: int, joined: bool
) -> None:
    asked: list[int] = []

    def is_in_step() -> bool:
        asked.append(1)
        return len(asked) > after

    assert asyncio.run(is_soon(is_in_step, max_wait_s=0.1)) is joined
    assert len(asked) == min(after + 1, 6)


def graph(stamp_s: int, sequence: int = 0) -> Any:
    message = WorldGraph(nodes=[WorldGraphNode(name="agent_0", kind=WorldGraphNode.KIND_AGENT)])
    message.header.stamp.sec = stamp_s
    message.sequence = sequence
    return message


@pytest.fixture
def inputs(small_house: House) -> RosInputs:
    made = RosInputs()
    made.set_house(small_house.layout)
    assert not made.ready
    return made


def test_what_was_believed_of_the_world_before_is_not_acted_on(inputs: RosInputs) -> None:
    inputs.begin_world(0.0)
    inputs.set_graph(graph(190))
    assert inputs.ready
    inputs.begin_world(0.0)
    assert not inputs.ready
    inputs.set_graph(graph(191))
    assert not inputs.ready
    inputs.set_graph(graph(0))
    assert inputs.ready


def test_a_memory_that_was_faster_than_the_news_of_its_world_is_believed(inputs: RosInputs) -> None:
    inputs.begin_world(0.0)
    inputs.set_graph(graph(190))
    inputs.set_graph(graph(1))
    inputs.begin_world(0.0)
    assert inputs.ready


@pytest.mark.parametrize("is_early", [False, True])
def test_a_memory_that_begins_anew_with_the_time_of_before_is_believed(
    inputs: RosInputs, is_early: bool
) -> None:
    inputs.begin_world(0.0)
    inputs.set_graph(graph(14, sequence=9))
    for news in (False, True) if is_early else (True, False):
        if news:
            inputs.begin_world(0.0)
        else:
            inputs.set_graph(graph(14, sequence=0))
    assert inputs.ready
    inputs.set_graph(graph(20, sequence=7))
    inputs.begin_world(0.0)
    assert not inputs.ready


def test_the_first_news_of_a_world_that_has_run_for_long_changes_nothing(inputs: RosInputs) -> None:
    inputs.begin_world(0.0)
    inputs.set_graph(graph(3600))
    assert inputs.ready


def test_the_first_news_may_come_after_the_graph_of_a_world_that_has_run_for_long(
    inputs: RosInputs,
) -> None:
    inputs.set_graph(graph(3600))
    inputs.begin_world(0.0)
    assert inputs.ready


def change(sequence: int, text: str) -> Any:
    entity = EntityMessage(id=106, name="cup_0", description=text)
    operation = Operation(kind=Operation.UPDATE, entity=entity)
    return MemoryUpdate(sequence=sequence, source="privileged", operations=[operation])


def test_a_line_that_comes_after_the_graph_with_its_number_is_told_all_the_same(
    inputs: RosInputs,
) -> None:
    inputs.mend(EntityList(sequence=4, entities=[EntityMessage(id=106, description="cup")]))
    inputs.set_graph(graph(10, sequence=4))
    asked_from = inputs.belief.sequence
    inputs.set_graph(graph(11, sequence=6))
    assert inputs.lacks_changes
    assert inputs.deltas(asked_from) == []
    asked_from = inputs.belief.sequence
    inputs.update(change(5, "cup clean"))
    assert inputs.lacks_changes
    inputs.update(change(6, "cup clean with the Object.105"))
    assert not inputs.lacks_changes
    assert inputs.deltas(asked_from) == ["Update Object.106: cup clean with the Object.105"]
    assert inputs.belief.sequence == 6


@pytest.mark.parametrize("is_late", [False, True])
def test_a_line_wakes_who_waits_only_if_its_graph_came_first(
    inputs: RosInputs, is_late: bool
) -> None:
    inputs.mend(EntityList(sequence=4, entities=[EntityMessage(id=106, description="cup")]))
    inputs.set_graph(graph(10, sequence=5 if is_late else 4))

    async def woken() -> bool:
        waiting = asyncio.ensure_future(inputs.changed())
        await asyncio.sleep(0.0)
        inputs.update(change(5, "cup dirty"))
        await asyncio.sleep(0.0)
        woke = waiting.done()
        waiting.cancel()
        return woke

    assert asyncio.run(woken()) is is_late


def test_a_line_that_is_the_last_and_lost_is_made_up_from_the_list(inputs: RosInputs) -> None:
    inputs.mend(EntityList(sequence=4, entities=[EntityMessage(id=106, description="cup")]))
    inputs.set_graph(graph(10, sequence=5))
    asked_from = inputs.belief.sequence
    inputs.mend(EntityList(sequence=5, entities=[EntityMessage(id=106, description="cup dirty")]))
    assert inputs.lacks_changes
    inputs.make_up()
    assert not inputs.lacks_changes
    assert inputs.deltas(asked_from) == ["Update Object.106: cup dirty"]
    # It may come all the same.
    inputs.update(change(5, "cup dirty"))
    assert inputs.deltas(inputs.belief.sequence) == []


def test_lines_that_are_lost_are_told_once_the_whole_list_comes(inputs: RosInputs) -> None:
    inputs.mend(EntityList(sequence=4, entities=[EntityMessage(id=106, description="cup")]))
    inputs.set_graph(graph(10, sequence=4))
    asked_from = inputs.belief.sequence
    inputs.update(change(6, "cup dirty"))
    inputs.set_graph(graph(11, sequence=6))
    assert (inputs.lacks_changes, inputs.belief.sequence) == (True, asked_from)
    inputs.mend(EntityList(sequence=6, entities=[EntityMessage(id=106, description="cup dirty")]))
    assert inputs.deltas(asked_from) == ["Update Object.106: cup dirty"]
