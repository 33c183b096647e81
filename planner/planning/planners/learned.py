"""Planner `learned`: a small trained network, without a server."""

from pathlib import Path

from planner.models.replies.turn_grammar import Naming
from planner.parts.option import Option
from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import Planner


def _make(request: PlannerRequest) -> Planner:
    from planner.planning.learned.learned import Learned
    from planner.planning.learned.weights import cached_planner, shipped_planner

    given = request.text("learned_model")
    model = cached_planner(Path(given) if given else shipped_planner())
    return Learned(request.task, model, temperature=request.number("learned_temperature"))


PLANNER = PlannerPart(
    summary="a small trained network that reads the words and the memory's changes; no server",
    make=_make,
    reads_changes=True,
    naming=Naming.NUMBERS,
    options=(
        Option(
            "learned_model", "", "file of a trained network; empty = the shipped one", is_path=True
        ),
        Option(
            "learned_temperature",
            0.0,
            "of drawing calls by their rank; 0 = always the first",
            min_value=0.0,
            max_value=100.0,
        ),
    ),
)
