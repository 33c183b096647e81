"""Serialised messages, for readers that need only a few of them in full."""

from __future__ import annotations

import struct

# The encapsulation's second byte says the byte order; the data begin after four.
_HEADER_BYTES = 12


def stamp_of(data: bytes) -> float:
    """The stamp, in seconds, of a serialised message that begins with a std_msgs/Header.

    Raises:
        ValueError: where the data are too short for one.
    """
    if len(data) < _HEADER_BYTES:
        raise ValueError(f"a message of {len(data)} bytes has no header")
    order = "<" if data[1] & 1 else ">"
    sec, nanosec = struct.unpack_from(f"{order}iI", data, 4)
    return float(sec) + float(nanosec) * 1e-9
