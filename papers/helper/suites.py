"""HELPER's suites: TEACh's tasks and personal routines."""

from collections.abc import Mapping
from functools import partial

from planner.bench.suite import SuitePart, packed

SUITES: Mapping[str, SuitePart] = {
    "teach": SuitePart(
        summary="tasks of TEACh's twelve types, given as dialogues or in the middle of one",
        places=partial(packed, "teach"),
    ),
    "routines": SuitePart(
        summary="ten personal routines, taught in full and asked for with no to three changes",
        places=partial(packed, "routines"),
    ),
}
