"""The houses in which policies are trained: none of them is held back for scores."""

from __future__ import annotations

from planner.houses.generator import generate_house
from planner.houses.shipped import recipes
from planner.world.house import House
from planner.world.house_checks import load_house

# Seeds with this bit are of no other set of houses.
_SEEDS = 1 << 35


def training_houses(generated: int, seed: int = 0) -> tuple[House, ...]:
    """The shipped houses for training, and some more of 4 to 12 rooms without things.

    Args:
        generated: how many more.
        seed: equal seeds give the same houses.

    Raises:
        PlannerError: if a house cannot be generated.
    """
    shipped = [load_house(recipe.name) for recipe in recipes() if recipe.split == "train"]
    more = [
        generate_house(
            f"policy_{seed}_{number}",
            _SEEDS | seed << 16 | number,
            objects=0,
            split="train",
        )
        for number in range(generated)
    ]
    return (*shipped, *more)


def held_back_houses() -> tuple[House, ...]:
    """The shipped houses that nothing is trained in."""
    return tuple(load_house(recipe.name) for recipe in recipes() if recipe.split == "heldout")
