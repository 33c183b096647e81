"""The suites of episodes that `planner bench` knows by name."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from planner.bench.suite import SuitePart, packed, shipped
from planner.world.share import config_dir


def _all() -> list[Path]:
    return [*shipped("heldout"), *shipped("train")]


def _rescue() -> list[Path]:
    return [config_dir() / "rescue" / "episodes"]


SUITES: Mapping[str, SuitePart] = {
    "all": SuitePart(summary="every shipped episode", places=_all),
    "train": SuitePart(
        summary="shipped episodes in the houses for training", places=partial(shipped, "train")
    ),
    "heldout": SuitePart(
        summary="shipped episodes in the held-out houses", places=partial(shipped, "heldout")
    ),
    "partnr_val": SuitePart(
        summary="a thousand generated tasks in the held-out and in other houses",
        places=partial(packed, "partnr_val"),
        version=3,
    ),
    "partnr_test": SuitePart(
        summary="a thousand generated tasks in houses of their own",
        places=partial(packed, "partnr_test"),
        version=3,
    ),
    "llamar": SuitePart(
        summary="tasks of LLaMAR's four types for teams, in single rooms and houses",
        places=partial(packed, "llamar"),
    ),
    "et_plan": SuitePart(
        summary="ET-Plan-Bench's tasks of all categories, with plans, in the ten test houses",
        places=partial(packed, "et_plan"),
    ),
    "teach": SuitePart(
        summary="tasks of TEACh's twelve types, given as dialogues or in the middle of one",
        places=partial(packed, "teach"),
    ),
    "rescue": SuitePart(
        summary="search and rescue, five scenes for two to five agents", places=_rescue
    ),
    "routines": SuitePart(
        summary="ten personal routines, taught in full and asked for with no to three changes",
        places=partial(packed, "routines"),
    ),
}
