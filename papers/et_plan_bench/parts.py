"""ET-Plan-Bench's planner, what a ranker has to be, and suites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Protocol

from planner.bench.suite import SuitePart, packed
from planner.parts.option import Option, OptionValue
from planner.planning.part import Asks, Needs, PlannerPart, PlannerRequest
from planner.planning.planner import Planner

if TYPE_CHECKING:
    from planner.planning.errands import Errand


# The class of a task, the questions that the agent asks a ranker, and the agent's options.

# The class of a task.


class TaskClass(StrEnum):
    """The classes of tasks, in the paper's words (ETPLAN-2.4).

    NEST_AND_PLACE is ours: the paper has no class for one thing into another and both to a place.
    """

    NAVIGATION = "simple navigation"
    NAVIGATION_RELATION = "constrained simple navigation"
    PLACE = "pick and place"
    PLACE_RELATION = "constrained pick and place"
    PLACE_TWO = "pick two objects and place jointly"
    NEST_AND_PLACE = "nest and place"


class RankerName(StrEnum):
    """Which ranker answers.

    AUTO is the model where one is set, else the learned model where its file is there, else the
    frequency table. RANDOM is for comparison.
    """

    AUTO = "auto"
    MODEL = "model"
    LEARNED = "learned"
    TABLE = "table"
    RANDOM = "random"


class Ranker(Protocol):
    """Answers the agent's questions (ETPLAN-2.4). One instance is used for one task.

    Its answers are words of the question: names that were not offered never appear.
    """

    @property
    def name(self) -> RankerName:
        """Which one it is; never AUTO."""

    @property
    def evidence(self) -> str:
        """What stands behind its answers, for a result: a file, a model, where it was learnt."""

    async def classify(self, task: str) -> TaskClass:
        """The class of a task.

        Raises:
            ModelError: if it asks a model, and there is no reply.
        """

    async def decompose(self, task: str, task_class: TaskClass) -> tuple[Errand, ...]:
        """The parts of a task, in the order in which they are to be done; empty = not understood.

        Raises:
            ModelError: if it asks a model, and there is no reply.
        """

    async def rank_rooms(self, targets: Sequence[str], rooms: Sequence[str]) -> tuple[str, ...]:
        """All of the rooms, the most likely first.

        Args:
            targets: what is sought: one class, or two that are sought together.
            rooms: names, all different.

        Raises:
            ModelError: if it asks a model, and there is no reply.
        """

    async def large_objects(
        self, targets: Sequence[str], room: str, visible: Sequence[str]
    ) -> tuple[str, ...]:
        """Those of the visible that are worth a visit, the most likely first; empty = none.

        Args:
            targets: what is sought: one class, or two that are sought together.
            room: its name.
            visible: class names, one for each entity in view, so that they may repeat; furniture
                and things alike. An answer names each class once.

        Raises:
            ModelError: if it asks a model, and there is no reply.
        """


# How much the agent knows before it begins (ETPLAN-1.2).


class Prior(StrEnum):
    """What is known from the start, besides the names of rooms (ETPLAN-1.2).

    P: nothing; only what is seen counts. FP: the large furniture, which nobody carries. G:
    everything, for runs whose memory is complete.
    """

    P = "P"
    FP = "FP"
    G = "G"


# The options of `et_agent`.

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
    )
}
