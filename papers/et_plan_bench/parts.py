"""ET-Plan-Bench's planner and suites."""

from collections.abc import Mapping
from functools import partial

from papers.et_plan_bench.ranker import ET_OPTIONS, knows_everything
from planner.bench.suite import SuitePart, packed
from planner.planning.part import Asks, Needs, PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from papers.et_plan_bench.agent import make_et_agent

    return make_et_agent(request)


ET_AGENT = PlannerPart(
    summary="ET-Plan-Bench: ranks rooms, looks round, tries furniture; one robot",
    make=_make,
    needs=Needs(full_memory=knows_everything),
    asks=Asks(model=True, tells_replies=True),
    options=ET_OPTIONS,
)


# ET-Plan-Bench's suite.

SUITES: Mapping[str, SuitePart] = {
    "et_plan": SuitePart(
        summary="ET-Plan-Bench's tasks of all categories, with plans, in the ten test houses",
        places=partial(packed, "et_plan"),
    ),
}
