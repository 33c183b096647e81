"""Message definitions found in bags, and reading messages by them.

The library that reads messages writes Python code from their definitions and runs it. A bag may
come from anywhere, so a definition is checked before: names are plain identifiers, and no array
makes that code grow without limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

# The longest definition of a standard message, with those of all messages in it, has 20 kB.
_MAX_DEFINITION_CHARS = 400_000
# Code is written for each element of an array of strings or messages.
_MAX_UNROLLED = 10_000
_TYPE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*){1,3}")
_FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_CONSTANT = (bool, int, float, str)
_MAX_REASON_CHARS = 200


class UnreadableError(ValueError):
    """Data that are no message of their type, or a definition that cannot be used."""


def printable(text: str) -> str:
    """A text of a bag without what would move a terminal's cursor or colour it."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def short(reason: object) -> str:
    """A library's reason in one printable line of bounded length."""
    if isinstance(reason, BaseException):
        text = str(reason) or type(reason).__name__
    else:
        text = str(reason)
    line = "".join(c if c.isprintable() else " " for c in text[: 2 * _MAX_REASON_CHARS])
    return line if len(line) <= _MAX_REASON_CHARS else line[:_MAX_REASON_CHARS] + "..."


@lru_cache(maxsize=1024)
def message_reader(type_name: str, definition: str) -> Callable[[bytes | memoryview], Any]:
    """What reads serialised (CDR) messages of a type.

    It raises `UnreadableError` for data that are no such message.

    Raises:
        UnreadableError: if the definition is missing or cannot be used.
    """
    if not definition:
        raise UnreadableError(f"the bag has no ROS 2 definition of {short(type_name)}")
    types = _types(type_name, definition, get_types_from_msg)
    try:
        store = get_typestore(Stores.EMPTY)
        store.register(types)
        # Writes the code now: a definition that lacks a part is not the fault of its messages.
        store.get_msgdef(type_name)
    except Exception as error:
        raise UnreadableError(f"its definition cannot be used: {short(error)}") from None

    def read(data: bytes | memoryview) -> Any:
        try:
            return store.deserialize_cdr(data, type_name)
        except Exception as error:
            raise UnreadableError(f"is no {type_name}: {short(error)}") from None

    return read


@lru_cache(maxsize=1024)
def msg_text(type_name: str, definition: str) -> str:
    """A definition in OMG IDL as one in ROS 2's own language, with those of all messages in it.

    Raises:
        UnreadableError: if it cannot be used.
    """
    types = _types(type_name, definition, lambda text, _: get_types_from_idl(text))
    try:
        store = get_typestore(Stores.EMPTY)
        store.register(types)
        return store.generate_msgdef(type_name, ros_version=2)[0]
    # As when it is parsed: whatever a stranger's definition makes the library trip over.
    except Exception as error:
        raise UnreadableError(f"its definition cannot be used: {short(error)}") from None


@lru_cache(maxsize=1024)
def standard_text(type_name: str, ros_distro: str = "") -> str:
    """The definition of a message that ROS 2 itself has; "" of any other."""
    stores = {store.name: store for store in Stores if store.name.startswith("ROS2_")}
    store = get_typestore(stores.get(f"ROS2_{ros_distro.upper()}", Stores.LATEST))
    if type_name not in store.fielddefs:
        return ""
    return store.generate_msgdef(type_name, ros_version=2)[0]


def _types(type_name: str, definition: str, parse: Callable[[str, str], Any]) -> Any:
    if not _TYPE_NAME.fullmatch(type_name):
        raise UnreadableError(f"{short(repr(type_name))} is no name of a message type")
    if len(definition) > _MAX_DEFINITION_CHARS:
        raise UnreadableError(f"its definition has more than {_MAX_DEFINITION_CHARS} characters")
    try:
        types = parse(definition, type_name)
    # The parser trips over damaged text in many ways and names none of them as its errors; its
    # own reason repeats the whole text.
    except Exception:
        raise UnreadableError("its definition is not in ROS 2's language") from None
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
                # An array of none would make messages of no bytes: endlessly many in a few.
                if length < 1:
                    raise UnreadableError(f"its field {field} is an array of {length}")
                if inner[0] == Nodetype.NAME or inner[1][0] == "string":
                    unrolled += length
    if unrolled > _MAX_UNROLLED:
        raise UnreadableError(f"its arrays have more than {_MAX_UNROLLED} elements")


_ARRAYS = (Nodetype.ARRAY, Nodetype.SEQUENCE)
