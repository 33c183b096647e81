"""The suites of episodes that `planner bench` knows by name."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from planner.bench.suite import SuitePart, shipped


def _all() -> list[Path]:
    return [*shipped("heldout"), *shipped("train")]


SUITES: Mapping[str, SuitePart] = {
    "all": SuitePart(summary="every shipped episode", places=_all),
    "train": SuitePart(
        summary="shipped episodes in the houses for training", places=partial(shipped, "train")
    ),
    "heldout": SuitePart(
        summary="shipped episodes in the held-out houses", places=partial(shipped, "heldout")
    ),
}
