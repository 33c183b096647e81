"""Messages of any type as rows: nested fields become columns with dotted names.

`pose.pose.position.x` is a field, `position.0` the first item of an array. The columns of a topic
depend on all of its messages, so messages are read twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

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
