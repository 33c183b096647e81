"""Makes `et_agent` and its ranker by the options of a request."""

from __future__ import annotations

from pathlib import Path

from planner.planning.et_agent.agent import AgentOptions, EtAgent
from planner.planning.et_agent.frequencies import read_frequencies, shipped_frequencies_file
from planner.planning.et_agent.learned_ranker import learned_ranker, shipped_weights
from planner.planning.et_agent.prior import Prior
from planner.planning.et_agent.random_ranker import RandomRanker
from planner.planning.et_agent.ranker import Ranker, RankerName
from planner.planning.et_agent.table_ranker import TableRanker
from planner.planning.part import PlannerRequest
from planner.planning.planner import Terms


def make_et_agent(request: PlannerRequest) -> EtAgent:
    """The planner for one task.

    Raises:
        PlannerError: if its ranker needs a model, or a file that is not there.
    """
    terms = request.task.terms or Terms(arms=2)
    options = AgentOptions(
        prior=Prior(request.text("prior") or terms.prior),
        max_actions=request.whole("max_actions") or terms.max_actions or 0,
        two_arms=request.flag("two_arms") and terms.arms > 1,
        by_map=terms.prior == Prior.FP,
    )
    return EtAgent(request.task, ranker_of(request), options)


def ranker_of(request: PlannerRequest) -> Ranker:
    """The ranker that the options choose.

    Raises:
        PlannerError: if it needs a model, or a file that is not there.
    """
    name, file = RankerName(request.text("ranker")), request.text("ranker_file")
    if name is RankerName.AUTO:
        name = _usual(request, file)
    if name is RankerName.MODEL:
        from planner.planning.et_agent.model_ranker import model_ranker

        usual = TableRanker(read_frequencies(shipped_frequencies_file()))
        return model_ranker(
            request,
            usual,
            thinks=request.flag("think_first"),
            few_shot=request.flag("few_shot"),
        )
    if name is RankerName.LEARNED:
        return learned_ranker(Path(file) if file else shipped_weights())
    if name is RankerName.RANDOM:
        return RandomRanker(request.task.seed)
    return TableRanker(read_frequencies(Path(file) if file else shipped_frequencies_file()))


def _usual(request: PlannerRequest, file: str) -> RankerName:
    if request.language_model is not None:
        return RankerName.MODEL
    weights = Path(file) if file else shipped_weights()
    is_learned = weights.suffix == shipped_weights().suffix and weights.is_file()
    return RankerName.LEARNED if is_learned else RankerName.TABLE
