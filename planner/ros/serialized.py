"""Serialised messages that are published anew with another stamp."""

from __future__ import annotations

import struct

from builtin_interfaces.msg import Time

from planner.world.serialized import byte_order

# The data begin after the encapsulation.
_BODY = 4


def set_stamp(data: bytearray, stamp: Time) -> None:
    """Gives a serialised message that begins with a std_msgs/Header another stamp.

    Raises:
        ValueError: where the data are too short for one.
    """
    if len(data) < _BODY + 8:
        raise ValueError(f"a message of {len(data)} bytes has no header")
    struct.pack_into(f"{byte_order(data)}iI", data, _BODY, stamp.sec, stamp.nanosec)
