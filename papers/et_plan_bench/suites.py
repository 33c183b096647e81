"""ET-Plan-Bench's suite."""

from collections.abc import Mapping
from functools import partial

from planner.bench.suite import SuitePart, packed

SUITES: Mapping[str, SuitePart] = {
    "et_plan": SuitePart(
        summary="ET-Plan-Bench's tasks of all categories, with plans, in the ten test houses",
        places=partial(packed, "et_plan"),
    ),
}
