"""Messages whose receipt no clock can have told: said and left out, by every tool."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.writer import CompressionType
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from planner.cli import main
from planner.replay import bag as bag_module
from planner.replay.bag import Bag, impossible_text
from planner.replay.recover import recover
from planner.replay.storage import MAX_TIME_NS

STRING = "std_msgs/msg/String"
ROS2 = get_typestore(Stores.ROS2_HUMBLE)
FORMS = {
    "chunks": {"compression": CompressionType.ZSTD, "chunk_size": 300},
    "no chunks": {"use_chunking": False},
    "no summary": {"use_statistics": False, "repeat_channels": False},
}


def words(text: str) -> bytes:
    return bytes(ROS2.serialize_cdr(ROS2.types[STRING](text), STRING))


def recorded(messages, folder: Path, times_ns: list[int], **form) -> Path:
    bag = messages.bag(folder, **form)
    bag.channel("/words", STRING, "string data\n")
    for number, time_ns in enumerate(times_ns):
        bag.writer.add_message(1, time_ns, words(str(number)), time_ns, number)
    return bag.close()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_they_are_left_out_and_counted(messages, tmp_path, caplog, form) -> None:
    bag_module._warn.cache_clear()
    times_ns = [10, 2**63, 11, 2**64 - 1, MAX_TIME_NS, 12]
    folder = recorded(messages, tmp_path / "bag", times_ns, **form)
    with caplog.at_level(logging.WARNING):
        found = Bag(folder)
        Bag(folder)
    assert found.impossible == {"/words": 2}
    assert [m.received_ns for m in found.raw()] == [10, 11, MAX_TIME_NS, 12]
    assert [m.content.data for m in found.messages()] == ["0", "2", "4", "5"]
    assert (found.start_ns, found.end_ns, found.message_count) == (10, MAX_TIME_NS, 4)
    text = "2 messages with an impossible time are left out: /words (2)"
    assert impossible_text(found.impossible) == text
    assert [record.getMessage() for record in caplog.records] == [f"{folder}: {text}"]


def test_an_impossible_time_of_publication_is_not_used(messages, tmp_path) -> None:
    bag = messages.bag(tmp_path / "bag")
    bag.channel("/words", STRING, "string data\n")
    bag.writer.add_message(1, 5, words("a"), 2**63, 0)
    (found,) = Bag(bag.close()).raw()
    assert (found.received_ns, found.published_ns) == (5, 5)


def test_a_data_base_with_times_before_0(tmp_path) -> None:
    folder = tmp_path / "bag"
    with Writer(folder, version=8, storage_plugin=StoragePlugin.SQLITE3) as writer:
        topic = writer.add_connection("/words", STRING, typestore=ROS2)
        for number in range(1, 5):
            writer.write(topic, number, words(str(number)))
    (folder / "metadata.yaml").unlink()
    with sqlite3.connect(next(folder.glob("*.db3"))) as base:
        base.execute("UPDATE messages SET timestamp = ? WHERE timestamp = 2", [-(2**63)])
    found = Bag(folder)
    assert found.impossible == {"/words": 1}
    assert [m.received_ns for m in found.raw()] == [1, 3, 4]
    assert (found.start_ns, found.end_ns) == (1, 4)


def test_the_tools_say_it(film, messages, capsys, tmp_path) -> None:
    bag_module._warn.cache_clear()
    film.solved()
    whole = Bag(film.bag("bag"))
    copy = messages.bag(tmp_path / "hostile")
    for topic in whole.topics.values():
        copy.channel(topic.name, topic.type_name, topic.definition)
    every = list(whole.raw())
    for message in every:
        copy.put(message.topic, message.data, message.sequence, message.received_ns)
    copy.put(every[-1].topic, every[-1].data, every[-1].sequence, 2**63)
    hostile = copy.close()
    assert main(["report", str(hostile), "-o", str(tmp_path / "report")]) == 0
    page = next((tmp_path / "report").glob("*.html")).read_text("utf-8")
    text = f"1 message with an impossible time is left out: {every[-1].topic} (1)"
    assert text in page
    main(["evaluate", str(hostile)])
    assert "Traceback" not in capsys.readouterr().err


def test_a_recovered_bag_has_none(messages, tmp_path) -> None:
    folder = recorded(messages, tmp_path / "bag", [10, 2**63, 11])
    kept = recover(folder, tmp_path / "new")
    assert (kept.messages, kept.damaged, kept.end_ns) == (2, 1, 11)
    assert Bag(kept.folder).impossible == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(2**63 - 2, 2**63 + 2), max_size=6))
def test_all_times_are_read_or_counted(messages, tmp_path_factory, times_ns: list[int]) -> None:
    folder = recorded(messages, tmp_path_factory.mktemp("bags") / "bag", times_ns)
    found = Bag(folder)
    possible = [time_ns for time_ns in times_ns if time_ns <= MAX_TIME_NS]
    assert [m.received_ns for m in found.raw()] == possible
    assert sum(found.impossible.values()) == len(times_ns) - len(possible)
    assert (found.start_ns, found.end_ns) == (min(possible, default=0), max(possible, default=0))
