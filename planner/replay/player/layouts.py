"""Whether the messages of a bag have the layout of the installed type."""

from __future__ import annotations

import re
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.typesys import get_types_from_msg

_TYPE_NAME = re.compile(r"[a-z][a-z0-9_]*/msg/[A-Z][A-Za-z0-9]*")
_MAX_DEFINITION_CHARS = 400_000


def is_type_name(name: str) -> bool:
    """Whether this is the name of a message type, such as `sensor_msgs/msg/Image`."""
    return bool(_TYPE_NAME.fullmatch(name))


def same_layout(type_name: str, recorded: str, installed: str) -> bool:
    """Whether two definitions of a type have the same fields in the same order, recursively.

    Comments and constants may differ. Nothing of the definitions is executed.

    Args:
        type_name: of the message.
        recorded: the definition in the bag; an unreadable one differs.
        installed: the definition that nodes have.
    """
    if recorded == installed:
        return True
    if len(recorded) > _MAX_DEFINITION_CHARS:
        return False
    # Outside of `try`: an unreadable installed definition would be a defect of ours.
    expected = _fields(type_name, installed)
    try:
        return _fields(type_name, recorded) == expected
    # The parser fails with any exception on untrusted text.
    except Exception:
        return False


def _fields(type_name: str, text: str) -> dict[str, Any]:
    """The fields of a type and of all its nested types."""
    types: Any = get_types_from_msg(text, type_name)
    found: dict[str, Any] = {}
    missing = [type_name]
    while missing:
        name = missing.pop()
        if name in found:
            continue
        fields = found[name] = types[name][1]
        for _, (node, content) in fields:
            inner = content[0] if node in (Nodetype.ARRAY, Nodetype.SEQUENCE) else (node, content)
            kind, inner_name = inner
            if kind == Nodetype.NAME:
                missing.append(inner_name)
    return found
