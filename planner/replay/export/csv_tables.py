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
from typing import Any, TypeAlias

import numpy as np

from planner.replay.export.source import Source, stamp_of
from planner.world.errors import FileError

# Messages of any type as rows: nested fields become columns with dotted names.
#
# `pose.pose.position.x` is a field, `position.0` the first item of an array. The columns of a topic
# depend on all of its messages, so messages are read twice.

# Longer arrays get no columns: 36 numbers are a covariance.
MAX_NUMBERS = 36
MAX_MESSAGES = 16
Scalar: TypeAlias = str | int | float | bool
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(slots=True)
class _Array:
    """An array field as seen so far."""

    most: int = 0
    of_messages: bool = False
    of_bytes: bool = False
    items: dict[int, _Node] = field(default_factory=dict)

    @property
    def left_out(self) -> str:
        """Why it gets no columns; "" if it gets some."""
        limit = MAX_MESSAGES if self.of_messages else MAX_NUMBERS
        if self.most <= limit:
            return ""
        kind = "bytes" if self.of_bytes else "messages" if self.of_messages else "items"
        return f"an array of up to {self.most} {kind}; columns are made for up to {limit}"


@dataclass(slots=True)
class _Node:
    """A field: a plain value, a structure, or an array."""

    fields: dict[str, _Node] = field(default_factory=dict)
    array: _Array | None = None


class Columns:
    """The columns of one topic."""

    def __init__(self) -> None:
        self._root = _Node()

    def look(self, content: Any) -> None:
        """Adds the fields of a message to the columns."""
        _look(self._root, content)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, in the order of the fields."""
        return tuple(_names(self._root, ""))

    @property
    def left_out(self) -> dict[str, str]:
        """Fields without columns, and why."""
        return dict(_left_out(self._root, ""))

    def row(self, content: Any) -> dict[str, str]:
        """The cells of a message passed to `look`; empty for columns that it lacks."""
        cells: dict[str, str] = {}
        _fill(self._root, content, "", cells)
        return cells


def cell(value: Scalar | np.generic) -> str:
    """A value as text; what a spreadsheet would take for a formula gets a leading `'`."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    if isinstance(value, np.generic):
        # The shortest digits from which single precision is restored.
        return str(value)
    return repr(value)


def _look(node: _Node, value: Any) -> None:
    if _is_message(value):
        for name, item in _fields(value):
            _look(node.fields.setdefault(name, _Node()), item)
    elif _is_array(value):
        array = node.array = node.array or _Array()
        array.most = max(array.most, len(value))
        array.of_bytes = getattr(value, "dtype", None) == np.uint8
        array.of_messages = array.of_messages or (len(value) > 0 and _is_message(value[0]))
        if not array.left_out:
            for number, item in enumerate(value):
                _look(array.items.setdefault(number, _Node()), item)


def _names(node: _Node, prefix: str) -> Iterator[str]:
    if node.array is not None:
        if not node.array.left_out:
            for number, item in sorted(node.array.items.items()):
                yield from _names(item, _joined(prefix, str(number)))
    elif node.fields:
        for name, item in node.fields.items():
            yield from _names(item, _joined(prefix, name))
    elif prefix:
        yield prefix


def _left_out(node: _Node, prefix: str) -> Iterator[tuple[str, str]]:
    if node.array is not None:
        if node.array.left_out:
            yield prefix, node.array.left_out
            return
        for number, item in sorted(node.array.items.items()):
            yield from _left_out(item, _joined(prefix, str(number)))
    for name, item in node.fields.items():
        yield from _left_out(item, _joined(prefix, name))


def _fill(node: _Node, value: Any, prefix: str, cells: dict[str, str]) -> None:
    if _is_message(value):
        for name, item in _fields(value):
            _fill(node.fields[name], item, _joined(prefix, name), cells)
    elif _is_array(value):
        if node.array is not None and not node.array.left_out:
            for number, item in enumerate(value):
                _fill(node.array.items[number], item, _joined(prefix, str(number)), cells)
    else:
        cells[prefix] = cell(value)


def _is_message(value: Any) -> bool:
    return hasattr(value, "__msgtype__")


def _is_array(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    for name in value.__dataclass_fields__:
        if name != "__msgtype__":
            yield name, getattr(value, name)


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


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
