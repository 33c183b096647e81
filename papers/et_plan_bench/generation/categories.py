"""The categories of ET-Plan-Bench's tasks, and the houses that they are made for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256

from planner.world.errors import PlannerError, did_you_mean
from planner.world.house import House


class Category(StrEnum):
    """What a task asks for; the value of `Criteria.category`."""

    NAVIGATION = "navigation"
    NAVIGATION_RELATION = "navigation_relation"
    MANIPULATION = "manipulation"
    MANIPULATION_RELATION = "manipulation_relation"
    TWO_OBJECTS = "two_objects"
    TEMPORAL = "temporal"

    @property
    def most_actions(self) -> int:
        """The limit M of actions (ETPLAN-1.4)."""
        if self in (Category.NAVIGATION, Category.NAVIGATION_RELATION):
            return 20
        return 40 if self in (Category.MANIPULATION, Category.MANIPULATION_RELATION) else 60


class Variant(StrEnum):
    """What is special about a task; values of `Criteria.variants`.

    LAYOUT_MAP: where furniture is, is known at the start. OCCLUSION_SIZE, OCCLUSION_DISTANCE: in
    the fifth of its category with the smallest, or the farthest, targets. OPTIMAL_PATH: two
    things may be carried at a time, and the plan is the one with the shortest walk.
    ACTION_DEPENDENCY: something has to be opened before it can go on.
    """

    LAYOUT_MAP = "layout_map"
    OCCLUSION_SIZE = "occlusion_size"
    OCCLUSION_DISTANCE = "occlusion_distance"
    OPTIMAL_PATH = "optimal_path"
    ACTION_DEPENDENCY = "action_dependency"


# The 50 houses of our ET-Plan-Bench tasks, in the paper's shares (ETPLAN-4.1).
#
# They are made again from their seeds wherever they are needed, so no file holds them but a
# suite's.

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
