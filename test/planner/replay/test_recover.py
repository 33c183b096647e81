"""Bags: written, cut off, completed, read by rosbags."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from mcap.writer import CompressionType
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

from planner.cli import main
from planner.recorder.bag_writer import BagWriter, Topic
from planner.replay.bag import CUT_SHORT, Bag, read_bag
from planner.replay.judging import judge
from planner.replay.recover import recover
from planner.replay.runs import Request
from planner.world.errors import FileError, PlannerError

STORE = get_typestore(Stores.ROS2_HUMBLE)
STRING = STORE.types["std_msgs/msg/String"]
TOPIC = Topic("/words", "std_msgs/msg/String", "string data\n", "")

WRITER = """
import sys, time
from pathlib import Path
from mcap.writer import CompressionType
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore
from planner.recorder.bag_writer import BagWriter, Topic
store = get_typestore(Stores.ROS2_HUMBLE)
String = store.types["std_msgs/msg/String"]
bag = BagWriter(Path(sys.argv[1]))
topic = bag.add_topic(Topic("/words", "std_msgs/msg/String", "string data\\n", ""))
for i in range(100000):
    data = bytes(store.serialize_cdr(String(str(i)), "std_msgs/msg/String"))
    bag.write(topic, i + 1, i + 1, data)
    if i % 50 == 49:
        bag.flush()
        print(i + 1, flush=True)
    time.sleep(0.0005)
