"""Generates tasks for houses, row by row, and goes on where an earlier run was stopped.

What a row lacks in one house, because nothing more fits there, the next ones make up for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from planner.episodes.et_generation.house_tasks import OF_HOUSE, HouseTasks, Portion, Row

# How often the houses are gone through for a row that lacks tasks.
LAPS = 10


@dataclass(frozen=True, slots=True)
class Order:
    """What to generate.

    Attributes:
        houses: each makes a part of every row.
        rows: each gets as many tasks as the others, up to one.
        count: of tasks in all.
        seed: of everything random.
    """

    houses: Sequence[HouseTasks]
    rows: Sequence[Row]
    count: int
    seed: int


@dataclass(frozen=True, slots=True)
class Step:
    """One portion that is to be made: `number` of all, `count` tasks of a row in a house."""

    number: int
    row: Row
    house: HouseTasks
    count: int
    seed: str
    first: int


def generate(
    order: Order, known: Callable[[Step, set[str]], Portion | None]
) -> Iterator[tuple[Step, Portion]]:
    """Makes portions one after the other, which depend on the order and those before only.

    Args:
        order: what to make.
        known: an earlier run's portion, whose keys it adds to those given; None to make it.
    """
    number = 0
    for index, row in enumerate(order.rows):
        wanted = order.count // len(order.rows) + (index < order.count % len(order.rows))
        taken: dict[str, set[str]] = {}
        made: Counter[str] = Counter()
        # Houses that have nothing for the row are told once, and not asked again.
        without: set[str] = set()
        for lap in range(LAPS):
            for left, house in zip(range(len(order.houses), 0, -1), order.houses, strict=True):
                count = -(-(wanted - made.total()) // left)
                name = house.house.name
                if count <= 0 or name in without:
                    continue
                keys = taken.setdefault(name, set())
                seed = f"{order.seed}/{lap}"
                step = Step(number, row, house, count, seed, made[name])
                portion = known(step, keys)
                if portion is None:
                    portion = house.make(row, count, seed, keys, made[name])
                made[name] += len(portion.episodes)
                if portion.rejected.keys() & OF_HOUSE:
                    without.add(name)
                number += 1
                yield step, portion
