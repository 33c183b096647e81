"""The houses that the ranking model and the questions for language models are made of.

Houses of validation and test are never trained on: whatever brings one of them in is one error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from planner.episodes.et_plan.homes import HomeSplit, homes
from planner.houses.generator import generate_house
from planner.world.errors import PlannerError
from planner.world.house import House

# As the training houses have (planner/episodes/et_plan/homes.py).
_MIN_ROOMS, _MAX_ROOMS = 4, 8


def more_house(index: int) -> House:
    """A further training house, `et_more_0` and so on, with a seed that no other house has.

    Raises:
        PlannerError: if none was found.
    """
    name = f"et_more_{index}"
    drawn = int.from_bytes(sha256(name.encode()).digest()[:4], "big")
    rooms = _MIN_ROOMS + drawn % (_MAX_ROOMS - _MIN_ROOMS + 1)
    return generate_house(name, drawn | 1 << 34, rooms=rooms, split="train")


def check_training_houses(houses: Iterable[House]) -> None:
    """Refuses houses that are to be validated or tested on, also under another name.

    Raises:
        PlannerError: naming the first such house.
    """
    kept_back = [home for home in homes() if home.split is not HomeSplit.TRAIN]
    by_name = {home.name: home for home in kept_back}
    by_seed = {home.seed: home for home in kept_back}
    for house in houses:
        found = by_name.get(house.name)
        if found is None and house.seed is not None:
            found = by_seed.get(house.seed)
        if found is not None:
            same = "" if found.name == house.name else f", which is {found.name}"
            raise PlannerError(
                f"{house.name}{same}: is a house of the split {found.split}, and cannot be "
                "trained on"
            )
        if house.split == "heldout":
            raise PlannerError(f"{house.name}: is a held-out house, and cannot be trained on")


def houses_of(split: HomeSplit) -> Sequence[House]:
    """The houses of a split."""
    return tuple(home.make() for home in homes(split))
