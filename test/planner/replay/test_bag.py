"""Opening a bag: in use, cut short, read-only; what it says of itself; sizes nobody may believe."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
from pathlib import Path

import lz4.frame
import pytest
import zstandard
from mcap.writer import CompressionType
from rosbags.typesys import Stores, get_typestore

from planner.recorder.bag_writer import BagWriter, Topic
from planner.replay.bag import Bag
from planner.replay.mcap_records import MAGIC
from planner.replay.storage import UnreadableError, message_reader
from planner.world.errors import FileError

STRING = "std_msgs/msg/String"
STORE = get_typestore(Stores.ROS2_HUMBLE)
WORDS = Topic("/words", STRING, "string data\n", "")


def word(text: str) -> bytes:
    return bytes(STORE.serialize_cdr(STORE.types[STRING](text), STRING))


def words(bag: Bag) -> list[str]:
    return [message.content.data for message in bag.messages()]


def content_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {f.name: (f.read_bytes(), f.stat().st_mtime_ns) for f in folder.iterdir()}


def test_a_bag_in_use_is_read_as_far_as_it_goes_and_left_alone(tmp_path) -> None:
    folder = tmp_path / "bag"
    writer = BagWriter(folder)
    topic = writer.add_topic(WORDS)
    for i in range(10):
        writer.write(topic, i + 1, i + 1, word(str(i)))
        writer.flush()
        before = content_of(folder)
        bag = Bag(folder)
        assert (bag.is_open, bag.cut_short, bag.end_ns) == (True, True, i + 1)
        assert words(bag) == [str(n) for n in range(i + 1)]
        assert content_of(folder) == before
    # As a recorder leaves it that is killed now.
    shutil.copytree(folder, tmp_path / "killed")
    writer.close()
    killed, closed = Bag(tmp_path / "killed"), Bag(folder)
    assert (killed.is_open, killed.cut_short, len(words(killed))) == (False, True, 10)
    assert (closed.is_open, closed.cut_short, len(words(closed))) == (False, False, 10)
    assert {file.name for file in tmp_path.iterdir()} == {"bag", "killed"}


def test_reading_lets_a_recorder_have_its_lock(tmp_path) -> None:
    folder = tmp_path / "bag"
    BagWriter(folder).close()
    bag = Bag(folder)
    with next(folder.glob("*.mcap")).open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert words(bag) == []


def test_a_read_only_bag_is_read(film) -> None:
    folder = film.solved().everything().cut()
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert len(list(Bag(folder).raw(("/world/state",)))) == len(film.states)
    finally:
        folder.chmod(0o755)


@pytest.mark.slow
def test_a_bag_that_is_cut_at_any_byte_is_read_up_to_there(messages, tmp_path) -> None:
    bag = messages.bag(tmp_path / "whole", chunk_size=200, compression=CompressionType.NONE)
    bag.channel("/words", STRING, "string data\n")
    for i in range(20):
        bag.put("/words", word(str(i)), i + 1)
    path = next(bag.close().glob("*.mcap"))
    data = path.read_bytes()
    cut = tmp_path / "cut"
    cut.mkdir()
    # Up to there, not even its header is whole.
    header = len(MAGIC) + 9 + struct.unpack_from("<Q", data, len(MAGIC) + 1)[0]
    for length in range(header):
        (cut / "cut_0.mcap").write_bytes(data[:length])
        with pytest.raises(FileError, match="is no MCAP file"):
            Bag(cut)
    last = 0
    for length in range(header, len(data), 7):
        (cut / "cut_0.mcap").write_bytes(data[:length])
        opened = Bag(cut)
        found = words(opened)
        assert opened.cut_short
        assert found == [str(i) for i in range(len(found))]
        assert len(found) >= last
        last = len(found)
    assert last == 20


def test_what_a_bag_says_of_itself(film) -> None:
    bag = Bag(film.solved().everything().close())
    count = len(film.states) + 6
    assert (bag.start_ns, bag.end_ns, bag.message_count) == (1, count, count)
    info = bag.topics["/world/state"]
    assert (info.type_name, info.count) == ("planner_msgs/msg/WorldState", len(film.states))
    assert "uint64 sim_step" in info.definition
    assert bag.metadata == {"planner.recording": {"version": "1"}}
    assert set(bag.attachments()) == {"house.json", "episode.json"}
    assert bag.world_info is not None
    assert (bag.world_info.house, bag.world_info.agents) == ("small", ("agent_0",))
    assert [m.sequence for m in bag.raw(("/world/state",))] == [1, 2, 3]
    assert bag.type_of("/none") is None


@pytest.mark.slow
def test_part_of_a_time(film) -> None:
    bag = Bag(film.solved().everything(chunk_size=100).close())
    times = [m.received_ns for m in bag.raw()]
    for start in range(12):
        for end in (None, *range(12)):
            inside = [t for t in times if start <= t and (end is None or t < end)]
            assert [m.received_ns for m in bag.raw(start_ns=start, end_ns=end)] == inside
            assert [m.received_ns for m in bag.messages(start_ns=start, end_ns=end)] == inside


def test_stamps_that_are_the_same_or_go_back(messages, tmp_path) -> None:
    bag = messages.bag(tmp_path / "bag", chunk_size=60)
    bag.channel("/words", STRING, "string data\n")
    for text, time_ns in (("a", 7), ("b", 7), ("c", 3), ("d", 5), ("e", 0)):
        bag.put("/words", word(text), time_ns=time_ns + 1)
    opened = Bag(bag.close())
    assert words(opened) == ["a", "b", "c", "d", "e"]
    assert (opened.start_ns, opened.end_ns) == (1, 8)


def record(opcode: int, content: bytes, length: int | None = None) -> bytes:
    return struct.pack("<BQ", opcode, len(content) if length is None else length) + content


HEADER = MAGIC + record(1, struct.pack("<I4sI7s", 4, b"ros2", 7, b"planner"))
FOOTER = record(2, struct.pack("<QQI", 0, 0, 0)) + MAGIC


def chunk(size: int, data: bytes, compression: bytes = b"lz4", claimed: int | None = None) -> bytes:
    head = struct.pack("<QQQII", 0, 9, size, 0, len(compression)) + compression
    return record(6, head + struct.pack("<Q", len(data) if claimed is None else claimed) + data)


SIZES = {
    "a record of 2^60 bytes": (record(5, b"", 1 << 60), "cut off at byte"),
    "a record of 2^64 - 1 bytes": (record(5, b"", (1 << 64) - 1), "cut off at byte"),
    "a chunk that says 2^60 bytes": (
        chunk(1 << 60, b"abc"),
        "a chunk of 1152921504606846976 bytes",
    ),
    "a chunk of more than it says": (
        chunk(100, lz4.frame.compress(bytes(1 << 20))),
        "does not unpack to the 100 bytes",
    ),
    "a chunk of less than it says": (
        chunk(1000, lz4.frame.compress(bytes(100))),
        "does not unpack to the 1000 bytes",
    ),
    "a chunk of 255 MB in a few bytes": (chunk(255 << 20, b"abc"), "cannot be packed in 3"),
    "a chunk that is longer than it is": (chunk(10, b"abc", claimed=1 << 60), "as long as it says"),
    "a name of 4 GB": (record(6, struct.pack("<QQQII", 0, 0, 0, 0, 0xFFFFFFFF)), "too short"),
    "another compression": (chunk(3, b"abc", b"brotli"), "'brotli'"),
    "no lz4": (chunk(30, b"abcdefghij" * 3), "cannot be unpacked"),
    "no zstd": (chunk(3, b"abc", b"zstd"), "cannot be unpacked"),
    "a message of nothing": (record(5, b"abc"), "a message is cut off"),
    "a chunk with half a record": (chunk(5, b"\5abcd", b""), "a record in a chunk is cut off"),
    "more than records of nothing": (
        chunk(9 * 200_000, lz4.frame.compress(record(0x80, b"") * 200_000)),
        "more than 131072 records besides messages",
    ),
    "zeros": (bytes(1000), "there is no record"),
    "a channel of nothing": (record(4, b""), "a record Channel is damaged"),
    "a schema of 4 GB": (record(3, struct.pack("<HI", 1, 0xFFFFFFFF) + b"x"), "Schema is damaged"),
}


@pytest.mark.parametrize("case", SIZES)
def test_sizes_are_not_believed(tmp_path, case) -> None:
    content, reason = SIZES[case]
    bag = tmp_path / "bag"
    bag.mkdir()
    path = bag / "bag_0.mcap"
    path.write_bytes(HEADER + content + FOOTER)
    with pytest.raises(FileError, match=reason) as error:
        list(Bag(bag).raw())
    assert str(path) in str(error.value)
    # Of a bag that was not closed, all before it counts.
    path.write_bytes(HEADER + content)
    assert list(Bag(bag).raw()) == []


def test_a_small_file_of_endless_messages(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("planner.replay.mcap_file._MAX_UNPACKED_BYTES", 1 << 20)
    blank = record(5, bytes((1 << 20) - 9))
    packed = chunk(len(blank), zstandard.ZstdCompressor().compress(blank), b"zstd")
    bag = tmp_path / "bag"
    bag.mkdir()
    (bag / "bag_0.mcap").write_bytes(HEADER + packed * 3 + FOOTER)
    with pytest.raises(FileError, match="bytes, too many for its size"):
        Bag(bag)


def test_a_summary_that_points_nowhere(film) -> None:
    folder = film.solved().everything(compression=CompressionType.NONE).close()
    path = next(folder.glob("*.mcap"))
    data = path.read_bytes()
    for start in (3, len(data) - 10, 1 << 60):
        path.write_bytes(data[:-28] + struct.pack("<Q", start) + data[-20:])
        with pytest.raises(FileError, match="summary"):
            Bag(folder)


def test_a_check_sum_that_differs(film) -> None:
    folder = film.solved().everything(compression=CompressionType.NONE, enable_crcs=True).close()
    path = next(folder.glob("*.mcap"))
    data = path.read_bytes()
    assert len(list(Bag(folder).raw())) > 0
    at = data.index(b"put both on the table")
    path.write_bytes(data[:at] + b"P" + data[at + 1 :])
    with pytest.raises(FileError, match="another check sum"):
        list(Bag(folder).raw())


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "it is empty"), (MAGIC, "it has no header"), (b"garbage" * 9, "does not begin as one")],
)
def test_what_is_no_bag(tmp_path, data, reason) -> None:
    bag = tmp_path / "bag"
    bag.mkdir()
    (bag / "bag_0.mcap").write_bytes(data)
    with pytest.raises(FileError, match=reason):
        Bag(bag)


def test_only_regular_files_are_opened(tmp_path) -> None:
    bag = tmp_path / "bag"
    bag.mkdir()
    os.mkfifo(bag / "bag_0.mcap")
    (bag / "bag_1.mcap").mkdir()
    (bag / "bag_2.mcap").symlink_to("/dev/zero")
    with pytest.raises(FileError, match="has no bag files"):
        Bag(bag)
    with pytest.raises(FileError, match="is not a bag's folder"):
        Bag(tmp_path / "nowhere")


DEFINITIONS = {
    "code for a name": ("x_msgs/msg/X'), __import__('os').abort(), ('", "string data\n"),
    "a path for a name": ("../../etc/passwd", "string data\n"),
    "lines in a name": ("x_msgs/msg/X\nstring b", "string data\n"),
    "no language": ("x_msgs/msg/X", "import os; os.abort()\n"),
    "a default that is code": (
        "x_msgs/msg/X",
        "string NAME='\\'+__import__(\"os\").abort()+\\''\n",
    ),
    "itself in itself": ("x_msgs/msg/X", "x_msgs/X[1] x\n"),
    "a type that is missing": ("x_msgs/msg/X", "y_msgs/Y y\n"),
    "endless texts": ("x_msgs/msg/X", "string[1000000000] a\n"),
    "arrays of nothing": ("x_msgs/msg/X", "uint8[0] a\n"),
    "arrays of less": ("x_msgs/msg/X", "uint8[-4] a\n"),
    "a long text": ("x_msgs/msg/X", "uint8 a\n" * 100_000),
    "one field twice": ("x_msgs/msg/X", "uint8 a\nuint8 a\n"),
    "a number of a million digits": ("x_msgs/msg/X", f"uint8[{'9' * 100_000}] a\n"),
    "nothing": ("x_msgs/msg/X", ""),
}


@pytest.mark.parametrize("case", DEFINITIONS)
def test_definitions_are_not_trusted(case) -> None:
    with pytest.raises(UnreadableError) as error:
        message_reader(*DEFINITIONS[case])(b"\0\1\0\0" + bytes(100))
    assert len(str(error.value)) < 600


def test_a_field_may_be_called_as_python_calls_something(messages, tmp_path) -> None:
    bag = messages.bag(tmp_path / "bag")
    bag.channel("/odd", "x_msgs/msg/X", "uint8 class\nuint8 self\nuint8 None\n")
    bag.put("/odd", b"\0\1\0\0\1\2\3")
    (message,) = Bag(bag.close()).messages()
    assert message.content.self == 2


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\1\0\0", b"\7\7\0\0\1\0\0\0", b"\0\1\0\0\xff\xff\xff\xff", b"\0\1\0\0\2\0\0\0\xff\0"],
)
def test_data_that_are_no_message(messages, tmp_path, data) -> None:
    bag = messages.bag(tmp_path / "bag")
    bag.channel("/words", STRING, "string data\n")
    opened = Bag(bag.put("/words", data).close())
    with pytest.raises(FileError, match=f"/words: is not a {STRING}"):
        words(opened)
    with pytest.raises(ValueError, match=f"/words: is not a {STRING}"):
        next(opened.raw()).content()