"""


def serialised(text: str) -> bytes:
    return bytes(STORE.serialize_cdr(STRING(text), "std_msgs/msg/String"))


def words(bag: Path) -> list[str]:
    return [message.content.data for message in read_bag(bag)]


def write(bag: Path, count: int) -> BagWriter:
    writer = BagWriter(bag)
    topic = writer.add_topic(TOPIC)
    for i in range(count):
        writer.write(topic, i + 1, i + 1, serialised(str(i)))
    return writer


def test_a_closed_bag_is_read_back(tmp_path: Path) -> None:
    write(tmp_path / "bag", 7).close()
    assert not Bag(tmp_path / "bag").cut_short
    assert words(tmp_path / "bag") == [str(i) for i in range(7)]


def test_an_empty_bag_is_a_bag(tmp_path: Path) -> None:
    write(tmp_path / "bag", 0).close()
    assert words(tmp_path / "bag") == []


def test_a_writer_killed_before_its_first_flush_leaves_an_empty_bag(tmp_path: Path) -> None:
    writer = write(tmp_path / "bag", 3)
    shutil.copytree(tmp_path / "bag", tmp_path / "killed" / "bag")
    writer.close()
    assert words(tmp_path / "killed" / "bag") == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    write(tmp_path / "bag", 1).close()
    with pytest.raises(PlannerError, match="exists already"):
        BagWriter(tmp_path / "bag")


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_that_was_flushed(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(bag)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    flushed = 0
    while flushed < 200:
        flushed = int(child.stdout.readline())
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    found = words(bag)
    assert Bag(bag).cut_short
    assert len(found) >= flushed
    assert found == [str(i) for i in range(len(found))]


@pytest.mark.parametrize("share", [0.35, 0.6, 0.93])
def test_a_file_cut_anywhere_keeps_a_beginning(tmp_path: Path, share: float) -> None:
    bag = tmp_path / "bag"
    writer = BagWriter(bag)
    topic = writer.add_topic(TOPIC)
    for i in range(300):
        writer.write(topic, i + 1, i + 1, serialised(os.urandom(50).hex()))
        if i % 20 == 19:
            writer.flush()
    writer.close()
    whole = words(bag)
    path = next(bag.glob("*.mcap"))
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    recovered = recover(bag)
    kept = recovered.messages
    assert 0 < kept <= 300
    assert recovered.folder == tmp_path / "bag_recovered"
    assert words(bag) == words(recovered.folder) == whole[:kept]
    assert Bag(recovered.folder).cut_short


def test_a_bag_in_use_is_not_recovered(tmp_path: Path) -> None:
    writer = write(tmp_path / "bag", 5)
    writer.flush()
    with pytest.raises(FileError, match="is still being written"):
        recover(tmp_path / "bag")
    writer.close()
    with pytest.raises(FileError, match="is complete: there is nothing to recover"):
        recover(tmp_path / "bag")
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]


def test_recovery_keeps_what_is_beside_the_messages(film, capsys) -> None:
    cut = film.solved().everything("cut").cut()
    before = {file.name: file.read_bytes() for file in cut.iterdir()}
    assert main(["recover", str(cut)]) == 0
    out = cut.with_name("cut_recovered")
    said = capsys.readouterr()
    assert said.out.startswith(f"{out}: kept 9 messages on 7 topics, ")
    assert (said.out.count("\n"), said.err) == (1, "")
    old, new = Bag(cut), Bag(out)
    assert [asdict(m) for m in new.raw()] == [asdict(m) for m in old.raw()]
    assert dict(new.metadata) == {**old.metadata, CUT_SHORT: {"messages": "9"}}
    assert new.attachments() == old.attachments()
    assert {t: asdict(i) for t, i in new.topics.items()} == {
        t: asdict(i) for t, i in old.topics.items()
    }
    assert (new.cut_short, new.is_open) == (True, False)
    assert {file.name: file.read_bytes() for file in cut.iterdir()} == before
    # Others read it as well.
    with Reader(out) as reader:
        assert reader.message_count == 9
    # Nothing is overwritten.
    assert main(["recover", str(cut)]) == 2
    assert "exists already, nothing is overwritten" in capsys.readouterr().err
    assert main(["recover", str(cut), "-o", str(cut.with_name("other"))]) == 0
    (judged,) = judge(out, Request())
    assert judged.verdict == film.verdict()


def test_a_damaged_chunk_costs_what_is_in_it(messages, tmp_path: Path) -> None:
    bag = messages.bag(tmp_path / "bag", compression=CompressionType.LZ4, chunk_size=500)
    bag.channel("/words", TOPIC.type_name, TOPIC.definition)
    for i in range(100):
        bag.put("/words", serialised(str(i) * 20), i)
    folder = bag.close()
    whole = words(folder)
    path = next(folder.glob("*.mcap"))
    data = bytearray(path.read_bytes())
    middle = data.index(b"\x06", len(data) // 3)
    data[middle + 60 : middle + 90] = bytes(30)
    path.write_bytes(bytes(data))
    with pytest.raises(FileError):
        words(folder)
    kept = recover(folder)
    assert kept.damaged > 0
    left = words(kept.folder)
    assert 50 < len(left) == kept.messages < 100
    assert set(left) <= set(whole)


def test_a_full_or_read_only_place_is_one_error(tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    writer = write(folder, 3)
    writer.flush()
    killed = shutil.copytree(folder, tmp_path / "killed")
    writer.close()
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        recover(killed, tmp_path / "file" / "out")
    with pytest.raises(FileError, match="cannot be written"):
        recover(killed, Path("/proc/out"))
    assert words(killed) == ["0", "1", "2"]


def test_garbage_is_no_bag(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    bag.mkdir()
    with pytest.raises(FileError, match="has no bag files"):
        list(read_bag(bag))
    (bag / "bag_0.mcap").write_bytes(b"garbage" * 100)
    with pytest.raises(FileError, match="is no MCAP file"):
        list(read_bag(bag))


@pytest.fixture
def small_disk() -> Iterator[Callable[[bool], None]]:
    """Lets no file grow beyond 200 kB while it is called with True."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def set_limit(limited: bool) -> None:
        limit = 200_000 if limited else before[0]
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))

    yield set_limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_one_error_and_what_was_written_is_kept(
    tmp_path: Path, small_disk: Callable[[bool], None]
) -> None:
    bag = tmp_path / "bag"
    writer = BagWriter(bag)
    topic = writer.add_topic(TOPIC)
    flushed = 0

    def fill() -> None:
        nonlocal flushed
        for i in range(10_000):
            writer.write(topic, i + 1, i + 1, serialised(os.urandom(200).hex()))
            if i % 20 == 19:
                writer.flush()
                flushed = i + 1

    small_disk(True)
    with pytest.raises(PlannerError, match=r"bag: cannot be written: .*too large"):
        fill()
    with pytest.raises(PlannerError, match="bag: cannot be completed"):
        writer.close()
    writer.abandon()
    assert flushed > 0
    damaged = next(bag.glob("*.mcap")).read_bytes()
    # Reading takes no room. A recovery that finds none leaves nothing behind.
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    assert len(words(bag)) >= flushed
    with pytest.raises(FileError, match=r"bag_recovered: cannot be written: .*too large"):
        recover(bag)
    assert list(tmp_path.iterdir()) == [bag]
    assert [path.read_bytes() for path in bag.iterdir() if path.suffix != ".yaml"] == [damaged]
    small_disk(False)
    assert words(recover(bag).folder) == words(bag)


@pytest.mark.parametrize("metadata", ["version: 99", "", "a: ["])
def test_a_bag_describes_itself_whatever_its_metadata_say(tmp_path: Path, metadata: str) -> None:
    bag = tmp_path / "bag"
    write(bag, 5).close()
    (bag / "metadata.yaml").write_text(metadata)
    assert words(bag) == [str(i) for i in range(5)]
