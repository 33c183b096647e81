"""PARTNR's suites."""

from collections.abc import Mapping
from functools import partial

from planner.bench.suite import SuitePart, packed

SUITES: Mapping[str, SuitePart] = {
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
}
