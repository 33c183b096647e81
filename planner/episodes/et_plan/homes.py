"""The 50 houses of our ET-Plan-Bench tasks, in the paper's shares (ETPLAN-4.1).

They are made again from their seeds wherever they are needed, so no file holds them but a suite's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256

from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.nearest import did_you_mean

# VirtualHome's have four rooms, ours more.
_MIN_ROOMS, _MAX_ROOMS = 4, 8


class HomeSplit(StrEnum):
    """A set of houses; no house is in two."""

    TRAIN = "train"
    VAL = "val"
    TEST = "test"
    SPARE = "spare"


# The paper has 50 environments and says of 49 what they are for.
SIZES = {HomeSplit.TRAIN: 34, HomeSplit.VAL: 5, HomeSplit.TEST: 10, HomeSplit.SPARE: 1}


@dataclass(frozen=True, slots=True)
class Home:
    """How a house is made.

    Attributes:
        name: `et_train_0` and so on.
        split: the set that it belongs to.
        number: in all of them, from 0: the scene of the paper's record.
        seed: of the house generator.
        rooms: their number.
    """

    name: str
    split: HomeSplit
    number: int
    seed: int
    rooms: int

    def make(self) -> House:
        """The house, the same object each time."""
        return _made(self)


def homes(split: HomeSplit | None = None) -> tuple[Home, ...]:
    """The houses of a split, or of all, in order."""
    return tuple(home for home in _all() if split in (None, home.split))


def home_named(name: str) -> Home:
    """One of the houses.

    Raises:
        PlannerError: if none has this name.
    """
    found = next((home for home in _all() if home.name == name), None)
    if found is None:
        known = [home.name for home in _all()]
        raise PlannerError(
            f"there is no house {name!r} of ET-Plan-Bench's{did_you_mean(name, known)}"
        )
    return found


@lru_cache(maxsize=1)
def _all() -> tuple[Home, ...]:
    return tuple(_listed())


def _listed() -> Iterator[Home]:
    number = 0
    for split, size in SIZES.items():
        for index in range(size):
            name = f"et_{split}_{index}"
            drawn = int.from_bytes(sha256(name.encode()).digest()[:4], "big")
            rooms = _MIN_ROOMS + drawn % (_MAX_ROOMS - _MIN_ROOMS + 1)
            # Far from the seeds of the shipped houses.
            yield Home(name, split, number, drawn | 1 << 33, rooms)
            number += 1


@lru_cache(maxsize=sum(SIZES.values()))
def _made(home: Home) -> House:
    # Heavy, and not needed for a list of the houses.
    from planner.houses.generator import generate_house

    return generate_house(
        home.name,
        home.seed,
        rooms=home.rooms,
        split="train" if home.split is HomeSplit.TRAIN else "heldout",
    )
