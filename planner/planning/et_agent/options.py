"""The options of `et_agent`."""

from __future__ import annotations

from collections.abc import Mapping

from planner.parts.option import Option, OptionValue
from planner.planning.et_agent.prior import Prior
from planner.planning.et_agent.ranker import RankerName

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
    Option("few_shot", False, "whether a model sees solved examples before it ranks"),
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
