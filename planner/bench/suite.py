"""Suites of episodes: their record, and those that `planner bench` knows by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from planner.parts.catalog import Catalog
from planner.parts.option import Option

INTERFACE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePart:
    """The record of a suite.

    Attributes:
        summary: one line for the help.
        places: folders and files of its episodes, each of which has an evaluation.
        version: counts up when the episodes are made anew; figures of two versions do not compare.
        options: none yet.
        interface: the version of this record that it was written for.
    """

    summary: str
    places: Callable[[], Sequence[Path]]
    version: int = 1
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE


SUITES: Catalog[SuitePart] = Catalog(
    "suite", __name__, "SHIPPED", f"{__name__}:SuitePart", INTERFACE, group="planner.suites"
)


def shipped(folder: str) -> list[Path]:
    """A folder of the shipped episodes, config/episodes/FOLDER, for `SuitePart.places`."""
    from planner.world.share import config_dir

    return [config_dir() / "episodes" / folder]


def packed(name: str) -> list[Path]:
    """The episodes of a shipped pack, config/suites/NAME.json.gz, for `SuitePart.places`."""
    from planner.episodes.episode_file import unpacked
    from planner.world.share import config_dir

    return [unpacked(config_dir() / "suites" / f"{name}.json.gz")]


def _all() -> list[Path]:
    return [*shipped("heldout"), *shipped("train")]


SHIPPED: Mapping[str, SuitePart] = {
    "all": SuitePart(summary="every shipped episode", places=_all),
    "train": SuitePart(
        summary="shipped episodes in the houses for training", places=partial(shipped, "train")
    ),
    "heldout": SuitePart(
        summary="shipped episodes in the held-out houses", places=partial(shipped, "heldout")
    ),
}
