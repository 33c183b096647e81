"""HELPER's planners and suites."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from papers.helper.options import HELPER_OPTIONS, RETRIEVAL_OPTIONS, wants_pictures
from planner.bench.suite import SuitePart, packed
from planner.planning.part import Asks, Needs, PlannerPart, PlannerRequest, Reads
from planner.planning.planner import Planner


def _make_helper(request: PlannerRequest) -> Planner:
    from papers.helper.program_planner import make_helper

    return make_helper(request)


def _make_helper_retrieval(request: PlannerRequest) -> Planner:
    from papers.helper.program_planner import make_retrieval

    return make_retrieval(request)


HELPER = PlannerPart(
    summary="HELPER: a program from a dialogue, by a model shown similar ones; one robot",
    make=_make_helper,
    needs=Needs(model=True),
    reads=Reads(pictures=wants_pictures),
    asks=Asks(tells_replies=True, person=True),
    options=HELPER_OPTIONS,
)

HELPER_RETRIEVAL = PlannerPart(
    summary="HELPER without a model: the nearest remembered program, rebound to the request",
    make=_make_helper_retrieval,
    asks=Asks(person=True),
    options=RETRIEVAL_OPTIONS,
)


# HELPER's suites: TEACh's tasks and personal routines.

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
