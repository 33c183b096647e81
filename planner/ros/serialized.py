"""Serialised messages, for readers that need only a few of them in full."""

from __future__ import annotations

import struct

from builtin_interfaces.msg import Time

# The encapsulation's second byte says the byte order; the data begin after four.
_BODY = 4


def stamp_of(data: bytes) -> float:
    """The stamp, in seconds, of a serialised message that begins with a std_msgs/Header.

    Raises:
        ValueError: where the data are too short for one.
    """
    return _stamp(data, _BODY)


def set_stamp(data: bytearray, stamp: Time) -> None:
    """Gives a serialised message that begins with a std_msgs/Header another stamp.

    Raises:
        ValueError: where the data are too short for one.
    """
    if len(data) < _BODY + 8:
        raise ValueError(f"a message of {len(data)} bytes has no header")
    struct.pack_into(f"{_order(data)}iI", data, _BODY, stamp.sec, stamp.nanosec)


def first_stamp_of(data: bytes) -> float | None:
    """The stamp of the first of the stamped items that a message, such as /tf's, consists of.

    Raises:
        ValueError: where the data are too short for one.
    """
    if len(data) < _BODY + 4:
        raise ValueError(f"a message of {len(data)} bytes has no items")
    (count,) = struct.unpack_from(f"{_order(data)}I", data, _BODY)
    return _stamp(data, _BODY + 4) if count else None


def _stamp(data: bytes, at: int) -> float:
    if len(data) < at + 8:
        raise ValueError(f"a message of {len(data)} bytes has no header")
    sec, nanosec = struct.unpack_from(f"{_order(data)}iI", data, at)
    return float(sec) + float(nanosec) * 1e-9


def _order(data: bytes | bytearray) -> str:
    return "<" if data[1] & 1 else ">"
