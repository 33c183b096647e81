"""`--to csv`: a table for each topic; `columns.json` lists their columns and omitted fields.

Deterministic: the same bag gives the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from planner.replay.export.flat_columns import Columns
from planner.replay.export.source import Source, stamp_of
from planner.world.errors import FileError

MANIFEST = "columns.json"
RECEIVED, STAMP = "received_ns", "stamp_ns"
# Leaves room for `.csv` and a number within the limits of file systems.
_MAX_NAME_CHARS = 120


@dataclass(slots=True)
class _Table:
    file: str
    topic: str
    type: str
    rows: int = 0
    columns: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def write_csv(source: Source, folder: Path, topics: Sequence[str] = ()) -> int:
    """Writes the tables of some topics, or of all if none is named; returns the number of rows.

    Raises:
        FileError: if a topic is not in the bag, or the bag cannot be read.
        OSError: if the file system refuses.
    """
    chosen = _chosen(source, topics)
    columns = {topic: Columns() for topic in chosen}
    stamped: set[str] = set()
    unreadable: dict[str, str] = {}
    for topic, _, content in _messages(source, chosen, unreadable):
        columns[topic].look(content)
        if topic not in stamped and stamp_of(content):
            stamped.add(topic)
    if unreadable.keys() >= (set(topics) or set(chosen)):
        topic, reason = next(iter(unreadable.items()))
        raise FileError(source.folder, topic, reason)
    readable = [topic for topic in chosen if topic not in unreadable]
    tables = {}
    for topic, file in file_names(readable).items():
        head = [RECEIVED, STAMP] if topic in stamped else [RECEIVED]
        made = columns[topic]
        tables[topic] = _Table(file, topic, source.types[topic])
        tables[topic].columns = [*head, *made.names]
        tables[topic].left_out = made.left_out
    _write(source, folder, tables, columns)
    document = {
        "version": 1,
        "bag": source.folder.resolve().name,
        "tables": [asdict(tables[topic]) for topic in sorted(tables)],
        "unreadable": unreadable,
    }
    text = json.dumps(document, indent=2, ensure_ascii=True) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return sum(table.rows for table in tables.values())


def file_names(topics: Sequence[str]) -> dict[str, str]:
    """A unique file name for each topic, also where case is ignored.

    `/` becomes `.`; other characters than letters, digits, `_` and `-` become `%` and two
    hexadecimal digits per byte; a name that is too long is cut and made unique by a hash of the
    topic.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for topic in sorted(topics):
        parts = topic.removeprefix("/").split("/")
        name = ".".join(re.sub(r"[^A-Za-z0-9_-]", _escaped, part) for part in parts)
        if not name or len(name) > _MAX_NAME_CHARS or name.casefold() in taken:
            digest = hashlib.sha256(topic.encode("utf-8", "surrogatepass")).hexdigest()
            name = f"{name[:_MAX_NAME_CHARS]}%{digest[:16]}"
        taken.add(name.casefold())
        names[topic] = f"{name}.csv"
    return names


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


def _chosen(source: Source, topics: Sequence[str]) -> list[str]:
    for topic in topics:
        if topic not in source.types:
            known = ", ".join(sorted(source.types))
            raise FileError(source.folder, topic, f"is not a topic of this bag, which has: {known}")
    return sorted(set(topics) or source.types)


def _messages(
    source: Source, topics: Sequence[str], unreadable: dict[str, str]
) -> Iterator[tuple[str, int, Any]]:
    """Messages of the readable topics; the reasons for the others go into `unreadable`."""
    for raw in source.bag.raw(topics):
        if raw.topic in unreadable:
            continue
        try:
            content = raw.content()
        except ValueError as error:
            unreadable[raw.topic] = str(error)
            continue
        yield raw.topic, raw.received_ns, content


def _write(
    source: Source, folder: Path, tables: dict[str, _Table], columns: dict[str, Columns]
) -> None:
    with ExitStack() as files:
        writers = {}
        for topic, table in tables.items():
            # Invalid Unicode, such as a lone surrogate, is written as Python escapes.
            stream = files.enter_context(
                (folder / table.file).open(
                    "w", encoding="utf-8", errors="backslashreplace", newline=""
                )
            )
            writers[topic] = csv.DictWriter(
                stream, table.columns, restval="", lineterminator="\r\n"
            )
            writers[topic].writeheader()
        for topic, received_ns, content in _messages(source, list(tables), {}):
            row = columns[topic].row(content)
            row[RECEIVED] = str(received_ns)
            if tables[topic].columns[1:2] == [STAMP]:
                row[STAMP] = str(stamp_of(content))
            writers[topic].writerow(row)
            tables[topic].rows += 1
