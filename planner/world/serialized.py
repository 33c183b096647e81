"""Reads stamps from serialised messages (CDR), to avoid deserialising all of them."""

from __future__ import annotations

import struct

# The encapsulation's second byte is the byte order; the data start after four bytes.
_BODY = 4


def stamp_of(data: bytes | bytearray) -> float:
    """The stamp, in seconds, of a serialised message that starts with a std_msgs/Header.

    Raises:
        ValueError: if the data are too short.
    """
    return _stamp(data, _BODY)


def first_stamp_of(data: bytes | bytearray) -> float | None:
    """The stamp of the first item in a message that is a list of stamped items, such as /tf's.

    Raises:
        ValueError: if the data are too short.
    """
    if len(data) < _BODY + 4:
        raise ValueError(f"a message of {len(data)} bytes has no items")
    (count,) = struct.unpack_from(f"{byte_order(data)}I", data, _BODY)
    return _stamp(data, _BODY + 4) if count else None


def frame_of(data: bytes | bytearray) -> str:
    """The frame_id of a serialised message that starts with a std_msgs/Header.

    Raises:
        ValueError: if the data are too short, or no text.
    """
    return _text(data, _BODY + 8)[0]


def first_child_of(data: bytes | bytearray) -> str:
    """The child_frame_id of the first transform of a serialised tf2_msgs/TFMessage that has one.

    Raises:
        ValueError: if the data are too short, or no text.
    """
    # After the number of transforms, the stamp and the frame_id.
    _, ends = _text(data, _BODY + 12)
    return _text(data, ends + (_BODY - ends) % 4)[0]


def _text(data: bytes | bytearray, at: int) -> tuple[str, int]:
    """The string at an offset, and where it ends."""
    if len(data) < at + 4:
        raise ValueError(f"a message of {len(data)} bytes has no header")
    (length,) = struct.unpack_from(f"{byte_order(data)}I", data, at)
    name = bytes(data[at + 4 : at + 4 + length])
    if len(name) < length:
        raise ValueError(f"a message of {len(data)} bytes has no header")
    return name.rstrip(b"\0").decode(), at + 4 + length


def byte_order(data: bytes | bytearray) -> str:
    """The byte order of a serialised message, in `struct`'s notation."""
    return "<" if data[1] & 1 else ">"


def _stamp(data: bytes | bytearray, at: int) -> float:
    if len(data) < at + 8:
        raise ValueError(f"a message of {len(data)} bytes has no header")
    sec, nanosec = struct.unpack_from(f"{byte_order(data)}iI", data, at)
    return float(sec) + float(nanosec) * 1e-9
