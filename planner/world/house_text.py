"""Houses from the texts of their files, such as those that topics and bags bring.

Nothing is checked here beyond schema and size, so that who only draws a house needs neither
geometry nor path search; `house_checks` does the rest.
"""

from __future__ import annotations

from pathlib import Path

from planner.world.errors import FileError
from planner.world.files import parse_json, parse_model
from planner.world.house import HOUSE_VERSION, House
from planner.world.versions import upgraded

# Of untrusted houses. Data sets have houses of 60 m.
MAX_SIDE_M = 150.0


def parse_house(text: str, source: str) -> House:
    """A house without `check_house`: to be drawn, not to be lived in.

    Args:
        text: of the file, untrusted.
        source: its name for errors.

    Raises:
        FileError: if it does not match the schema, or is too large.
    """
    house = parse_model(upgraded(parse_json(text, source), HOUSE_VERSION, source), House, source)
    refuse_large(house, source)
    return house


def refuse_large(house: House, source: Path | str) -> None:
    """Refuses a house whose floor grid would not fit into memory.

    Raises:
        FileError: naming the limit.
    """
    x0, y0, x1, y1 = house.bounds_m
    if not (x1 - x0 <= MAX_SIDE_M and y1 - y0 <= MAX_SIDE_M):
        raise FileError(source, "rooms", f"the house is larger than {MAX_SIDE_M:g} m")
