"""Values that no sane node sends, for fields of any message; knows no ROS.

A message that is wrong everywhere is refused at its first field. So most inputs are a true message
in which one to three fields are changed, and some are bytes that are no message at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from random import Random
from typing import Any

# In the notation of rclpy's `get_fields_and_field_types`.
_ARRAY = re.compile(
    r"(?:sequence<(?P<item>[^,]*)(?:,\s*(?P<limit>\d+))?>|(?P<of>.*)\[(?P<size>\d+)\])$"
)
_TEXT = re.compile(r"w?string(?:<(?P<limit>\d+)>)?$")
_INTEGER = re.compile(r"(?P<sign>u?)int(?P<bits>8|16|32|64)$")
_FILLER = "structure_needs_at_least_one_member"
_LARGEST_FLOAT = 3.4028234663852886e38
_NUMBERS = (
    *(float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e-320, 0.5, -1.0, 3.0),
    *(1e6, 1e9, 1e18, -1e18, 1e38, -1e38, 1e308),
)
_LONG = 20_000
_TEXTS = (
    *("", " ", "\n", "a\0b", "x" * 300, "x" * _LONG, "ü" * 300, "\u202e\u0000\uffff", "%s%n", "{}"),
    *("[" * 2000, '{"a":' * 500, "NaN", "1e999", "../..", "/etc/passwd", "~", "a/b", "/", "__ns"),
    *("map", "odom", "base_link", "agent_0", "agent_1", "agent_99", "agent_0/odom", "unknown"),
    *("on", "within", "held", "beside", "navigate", "look", "drive", "pick", "place", "stop"),
    *("Wait[]", "Explore[kitchen_1]", "Pick[cup_0]", "Place[cup_0, on, table_0, None, None]"),
    *("Pick[" * 300, "Navigate[]", "Done[]", "FindObjectTool[cup]", "yes", "no", "use_sim_time"),
)
_WORDS = (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\1", b"\xfe\0\0\0")
_SIZES = (0, 1, 2, 3, 70, 300)
_MAX_DEPTH = 6


class Values:
    """Draws from one source of chance, so that a seed gives the same inputs to the same topics."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def changed(self, message: Any) -> Any:
        """Changes one to three fields of a message, which is also returned."""
        for _ in range(self._chance.choice((1, 1, 2, 3))):
            self._change(message, 0)
        return message

    def _change(self, message: Any, depth: int) -> None:
        types = {n: t for n, t in message.get_fields_and_field_types().items() if n != _FILLER}
        if not types:
            return
        name = self._chance.choice(sorted(types))
        text, value = types[name], getattr(message, name)
        array = _ARRAY.match(text)
        inner = (array["item"] or array["of"]) if array else text
        # A part of a service or an action cannot be made anew.
        is_part = "/" in inner and array is None and _class_of(inner) is None
        if is_part or ("/" in inner and depth < _MAX_DEPTH and self._chance.random() < 0.8):
            if array is None:
                self._change(value, depth + 1)
                return
            if len(value):
                self._change(self._chance.choice(value), depth + 1)
                return
        setattr(message, name, self._value(text, depth))

    def _value(self, text: str, depth: int) -> Any:
        """A value of a type."""
        array = _ARRAY.match(text)
        if array is None:
            return self._single(text, depth)
        if array["of"]:
            return [self._single(array["of"], depth) for _ in range(int(array["size"]))]
        most = int(array["limit"] or _SIZES[-1])
        if "/" in array["item"] and _class_of(array["item"]) is None:
            return []
        count = min(most, self._chance.choice(_SIZES if depth < 2 else _SIZES[:3]))
        one = self._single(array["item"], depth)
        # Many of a kind, as a broken sender's, and cheap to make.
        return [self._single(array["item"], depth) if n < 3 else one for n in range(count)]

    def _single(self, text: str, depth: int) -> Any:
        chance = self._chance
        if text == "boolean":
            return chance.random() < 0.5
        if text in ("byte", "octet"):
            return bytes([chance.randrange(256)])
        if text in ("double", "float"):
            number = chance.choice(_NUMBERS)
            is_small = text == "double" or not abs(number) > _LARGEST_FLOAT
            return number if is_small or number in (float("inf"), float("-inf")) else 0.0
        if (found := _TEXT.match(text)) is not None:
            return chance.choice(_TEXTS)[: int(found["limit"] or 10 * _LONG)]
        if (whole := _INTEGER.match(text)) is not None:
            values = 2 ** int(whole["bits"])
            low = 0 if whole["sign"] else -values // 2
            high = low + values - 1
            return chance.choice((low, high, 0, 1, max(low, -1), chance.randint(0, 12), high // 2))
        message = _class_of(text)()
        if depth < _MAX_DEPTH:
            for _ in range(2):
                self._change(message, depth + 1)
        return message

    def broken(self, data: bytes) -> bytes:
        """Bytes that are hardly a message any more."""
        chance, damaged = self._chance, bytearray(data)
        ways: Sequence[Callable[[], bytes]] = (
            lambda: bytes(damaged[: chance.randrange(len(damaged) + 1)]),
            lambda: bytes(damaged[:4]) + b"\xff" * chance.choice((4, 8, 64, 4000)),
            lambda: chance.randbytes(chance.choice((1, 3, 4, 12, 200))),
            lambda: bytes([damaged[0], damaged[1] ^ 1, *damaged[2:]]) if len(damaged) > 1 else b"",
            lambda: self._overwritten(damaged),
        )
        return chance.choice(ways)()

    def _overwritten(self, data: bytearray) -> bytes:
        """With words as lengths and counts might be: huge, or of bytes that are not there."""
        for _ in range(self._chance.choice((1, 2, 8))):
            at = self._chance.randrange(max(1, len(data) - 3))
            data[at : at + 4] = self._chance.choice(_WORDS)
        return bytes(data)


def _class_of(text: str) -> Any:
    """The class of a message's type; None for a part of a service or an action."""
    package, _, name = text.partition("/")
    return getattr(import_module(f"{package}.msg"), name, None)
