"""`planner recover BAG`: writes a complete bag next to one whose recorder was killed."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mcap.writer import CompressionType, Writer

from planner.recorder.bag_file import FileSpan
from planner.recorder.bag_writer import Topic, metadata, save_metadata
from planner.replay.bag import CUT_SHORT, mcap_files
from planner.replay.mcap_file import McapFile
from planner.world.errors import FileError
from planner.world.files import parse_yaml

# Recovers the bag of a killed recorder: a new, complete bag of every intact message.

_MAX_QOS_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Recovered:
    """Summary of a recovered bag.

    Attributes:
        folder: of the recovered bag.
        messages: number of messages.
        topics: number of topics.
        start_ns: receipt of the first message; 0 without one.
        end_ns: receipt of the last message.
        damaged: damaged records, which are left out.
    """

    folder: Path
    messages: int
    topics: int
    start_ns: int
    end_ns: int
    damaged: int


def recover(bag: Path, out: Path | None = None) -> Recovered:
    """Copies the intact part of a bag into a new one, marked as cut short.

    Messages keep their times and sequence numbers. The damaged bag is not modified.

    Args:
        bag: its folder.
        out: of the new bag; must not exist. None = next to it, with the suffix `_recovered`.

    Raises:
        FileError: if the bag is still being written, needs no recovery, has no MCAP files, or the
            new one cannot be written.
    """
    bag = bag.resolve()
    out = bag.with_name(f"{bag.name}_recovered") if out is None else out
    files = [McapFile(path, salvage=True) for path in mcap_files(bag)]
    if any(file.is_open for file in files):
        raise FileError(bag, "", "is still being written: there is nothing to recover yet")
    # Messages with an impossible time are not copied either.
    damaged = sum(file.contents.damaged + sum(file.impossible.values()) for file in files)
    if not damaged and all(file.closed for file in files) and _has_summary(bag):
        raise FileError(bag, "", "is complete: there is nothing to recover")
    try:
        out.mkdir(parents=True)
    except FileExistsError:
        raise FileError(out, "", "exists already, nothing is overwritten") from None
    except OSError as error:
        raise FileError(out, "", f"cannot be written: {error.strerror}") from None
    try:
        return _write(files, out, damaged)
    except OSError as error:
        shutil.rmtree(out, ignore_errors=True)
        raise FileError(out, "", f"cannot be written: {error.strerror or error}") from None
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise


def _has_summary(bag: Path) -> bool:
    """Whether the files can be read as they are."""
    try:
        for path in mcap_files(bag):
            McapFile(path)
    except FileError:
        return False
    return True


def _write(files: Sequence[McapFile], out: Path, damaged: int) -> Recovered:
    name = f"{out.name}_0.mcap"
    with (out / name).open("xb") as stream:
        topics = _write_messages(sorted(files, key=lambda file: file.start_ns), stream)
    heard = [file for file in files if file.start_ns or file.end_ns]
    first = min((file.start_ns for file in heard), default=0)
    last = max((file.end_ns for file in heard), default=0)
    counts = tuple(count for _, count in topics)
    span = FileSpan(name, first, last, counts, (out / name).stat().st_size)
    save_metadata(out, metadata([span], topics))
    return Recovered(out, sum(counts), len(topics), first, last, damaged)


def _write_messages(files: Sequence[McapFile], stream: BinaryIO) -> list[tuple[Topic, int]]:
    writer = Writer(stream, compression=CompressionType.LZ4, enable_crcs=True)
    # Readers interpret sequence numbers by the library that wrote the bag.
    writer.start(profile="ros2", library=files[0].library)
    topics: list[tuple[Topic, int]] = []
    total = 0
    for file in files:
        numbers, counts = {}, {}
        for number, channel in file.contents.channels.items():
            schema = file.contents.schemas.get(channel.schema_id)
            written = 0
            if schema is not None:
                written = writer.register_schema(schema.name, schema.encoding, schema.data)
            numbers[number] = writer.register_channel(
                channel.topic, channel.message_encoding, written, channel.metadata
            )
            counts[number] = 0
        for message in file.messages(frozenset(numbers), None, None):
            writer.add_message(
                numbers[message.channel_id],
                message.received_ns,
                bytes(message.data),
                message.published_ns,
                message.sequence,
            )
            counts[message.channel_id] += 1
        for record in file.metadata:
            if record.name != CUT_SHORT:
                writer.add_metadata(record.name, dict(record.texts))
        for attachment in file.all_attachments():
            writer.add_attachment(
                attachment.create_time,
                attachment.log_time,
                attachment.name,
                attachment.media_type,
                attachment.data,
            )
        total += sum(counts.values())
        for number, stored in file.channels.items():
            topic = Topic(stored.name, stored.type_name, stored.definition, _qos(stored.qos))
            topics.append((topic, counts[number]))
    writer.add_metadata(CUT_SHORT, {"messages": str(total)})
    writer.finish()
    return topics


def _qos(text: str) -> str:
    """The offered profiles; "" if not parseable."""
    try:
        readable = len(text) <= _MAX_QOS_CHARS and isinstance(parse_yaml(text, ""), list)
    except FileError:
        readable = False
    return text if readable else ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bag", type=Path, metavar="BAG", help="folder of a bag; not modified")
    parser.add_argument(
        "-o", "--out", type=Path, help="folder of the new bag; default: BAG_recovered"
    )


def run(args: argparse.Namespace) -> int:
    """Recover the bag and print a summary."""
    kept = recover(args.bag, args.out)
    seconds = (kept.end_ns - kept.start_ns) / 1e9
    lost = f"; left out {kept.damaged} damaged records" if kept.damaged else ""
    print(
        f"{kept.folder}: kept {kept.messages} messages on {kept.topics} topics, "
        f"{seconds:.1f} s{lost}"
    )
    return 0
