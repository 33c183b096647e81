"""Bags of `ros2 bag record`: sqlite3, MCAP, split, compressed; and bags that only look like one."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
import zstandard
from mcap.writer import CompressionType, IndexType
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from planner.cli import main
from planner.replay.bag import Bag
from planner.replay.judging import judge
from planner.replay.runs import Request
from planner.world.errors import FileError

FORMS = {
    "sqlite3": (StoragePlugin.SQLITE3, CompressionMode.NONE),
    "sqlite3, packed file": (StoragePlugin.SQLITE3, CompressionMode.FILE),
    "sqlite3, packed messages": (StoragePlugin.SQLITE3, CompressionMode.MESSAGE),
    "mcap": (StoragePlugin.MCAP, CompressionMode.NONE),
    "mcap, packed file": (StoragePlugin.MCAP, CompressionMode.FILE),
    "mcap, packed messages": (StoragePlugin.MCAP, CompressionMode.MESSAGE),
    "mcap, packed chunks": (StoragePlugin.MCAP, CompressionMode.STORAGE),
}
STRING = "std_msgs/msg/String"
ROS2 = get_typestore(Stores.ROS2_HUMBLE)


def as_recorded_by_ros2(bag: Path, out: Path, storage: StoragePlugin, mode: CompressionMode):
    """The messages of a bag as rosbag2 would keep them."""
    writer = Writer(out, version=9, storage_plugin=storage)
    writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        connections = {}
        for message in Bag(bag).raw():
            if message.topic not in connections:
                connections[message.topic] = writer.add_connection(
                    message.topic,
                    message.type_name,
                    msgdef=message.definition,
                    rihs01="RIHS01_" + "0" * 64,
                )
            writer.write(connections[message.topic], message.received_ns, message.data)
    return out


@pytest.fixture
def original(film) -> Path:
    return film.solved().everything("original").close()


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_recording_is_read_and_judged_alike(original, tmp_path, form) -> None:
    bag = as_recorded_by_ros2(original, tmp_path / "foreign", *FORMS[form])
    before = {file.name: file.read_bytes() for file in bag.iterdir()}
    ours, theirs = Bag(original), Bag(bag)
    assert (theirs.start_ns, theirs.end_ns) == (ours.start_ns, ours.end_ns)
    assert {t.name: t.count for t in theirs.topics.values()} == {
        t.name: t.count for t in ours.topics.values()
    }
    found = [(m.topic, m.received_ns, m.data, m.type_name) for m in theirs.raw()]
    assert found == [(m.topic, m.received_ns, m.data, m.type_name) for m in ours.raw()]
    some = [m.received_ns for m in theirs.raw(start_ns=ours.start_ns + 1, end_ns=ours.end_ns)]
    assert some == [m.received_ns for m in ours.raw()][1:-1]
    (judged,) = judge(bag, Request())
    assert (judged.agrees, judged.final, judged.verdict.success) == (True, True, True)
    assert {file.name: file.read_bytes() for file in bag.iterdir()} == before


def test_a_bag_in_several_files_is_one_in_the_order_of_time(film, messages, tmp_path) -> None:
    film.solved()
    count = 0
    # Ten and more: by their names alone, _10 would come before _2.
    for n in range(12):
        part = messages.bag(tmp_path / "split", name=f"split_{n}.mcap", library="rosbag2")
        if n == 0:
            part.channel("/words", STRING, "string data\n")
        state = film.states[min(n, len(film.states) - 1)]
        part.put("/world/state", messages.world(state), n + 1, time_ns=1000 + n)
        part.close()
        count += 1
    bag = Bag(tmp_path / "split")
    assert (bag.start_ns, bag.end_ns, bag.message_count) == (1000, 1000 + count - 1, count)
    assert [m.received_ns for m in bag.raw()] == [1000 + n for n in range(count)]
    assert bag.gaps("/world/state") == ()
    # A file that is missing is a gap.
    (tmp_path / "split" / "split_4.mcap").unlink()
    assert [g.missing for g in Bag(tmp_path / "split").gaps("/world/state")] == [1]
    (tmp_path / "split" / "other.db3").write_bytes(b"")
    with pytest.raises(FileError, match=r"both \.mcap and \.db3"):
        Bag(tmp_path / "split")


@pytest.mark.parametrize("compression", [CompressionType.ZSTD, CompressionType.NONE])
@pytest.mark.parametrize("chunks", [True, False])
@pytest.mark.parametrize("summary", [True, False])
def test_whatever_an_mcap_writer_omits(messages, tmp_path, compression, chunks, summary) -> None:
    parts = {} if summary else dict.fromkeys(("use_statistics", "repeat_channels"), False)
    bag = messages.bag(
        tmp_path / "bag",
        compression=compression,
        use_chunking=chunks,
        index_types=IndexType.ALL if summary else IndexType.NONE,
        repeat_schemas=summary,
        chunk_size=300,
        library="another",
        **parts,
    )
    bag.channel("/words", STRING, "string data\n")
    for n in range(50):
        bag.put("/words", bytes(ROS2.serialize_cdr(ROS2.types[STRING](str(n)), STRING)))
    bag.writer.add_metadata("note", {"key": "value"})
    bag.writer.add_attachment(1, 2, "a.txt", "text/plain", b"abc")
    found = Bag(bag.close())
    assert [m.content.data for m in found.messages(("/words",))] == [str(n) for n in range(50)]
    assert [m.received_ns for m in found.raw(start_ns=10, end_ns=12)] == [10, 11]
    assert [m.published_ns for m in found.raw(end_ns=3)] == [0, 1]
    assert (found.topics["/words"].count, found.cut_short) == (50, False)
    assert found.metadata == {"note": {"key": "value"}}
    assert found.attachments() == {"a.txt": b"abc"}


def write_words(folder: Path, definition: str | None, count: int = 3) -> Path:
    with Writer(folder, version=8, storage_plugin=StoragePlugin.SQLITE3) as writer:
        topic = writer.add_connection("/words", STRING, typestore=ROS2)
        for n in range(count):
            writer.write(topic, n + 1, ROS2.serialize_cdr(ROS2.types[STRING](str(n)), STRING))
    with sqlite3.connect(next(folder.glob("*.db3"))) as base:
        if definition is None:
            base.execute("DELETE FROM message_definitions")
        else:
            base.execute(
                "UPDATE message_definitions SET encoded_message_definition=?", [definition]
            )
    return folder


def test_a_standard_type_needs_no_definition(tmp_path) -> None:
    bag = Bag(write_words(tmp_path / "bag", None))
    assert [m.content.data for m in bag.messages()] == ["0", "1", "2"]


def test_a_definition_in_idl_is_read(tmp_path) -> None:
    text = f"{'=' * 80}\nIDL: {STRING}\nmodule std_msgs {{\n  module msg {{\n    struct String {{\n"
    text += "      string data;\n    };\n  };\n};\n"
    folder = write_words(tmp_path / "bag", text)
    with sqlite3.connect(next(folder.glob("*.db3"))) as base:
        base.execute("UPDATE message_definitions SET encoding='ros2idl'")
    bag = Bag(folder)
    assert bag.topics["/words"].definition == "string data\n"
    assert [m.content.data for m in bag.messages()] == ["0", "1", "2"]


def test_a_type_that_nobody_knows_is_one_error_and_its_bytes_are_there(messages, tmp_path) -> None:
    bag = messages.bag(tmp_path / "bag", library="another")
    bag.channel("/odd", "odd_msgs/msg/Odd", "", encoding="")
    bag.put("/odd", b"\0\1\0\0abcd").close()
    opened = Bag(tmp_path / "bag")
    assert [m.data for m in opened.raw()] == [b"\0\1\0\0abcd"]
    with pytest.raises(FileError, match="/odd: the bag has no ROS 2 definition of odd_msgs"):
        list(opened.messages())
    with pytest.raises(ValueError, match="no ROS 2 definition"):
        next(opened.raw()).content()


METADATA = {
    "version": ("  version: 10\n", "version: 10 is not supported; the newest known is 9"),
    "no version": ("  a: 1\n", "version: None is not supported"),
    "compression": ("  version: 9\n  compression_mode: magic\n", "'magic' is not known"),
    "format": (
        "  version: 9\n  compression_mode: file\n  compression_format: gzip\n",
        "compression_format: 'gzip' is not known",
    ),
    "no object": ("  - 1\n", "expected an object"),
    "no YAML": ("  a: [\n", "is not valid YAML"),
    "code": ("  a: !!python/object/apply:os.system [exit]\n", "is not valid YAML"),
    "deep": ("  a: " + "[" * 20_000 + "\n", "is not valid YAML"),
    "huge": ("  a: " + "x" * (1 << 21) + "\n", "has more than"),
    "not UTF-8": ("  a: \udcff\n", "is not valid YAML"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", METADATA)
def test_a_description_that_cannot_be_trusted(original, tmp_path, case) -> None:
    text, reason = METADATA[case]
    bag = as_recorded_by_ros2(original, tmp_path / "foreign", *FORMS["sqlite3"])
    text = f"rosbag2_bagfile_information:\n{text}"
    (bag / "metadata.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(FileError, match=reason) as error:
        Bag(bag)
    assert "metadata.yaml" in str(error.value)
    assert len(str(error.value)) < 1000


def test_paths_in_a_description_are_not_followed(original, tmp_path) -> None:
    bag = as_recorded_by_ros2(original, tmp_path / "foreign", *FORMS["sqlite3"])
    path = bag / "metadata.yaml"
    path.write_text(path.read_text().replace("foreign.db3", "../../etc/passwd"))
    assert Bag(bag).message_count == Bag(original).message_count


def test_a_file_that_unpacks_to_a_disk_full_is_refused(tmp_path) -> None:
    bag = tmp_path / "bag"
    bag.mkdir()
    packed = zstandard.ZstdCompressor().compress(bytes(64 << 20))
    (bag / "bag_0.mcap.zstd").write_bytes(packed)
    assert len(packed) * 1000 < 64 << 20
    with pytest.raises(FileError, match="unpacks to more than 1000 times its size"):
        Bag(bag)


def test_a_message_that_unpacks_to_more_than_there_may_be(original, tmp_path) -> None:
    bag = as_recorded_by_ros2(original, tmp_path / "foreign", *FORMS["sqlite3, packed messages"])
    packed = zstandard.ZstdCompressor().compress(bytes(300 << 20))
    with sqlite3.connect(bag / "foreign.db3") as base:
        base.execute("UPDATE messages SET data=? WHERE id=1", [packed])
    with pytest.raises(FileError, match="has a message that is damaged"):
        list(Bag(bag).raw())


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE messages SET data='text'",
        "UPDATE messages SET timestamp='soon'",
        "UPDATE topics SET name=x'00'",
        "DROP TABLE topics",
        "DELETE FROM schema; DROP TABLE message_definitions",
        "UPDATE message_definitions SET encoding='magic'",
        "UPDATE topics SET offered_qos_profiles='a: ['",
    ],
)
def test_a_data_base_with_other_things_in_it(original, tmp_path, change) -> None:
    bag = as_recorded_by_ros2(original, tmp_path / "foreign", *FORMS["sqlite3"])
    base = sqlite3.connect(bag / "foreign.db3")
    base.executescript(change)
    base.close()
    with pytest.raises(FileError, match=r"foreign(\.db3)?: "):
        list(Bag(bag).messages())


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0" + bytes(100), os.urandom(5000)])
def test_what_is_no_data_base(tmp_path, data) -> None:
    bag = tmp_path / "bag"
    bag.mkdir()
    (bag / "bag_0.db3").write_bytes(data)
    with pytest.raises(FileError, match=r"bag_0\.db3: cannot be read"):
        Bag(bag)


def test_a_folder_with_an_odd_name(original, tmp_path) -> None:
    bag = as_recorded_by_ros2(original, tmp_path / "foreign", *FORMS["sqlite3"])
    bag = bag.rename(tmp_path / "a?mode=rwc#b%20 c")
    assert Bag(bag).message_count == Bag(original).message_count


@pytest.mark.slow
def test_evaluate_finds_them_in_a_folder(original, tmp_path, capsys) -> None:
    runs = tmp_path / "runs"
    for n, form in enumerate(FORMS):
        as_recorded_by_ros2(original, runs / f"run_{n}", *FORMS[form])
    assert main(["evaluate", str(runs)]) == 0
    said = capsys.readouterr()
    assert (said.out.count("the same"), said.err) == (len(FORMS), "")
