"""The planner `et_agent`: reads a task, searches for what it names, and brings it (ETPLAN-2.3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from planner.planning.et_agent.carrying import Carrying
from planner.planning.et_agent.errand import Errand, TaskClass
from planner.planning.et_agent.prior import Prior
from planner.planning.et_agent.ranker import Ranker
from planner.planning.et_agent.walk import SpentError, Walk
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.world.instruct import InstructionCode
from planner.world.skill import SkillCall, SkillName

# M by what is asked (ETPLAN-1.4).
MAX_FINDING, MAX_BRINGING, MAX_SEVERAL = 20, 40, 60


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """The options of the planner.

    Attributes:
        prior: what is known from the start.
        max_actions: M; 0 = by the class of the task.
        two_arms: whether two hands are used for two things.
        by_map: whether who knows everything walks to furniture without its room first, as the true
            plans of tasks with a layout map do.
    """

    prior: Prior = Prior.P
    max_actions: int = 0
    two_arms: bool = True
    by_map: bool = False


class EtAgent:
    """A `Planner` whose first agent does everything; it never reads the structured goal."""

    def __init__(self, task: Task, ranker: Ranker, options: AgentOptions | None = None) -> None:
        """One task; the ranker answers the questions of its search."""
        self._text, self._agents = task.instruction, task.agents
        self._ranker, self._options = ranker, options or AgentOptions()
        self._walk: Walk | None = None
        self._carrying: Carrying | None = None
        self._class: TaskClass | None = None
        self._script: AsyncGenerator[SkillCall, None] | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return "et_agent"

    async def decide(self, context: Context) -> Decision:
        """The next call of the first agent; the others are done at once.

        Raises:
            ModelError: if a model is asked and does not reply.
        """
        actor = self._agents[0]
        calls = {agent: _DONE for agent in context.idle if agent != actor}
        if actor not in context.idle:
            return Decision(calls)
        if self._walk is None or self._script is None:
            self._walk = Walk(actor, self._ranker, self._options.prior, 0, context)
            self._script = self._calls(self._walk)
        self._walk.renew(context)
        try:
            call = await anext(self._script)
        except StopAsyncIteration:
            return self._ended(calls, actor)
        except SpentError as error:
            return self._failed(str(error))
        return Decision({**calls, actor: call}, evidence=self._evidence())

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Takes up how the actor's call ended."""
        for result in results:
            if self._walk is not None and result.agent == self._walk.agent:
                self._walk.note(result)

    async def _calls(self, walk: Walk) -> AsyncGenerator[SkillCall, None]:
        task_class = self._class = await self._ranker.classify(self._text)
        errands = await self._ranker.decompose(self._text, task_class)
        walk.max_actions = self._options.max_actions or most_actions(errands)
        self._carrying = Carrying(walk, by_map=self._options.by_map)
        if not errands:
            return
        run = self._carrying.run(
            errands,
            jointly=task_class is TaskClass.PLACE_TWO,
            two_arms=self._options.two_arms,
        )
        async for call in run:
            yield call

    def _ended(self, calls: dict[str, SkillCall], actor: str) -> Decision:
        carrying = self._carrying
        if carrying is None or carrying.walk.max_actions == 0:
            return self._failed("the task was not understood", InstructionCode.NO_GOAL)
        if carrying.failure:
            return self._failed(carrying.failure)
        return Decision({**calls, actor: _DONE}, "done", evidence=self._evidence())

    def _failed(self, why: str, code: InstructionCode = InstructionCode.GAVE_UP) -> Decision:
        return Decision(failure=why, end=code, evidence=self._evidence())

    def _evidence(self) -> dict[str, str]:
        walk = self._walk
        if walk is None:
            return {}
        order = self._carrying.order if self._carrying is not None else None
        return {
            "ranker": self._ranker.name.value,
            "ranker_source": self._ranker.evidence,
            "prior": self._options.prior.value,
            "task_class": "" if self._class is None else self._class.value,
            "actions": str(walk.actions),
            "asked": ", ".join(f"{what} {count}" for what, count in sorted(walk.asked.items())),
            **({} if order is None else {"order": order.value}),
        }


_DONE = SkillCall(SkillName.DONE, ())


def most_actions(errands: tuple[Errand, ...]) -> int:
    """M for a task of these parts; 0 for none (ETPLAN-1.4)."""
    moved = sum(errand.place is not None for errand in errands)
    if not errands:
        return 0
    return (MAX_FINDING, MAX_BRINGING)[moved] if moved < 2 else MAX_SEVERAL
