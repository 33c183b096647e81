"""ET-Plan-Bench's agent."""

from papers.et_plan_bench.ranker import ET_OPTIONS, knows_everything
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
