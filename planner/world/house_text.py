"""Houses from the texts of their files, such as those that topics and bags bring.

Nothing is checked here beyond schema and size, so that who only draws a house needs neither
geometry nor path search; `house_checks` does the rest.
"""

from __future__ import annotations

import json

from planner.world.errors import FileError
from planner.world.files import parse_model
from planner.world.house import HOUSE_VERSION, House
from planner.world.versions import upgraded

# Limits for untrusted input: length of texts, size of a house. Data sets have houses of 60 m.
_MAX_CHARS = 16_000_000
_MAX_SIDE_M = 150.0


def parse_json(text: str, source: str) -> object:
    """The content of an untrusted JSON text.

    Raises:
        FileError: with the source and the reason.
    """
    if len(text) > _MAX_CHARS:
        raise FileError(source, "", f"has more than {_MAX_CHARS} characters")
    try:
        return json.loads(text)
    except ValueError as error:
        raise FileError(source, "", f"is not well formed: {error}") from None
    except RecursionError:
        raise FileError(source, "", "is nested too deeply") from None


def parse_house(text: str, source: str) -> House:
    """A house without `check_house`: to be drawn, not to be lived in.

    Args:
        text: of the file, untrusted.
        source: its name for errors.

    Raises:
        FileError: if it does not match the schema, or is too large.
    """
    house = parse_model(upgraded(parse_json(text, source), HOUSE_VERSION, source), House, source)
    x0, y0, x1, y1 = house.bounds_m
    if not (x1 - x0 <= _MAX_SIDE_M and y1 - y0 <= _MAX_SIDE_M):
        raise FileError(source, "rooms", f"the house is larger than {_MAX_SIDE_M:g} m")
    return house
