"""A bag on a disk that is full, at first or for a while, and in several files."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from rosbags.rosbag2 import Reader

from planner.recorder import bag_writer
from planner.recorder.bag_file import BagFile
from planner.recorder.bag_writer import BagWriter, DiskFullError, Limits, Topic
from planner.replay.bag import Bag
from planner.world.errors import PlannerError

WORDS = Topic("/words", "std_msgs/msg/String", "string data", "")
TEXT = bytes([0, 1, 0, 0, 2, 0, 0, 0, ord("a"), 0])


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_reported_and_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, "no room")

    with monkeypatch.context() as patch:
        patch.setattr(bag_writer, "save_metadata", refuse)
        with pytest.raises(DiskFullError, match="bag: cannot be written"):
            BagWriter(tmp_path / "bag")
    assert list(tmp_path.iterdir()) == []
    BagWriter(tmp_path / "bag").close()
    assert (tmp_path / "bag" / "bag_0.mcap").stat().st_size > 0


class FullDisk:
    """A stand-in for a full disk: half of what is written fits, then nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        self._write: Callable[..., int] = os.pwrite
        monkeypatch.setattr(os, "pwrite", self._try)

    def _try(self, descriptor: int, data: memoryview, at: int) -> int:
        if not self.is_full:
            return self._write(descriptor, data, at)
        if len(data) < 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._write(descriptor, data[: len(data) // 2], at)


def fill(bag: BagWriter, topic: int, numbers: range, size: int = 0) -> list[int]:
    """Writes messages with their numbers; returns those that were taken."""
    text = TEXT + bytes(size)
    return [n for n in numbers if bag.write(topic, 1000 + n, 1000 + n, text, n)]


def sequences(folder: Path) -> list[int]:
    return [message.sequence for message in Bag(folder).numbered("/words")]


def test_what_waits_for_a_full_disk_is_written_when_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    bag = BagWriter(tmp_path / "bag")
    words = bag.add_topic(WORDS)
    fill(bag, words, range(10))
    bag.flush()
    fill(bag, words, range(10, 20))
    disk.is_full = True
    for begin in (20, 30):
        with pytest.raises(PlannerError, match="No space left"):
            bag.flush()
        fill(bag, words, range(begin, begin + 10))
    # Up to the last flush it is a bag, with nothing half written behind it.
    assert sequences(tmp_path / "bag") == [*range(10)]
    assert bag.unsaved == 30
    with pytest.raises(PlannerError, match="cannot be completed"):
        bag.close()
    disk.is_full = False
    bag.close()
    assert sequences(tmp_path / "bag") == [*range(40)]
    assert not Bag(tmp_path / "bag").cut_short
    assert bag.unsaved == 0


def test_no_more_waits_than_the_backlog_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    monkeypatch.setattr(bag_writer, "BACKLOG_BYTES", 10_000)
    bag = BagWriter(tmp_path / "bag")
    words = bag.add_topic(WORDS)
    disk.is_full = True
    taken = []
    for begin in range(0, 100, 10):
        taken += fill(bag, words, range(begin, begin + 10), 4000)
        bag.attach(f"a{begin}", "text/plain", os.urandom(2000), 0)
        with pytest.raises(PlannerError):
            bag.flush()
    assert 0 < len(taken) < 100
    disk.is_full = False
    bag.flush()
    taken += fill(bag, words, range(100, 110))
    bag.close()
    assert sequences(tmp_path / "bag") == taken
    assert taken[-10:] == [*range(100, 110)]


def test_a_bag_goes_on_in_its_next_file_at_its_size(tmp_path: Path) -> None:
    bag = BagWriter(tmp_path / "bag", Limits(file_bytes=3000))
    words = bag.add_topic(WORDS)
    bag.add_record("planner.start", {"version": "1"}, repeated=True)
    bag.attach("house.json", "application/json", os.urandom(1000), 0)
    for begin in range(0, 40, 10):
        fill(bag, words, range(begin, begin + 10))
        bag.attach("parameters.yaml", "application/yaml", os.urandom(2000), 0)
        bag.flush()
    bag.close()
    files = sorted((tmp_path / "bag").glob("*.mcap"))
    assert [file.name for file in files] == [f"bag_{n}.mcap" for n in range(len(files))]
    assert len(files) > 2
    assert sequences(tmp_path / "bag") == [*range(40)]
    # Each file can be read alone.
    for file in files:
        alone = Bag(file)
        assert alone.metadata["planner.start"] == {"version": "1"}
        assert "house.json" in alone.attachments()
    # Other software reads it as one bag.
    with Reader(tmp_path / "bag") as reader:
        assert [at_ns - 1000 for _, at_ns, _ in reader.messages()] == [*range(40)]
    said = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())
    info = said["rosbag2_bagfile_information"]
    assert info["relative_file_paths"] == [file.name for file in files]
    assert info["message_count"] == 40
    assert [file["message_count"] for file in info["files"]] == [
        Bag(file).message_count for file in files
    ]


def test_a_full_disk_at_the_end_of_a_file_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    bag = BagWriter(tmp_path / "bag", Limits(file_s=1e-9))
    words = bag.add_topic(WORDS)
    fill(bag, words, range(10))
    disk.is_full = True
    with pytest.raises(PlannerError):
        bag.flush()
    fill(bag, words, range(10, 20))
    disk.is_full = False
    bag.flush()
    fill(bag, words, range(20, 30))
    bag.close()
    assert sequences(tmp_path / "bag") == [*range(30)]
    assert [file.name for file in sorted((tmp_path / "bag").glob("*.mcap"))] == [
        "bag_0.mcap",
        "bag_1.mcap",
    ]


def test_the_oldest_files_but_the_first_go_when_the_bag_is_too_large(tmp_path: Path) -> None:
    bag = BagWriter(tmp_path / "bag", Limits(file_s=1e-9, bag_bytes=12_000))
    words = bag.add_topic(WORDS)
    for begin in range(0, 100, 10):
        fill(bag, words, range(begin, begin + 10))
        bag.attach("noise", "text/plain", os.urandom(1500), 0)
        bag.flush()
    bag.close()
    names = {file.name for file in (tmp_path / "bag").glob("*.mcap")}
    assert {"bag_0.mcap", "bag_10.mcap"} <= names
    assert "bag_1.mcap" not in names
    kept = Bag(tmp_path / "bag")
    left = sequences(tmp_path / "bag")
    assert left[:10] == [*range(10)]
    (gap,) = kept.gaps("/words")
    assert gap.missing == 100 - len(left) > 0
    assert sum(file.stat().st_size for file in (tmp_path / "bag").glob("*.mcap")) < 14_000
    info = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())
    paths = info["rosbag2_bagfile_information"]["relative_file_paths"]
    assert set(paths) == names


def test_there_is_a_bag_from_the_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bag"
    before: list[Path] = []

    def watched(path: Path) -> BagFile:
        before.extend(tmp_path.glob("bag*"))
        return BagFile(path)

    monkeypatch.setattr(bag_writer, "BagFile", watched)
    writer = BagWriter(folder)
    # Who is killed as it begins leaves nothing by that name.
    assert not before
    assert [*tmp_path.iterdir()] == [folder]
    assert not [*Bag(folder).raw()]
    writer.close()
