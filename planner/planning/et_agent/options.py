"""The options of `et_agent`, and the ranker and agent that they make."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from planner.parts.option import Option, OptionValue
from planner.planning.et_agent.agent import AgentOptions, EtAgent
from planner.planning.et_agent.frequencies import read_frequencies, shipped_frequencies_file
from planner.planning.et_agent.known import Prior
from planner.planning.et_agent.learned_ranker import learned_ranker, shipped_weights
from planner.planning.et_agent.random_ranker import RandomRanker
from planner.planning.et_agent.ranker import Ranker, RankerName
from planner.planning.et_agent.table_ranker import TableRanker
from planner.planning.part import PlannerRequest
from planner.planning.planner import Terms

AS_THE_TASK_SAYS = ""

ET_OPTIONS = (
    Option(
        "ranker",
        RankerName.AUTO.value,
        "who answers the agent's questions; auto = the model, or else what ships",
        choices=tuple(each.value for each in RankerName),
    ),
    Option(
        "ranker_file",
        "",
        "weights of the learned ranker, or counts of the table; empty = those that ship",
        is_path=True,
    ),
    Option("think_first", False, "whether the model is asked to think before it ranks"),
    Option(
        "prior",
        AS_THE_TASK_SAYS,
        "what is known from the start: P nothing, FP large furniture, G everything; empty = as the "
        "task says, or P",
        choices=(AS_THE_TASK_SAYS, *(each.value for each in Prior)),
    ),
    Option(
        "max_actions",
        0,
        "actions of a task, at most; 0 = as it says, or by its class",
        min_value=0,
        max_value=100_000,
    ),
    Option("two_arms", True, "whether two hands are used where the task allows two"),
)


def knows_everything(options: Mapping[str, OptionValue]) -> bool:
    """Whether the memory must be complete from the start."""
    return options.get("prior") == Prior.G


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
        return model_ranker(request, usual, thinks=request.flag("think_first"))
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
