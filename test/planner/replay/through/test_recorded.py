"""The order of events, parts of a bag, and messages that are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from stage import head, new, result_fields, world_message

from planner.recorder.bag_writer import BagWriter, Topic
from planner.replay.bag import Bag
from planner.replay.states import STATES
from planner.replay.through.recorded import (
    JUDGEMENTS,
    RESULTS,
    Recorded,
    SkillEnded,
    StateReceived,
)
from planner.world.errors import FileError
from planner.world.skill import SkillResult
from planner.world.state import StateUpdate, WorldState

SECOND = 1_000_000_000


def result(number: int) -> object:
    return new(
        "planner_msgs/msg/SkillReport",
        header=head(float(number)),
        agent="agent_0",
        call="Wait[]",
        code=0,
        text="",
        **result_fields(SkillResult.success()),
    )


def state(number: int) -> object:
    state = WorldState(float(number), number, number, "small", "small", {})
    return world_message(StateUpdate(state, sequence=number))


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Bag]:
    """A bag of (topic, time of receipt in seconds, number)."""
    from stage import STORE

    kinds = {
        STATES: ("planner_msgs/msg/WorldState", state),
        RESULTS: ("planner_msgs/msg/SkillReport", result),
    }

    def make(*messages: tuple[str, float, int], close: bool = True) -> Bag:
        writer, topics = BagWriter(tmp_path / "bag"), {}
        for topic, received_s, number in messages:
            type_name, build = kinds[topic]
            if topic not in topics:
                text = STORE.generate_msgdef(type_name, ros_version=2)[0]
                topics[topic] = writer.add_topic(Topic(topic, type_name, text, ""))
            data = bytes(STORE.serialize_cdr(build(number), type_name))
            at_ns = round(received_s * SECOND)
            writer.write(topics[topic], at_ns, at_ns, data)
        if close:
            writer.close()
        else:
            writer.flush()
        return Bag(tmp_path / "bag")

    return make


def told(bag: Bag, **part: float) -> list[str]:
    words = []
    for event in Recorded(bag, **part).events((STATES, RESULTS)):
        if isinstance(event, StateReceived):
            words.append(f"state {event.state.step}")
        elif isinstance(event, SkillEnded):
            words.append(f"result {event.ended_s:g}")
    return words


def test_topics_are_merged_by_their_times_of_receipt(write: Callable[..., Bag]) -> None:
    bag = write((STATES, 1, 1), (STATES, 3, 3), (STATES, 5, 5), (RESULTS, 2, 2), (RESULTS, 4, 4))
    assert told(bag) == ["state 1", "result 2", "state 3", "result 4", "state 5"]


def test_one_topic_keeps_its_own_order(write: Callable[..., Bag]) -> None:
    # The second was sent again: it was received after the third, and handed out before.
    bag = write((STATES, 1, 1), (STATES, 4, 2), (STATES, 3, 3), (RESULTS, 3.5, 9))
    assert told(bag) == ["state 1", "result 9", "state 2", "state 3"]


def test_a_part_begins_with_what_stands(write: Callable[..., Bag]) -> None:
    bag = write(*((STATES, n, n) for n in range(10)), *((RESULTS, n, n) for n in range(10)))
    assert told(bag, start_s=4.5, duration_s=2.0) == [
        "state 4",
        "state 5",
        "result 5",
        "state 6",
        "result 6",
    ]


def test_an_open_bag_is_read_as_far_as_it_goes(write: Callable[..., Bag]) -> None:
    bag = write((STATES, 1, 1), (RESULTS, 2, 2), close=False)
    assert bag.cut_short
    assert told(bag) == ["state 1", "result 2"]


def test_a_message_that_is_none_names_its_topic(tmp_path: Path, messages, film) -> None:
    bad = messages.skill("agent_0", "Fly[cup_0]", 1.0)
    bag = Bag(film.bag("bad", ("/skills/results", bad), live=False))
    with pytest.raises(FileError, match="/skills/results: there is no skill 'Fly'"):
        list(Recorded(bag).events((RESULTS,)))
    assert list(Recorded(bag).events((JUDGEMENTS,))) == []
