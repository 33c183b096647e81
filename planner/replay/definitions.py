"""Message definitions found in bags, and deserialization with them.

The library generates and runs Python code from message definitions. A bag may come from anywhere,
so definitions are checked first: names must be identifiers, and array sizes are limited because
code is generated for each element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

# The longest definition of a standard message, with nested types, has 20 kB.
_MAX_DEFINITION_CHARS = 400_000
# Code is generated for each element of an array of strings or messages.
_MAX_UNROLLED = 10_000
_TYPE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*){1,3}")
_FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_CONSTANT = (bool, int, float, str)
_MAX_REASON_CHARS = 200


class UnreadableError(ValueError):
    """Data that do not match their type, or a definition that cannot be used."""


def printable(text: str) -> str:
    """Text from a bag without control characters."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def short(reason: object) -> str:
    """A library's error as one printable line of bounded length."""
    if isinstance(reason, BaseException):
        text = str(reason) or type(reason).__name__
    else:
        text = str(reason)
    line = "".join(c if c.isprintable() else " " for c in text[: 2 * _MAX_REASON_CHARS])
    return line if len(line) <= _MAX_REASON_CHARS else line[:_MAX_REASON_CHARS] + "..."


@lru_cache(maxsize=1024)
def message_reader(type_name: str, definition: str) -> Callable[[bytes | memoryview], Any]:
    """A function that deserializes (CDR) messages of a type.

    It raises `UnreadableError` for data that do not match the type.

    Raises:
        UnreadableError: if the definition is missing or cannot be used.
    """
    if not definition:
        raise UnreadableError(f"the bag has no ROS 2 definition of {short(type_name)}")
    types = _types(type_name, definition, get_types_from_msg)
    try:
        store = get_typestore(Stores.EMPTY)
        store.register(types)
        # Generates the code now, so that an incomplete definition is reported as such.
        store.get_msgdef(type_name)
    except Exception as error:
        raise UnreadableError(f"its definition cannot be used: {short(error)}") from None

    def read(data: bytes | memoryview) -> Any:
        try:
            return store.deserialize_cdr(data, type_name)
        except Exception as error:
            raise UnreadableError(f"is not a {type_name}: {short(error)}") from None

    return read


@lru_cache(maxsize=1024)
def msg_text(type_name: str, definition: str) -> str:
    """An OMG IDL definition converted to ROS 2's .msg format, with nested types.

    Raises:
        UnreadableError: if it cannot be used.
    """
    types = _types(type_name, definition, lambda text, _: get_types_from_idl(text))
    try:
        store = get_typestore(Stores.EMPTY)
        store.register(types)
        return store.generate_msgdef(type_name, ros_version=2)[0]
    # The parser fails with any exception on untrusted definitions.
    except Exception as error:
        raise UnreadableError(f"its definition cannot be used: {short(error)}") from None


@lru_cache(maxsize=1024)
def standard_text(type_name: str, ros_distro: str = "") -> str:
    """The definition of a message that is part of ROS 2; "" for others."""
    stores = {store.name: store for store in Stores if store.name.startswith("ROS2_")}
    store = get_typestore(stores.get(f"ROS2_{ros_distro.upper()}", Stores.LATEST))
    if type_name not in store.fielddefs:
        return ""
    return store.generate_msgdef(type_name, ros_version=2)[0]


def _types(type_name: str, definition: str, parse: Callable[[str, str], Any]) -> Any:
    if not _TYPE_NAME.fullmatch(type_name):
        raise UnreadableError(f"{short(repr(type_name))} is not a message type's name")
    if len(definition) > _MAX_DEFINITION_CHARS:
        raise UnreadableError(f"its definition has more than {_MAX_DEFINITION_CHARS} characters")
    try:
        types = parse(definition, type_name)
    # The parser raises undocumented exceptions for damaged text, and its messages repeat the whole
    # text.
    except Exception:
        raise UnreadableError("its definition is not in ROS 2's format") from None
    if type_name not in types:
        raise UnreadableError(f"its definition does not define {type_name}")
    _check(types)
    return types


def _check(types: Mapping[str, Any]) -> None:
    unrolled = 0
    for name, (constants, fields) in types.items():
        if not _TYPE_NAME.fullmatch(name):
            raise UnreadableError(f"its definition has a type {short(repr(name))}")
        for constant, _, value in constants:
            if not _FIELD_NAME.fullmatch(constant) or not isinstance(value, _CONSTANT):
                raise UnreadableError(f"its definition has a constant {short(repr(constant))}")
        for field, (node, content) in fields:
            if not _FIELD_NAME.fullmatch(field):
                raise UnreadableError(f"its definition has a field {short(repr(field))}")
            inner, length = content if node in _ARRAYS else ((node, content), 1)
            if inner[0] == Nodetype.NAME and not _TYPE_NAME.fullmatch(inner[1]):
                raise UnreadableError(f"its definition has a type {short(repr(inner[1]))}")
            if node == Nodetype.ARRAY:
                # Empty arrays would allow endless elements without data.
                if length < 1:
                    raise UnreadableError(f"its field {field} is an array of {length}")
                if inner[0] == Nodetype.NAME or inner[1][0] == "string":
                    unrolled += length
    if unrolled > _MAX_UNROLLED:
        raise UnreadableError(f"its arrays have more than {_MAX_UNROLLED} elements")


_ARRAYS = (Nodetype.ARRAY, Nodetype.SEQUENCE)
