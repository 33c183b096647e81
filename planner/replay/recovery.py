"""Completes a bag whose recorder was killed: keeps every whole message, adds the index."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcap.exceptions import McapError
from mcap.records import Channel, Message, Schema
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType, Writer

from planner.recorder.bag_writer import Topic, metadata, save_metadata
from planner.world.errors import FileError

_CUT_OFF = (McapError, EOFError, OSError, ValueError, RuntimeError, struct.error)
# Name of the metadata record that a completed file has.
CUT_SHORT = "planner.cut_short"
_FOOTER_MAGIC = b"\x89MCAP0\r\n"


def mcap_file(bag: Path) -> Path:
    """The one .mcap file of a bag's folder.

    Raises:
        FileError: where the folder is no bag of ours.
    """
    if not bag.is_dir():
        raise FileError(bag, "", "is not a folder of a bag")
    files = sorted(bag.glob("*.mcap"))
    if len(files) != 1:
        raise FileError(bag, "", f"holds {len(files)} .mcap files; a bag of ours holds one")
    return files[0]


def is_complete(bag: Path) -> bool:
    """Whether the bag was closed: its file ends as MCAP files do, its metadata is there."""
    path = mcap_file(bag)
    with path.open("rb") as stream:
        stream.seek(0, 2)
        if stream.tell() < len(_FOOTER_MAGIC):
            return False
        stream.seek(-len(_FOOTER_MAGIC), 2)
        return stream.read() == _FOOTER_MAGIC and (bag / "metadata.yaml").is_file()


def recover(bag: Path) -> int:
    """Completes an unfinished bag in place; returns how many messages it holds.

    The completed file keeps a note that it was cut short (`CUT_SHORT`).

    The damaged file stays until the completed one is whole on disk.

    Raises:
        FileError: where not even its beginning can be read.
    """
    path = mcap_file(bag)
    # The first record is read before anything is written: a file that is none leaves no trace.
    found = _records(path)
    header = next(found, None)
    if header is None:
        raise FileError(path, "", "is no MCAP file: it is empty")
    records = itertools.chain([header], found)
    temporary = path.with_suffix(".recovering")
    try:
        topics, counts, stamps = _copy_whole_messages(records, temporary)
        temporary.replace(path)
        first, last = min(stamps, default=0), max(stamps, default=0)
        listed = [(topic, counts[key]) for key, topic in topics.items()]
        save_metadata(bag, metadata(path.name, listed, first, last - first))
    except OSError as error:
        # Nothing is lost: the damaged file is still there.
        raise FileError(bag, "", f"cannot be completed: {error}") from None
    finally:
        temporary.unlink(missing_ok=True)
    return len(stamps)


def _copy_whole_messages(
    records: Iterator[Any], temporary: Path
) -> tuple[dict[int, Topic], dict[int, int], list[int]]:
    """Copies what can be read; returns topics and their counts by channel, and all stamps."""
    counts: dict[int, int] = {}
    topics: dict[int, Topic] = {}
    stamps: list[int] = []
    with temporary.open("wb") as out:
        writer = Writer(out, compression=CompressionType.LZ4, enable_crcs=False)
        writer.start(profile="ros2", library="planner")
        schemas: dict[int, Schema] = {}
        numbers: dict[int, int] = {}
        for record in records:
            if isinstance(record, Schema):
                schemas[record.id] = record
            elif isinstance(record, Channel) and record.id not in topics:
                schema = schemas[record.schema_id]
                number = writer.register_schema(schema.name, schema.encoding, schema.data)
                numbers[record.id] = writer.register_channel(
                    record.topic, record.message_encoding, number, record.metadata
                )
                qos = record.metadata.get("offered_qos_profiles", "")
                topics[record.id] = Topic(record.topic, schema.name, schema.data.decode(), qos)
                counts[record.id] = 0
            elif isinstance(record, Message) and record.channel_id in topics:
                writer.add_message(
                    numbers[record.channel_id],
                    record.log_time,
                    record.data,
                    record.publish_time,
                    record.sequence,
                )
                counts[record.channel_id] += 1
                stamps.append(record.log_time)
        writer.add_metadata(CUT_SHORT, {"messages": str(len(stamps))})
        writer.finish()
    return topics, counts, stamps


def _records(path: Path) -> Iterator[Any]:
    """All records up to the first that is cut off."""
    with path.open("rb") as stream:
        reader = StreamReader(stream)
        records = iter(reader.records)
        started = False
        while True:
            try:
                record = next(records)
            except StopIteration:
                return
            except _CUT_OFF as error:
                if not started:
                    reason = str(error) or "it is empty"
                    raise FileError(path, "", f"is no MCAP file: {reason}") from None
                return
            started = True
            yield record
