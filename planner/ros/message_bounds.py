"""Checks messages from outside against the bounds of `planner.world.bounds`.

The checks follow from the message's definition: a new field without a bound is an error when the
checker is built.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

from planner.world.bounds import Bound, Items, Number, OutOfBounds, Stamp, Text, Unbounded, bound_of
from planner.world.memory_wire import stamp_seconds

_TIME = "builtin_interfaces/Time"
_ARRAY = re.compile(r"(?:sequence<(?P<item>[^,]*)(?:,.*)?>|(?P<fixed>.*)\[\d+\])$")
_STRINGS = re.compile(r"w?string")
# Placeholder field of an empty message.
_FILLER = "structure_needs_at_least_one_member"
Owners: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Field:
    """The check of one field: an array's `count`, then each item's bound or fields."""

    name: str
    is_array: bool
    count: Items | None
    bound: Bound | None
    fields: tuple[_Field, ...] = ()


class MessageBounds:
    """The checker of one message type."""

    def __init__(self, message_type: Any, name: str = "") -> None:
        """Builds the checker from the definition.

        Args:
            message_type: class of the message.
            name: of its bounds, if not the type's.

        Raises:
            UnboundedFieldError: naming a field that has no bound.
        """
        self._fields = _fields_of(message_type, ((name or type_name(message_type), ""),))

    def problem(self, message: Any, now_s: float) -> OutOfBounds | None:
        """The first field that is out of bounds and why; None if none is.

        Args:
            message: of the type.
            now_s: on the clock of the message's stamps.
        """
        return _problem(message, self._fields, "", now_s)


def bounds_of(message_type: Any, name: str = "") -> MessageBounds:
    """The cached checker of a message type."""
    return _bounds_of(message_type, name)


_bounds_of = cache(MessageBounds)


def type_name(message_type: Any) -> str:
    """A message class as `package/Type`."""
    return f"{message_type.__module__.partition('.')[0]}/{message_type.__name__}"


def _fields_of(message_type: Any, owners: Owners) -> tuple[_Field, ...]:
    types = message_type.get_fields_and_field_types()
    return tuple(
        _field(name, text, _within(owners, name)) for name, text in types.items() if name != _FILLER
    )


def _within(owners: Owners, name: str) -> Owners:
    return tuple((owner, f"{path}.{name}" if path else name) for owner, path in owners)


def _field(name: str, text: str, owners: Owners) -> _Field:
    array = _ARRAY.match(text)
    count = None
    if array is not None:
        if array["item"] is not None:
            count = _as_items(bound_of(owners), owners)
        text = array["item"] or array["fixed"]
        owners = tuple((owner, f"{path}[]") for owner, path in owners)
    if "/" in text and text != _TIME:
        inner = _message_type(text)
        fields = _fields_of(inner, (*owners, (text, "")))
        return _Field(name, array is not None, count, None, fields)
    bound = bound_of(owners)
    allowed = (Text,) if _STRINGS.match(text) else (Stamp,) if text == _TIME else (Number,)
    if not isinstance(bound, (*allowed, Unbounded)):
        raise TypeError(f"{owners[0]}: expected a bound for {text}, got {bound}")
    return _Field(name, array is not None, count, bound)


def _as_items(bound: Bound, owners: Owners) -> Items:
    if not isinstance(bound, Items):
        raise TypeError(f"{owners[0]}: expected a bound for an array, got {bound}")
    return bound


def _message_type(name: str) -> Any:
    package, _, kind = name.partition("/")
    return getattr(import_module(f"{package}.msg"), kind)


def _problem(message: Any, fields: Sequence[_Field], path: str, now_s: float) -> OutOfBounds | None:
    for field in fields:
        value, at = getattr(message, field.name), f"{path}{field.name}"
        found = (
            _array_problem(value, field, at, now_s)
            if field.is_array
            else _value_problem(value, field, at, now_s)
        )
        if found is not None:
            return found
    return None


def _array_problem(values: Any, field: _Field, at: str, now_s: float) -> OutOfBounds | None:
    reason = "" if field.count is None else field.count.reason(len(values))
    if reason:
        return OutOfBounds(at, reason)
    if isinstance(field.bound, Unbounded):
        return None
    if isinstance(field.bound, Number):
        index = field.bound.first_invalid(values)
        if index is None:
            return None
        return OutOfBounds(f"{at}[{index}]", field.bound.reason(values[index]))
    found = (_value_problem(v, field, f"{at}[{i}]", now_s) for i, v in enumerate(values))
    return next(filter(None, found), None)


def _value_problem(value: Any, field: _Field, at: str, now_s: float) -> OutOfBounds | None:
    bound = field.bound
    if bound is None:
        return _problem(value, field.fields, f"{at}.", now_s)
    if isinstance(bound, Stamp):
        reason = bound.reason(stamp_seconds(value), now_s)
    elif isinstance(bound, Number | Text):
        reason = bound.reason(value)
    else:
        reason = ""
    return OutOfBounds(at, reason) if reason else None
