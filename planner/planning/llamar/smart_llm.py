"""Planner `llamar_smart_llm`: a program is written once and carried out without looking back.

The paper's baseline of the kind plan-and-execute (LLAMAR-2.9, LLAMAR-D90).
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.planning.llamar.actions import IDLE
from planner.planning.llamar.asking import MAX_ATTEMPTS, Asking
from planner.planning.llamar.joint_planner import Ended, JointPlanner, Moment
from planner.planning.llamar.plain_translator import PlainTranslator
from planner.planning.llamar.right_program import RightProgram
from planner.planning.llamar.smart_program import Allocation, Functions
from planner.planning.llamar.smart_roles import AllocatingRole, DecomposingRole
from planner.planning.llamar.smart_run import ProgramRun
from planner.planning.llamar.state import HORIZON, Situation
from planner.planning.llamar.team import ActionOptions, JointPlan, Team, setting_of
from planner.planning.planner import Task


class PlanningOnce:
    """A `planner.planning.llamar.joint_planner.Mind` that asks its model in the first step only."""

    def __init__(self, asking: Asking, team: Team, options: ActionOptions) -> None:
        """There is no program yet."""
        self._asking, self._names, self._options = asking, team.names, options
        self._run: ProgramRun | None = None
        # How actions ended that failed: nobody decides by them, but they are told at the end.
        self._failed: list[str] = []

    @property
    def evidence(self) -> Mapping[str, str]:
        """How much of the program was given to the robots."""
        run = self._run
        return {"program_steps": "none" if run is None else f"{run.given} of {run.steps}"}

    async def judge(self, moment: Moment) -> str:
        """Never says that the task is over: the end of the program does."""
        self._failed += [one.text for one in moment.attempts if not one.succeeded]
        return ""

    async def act(self, moment: Moment) -> JointPlan | Ended | None:
        """The next actions of the program; after its end how many of them failed."""
        if self._run is None:
            planned = await self._plan(moment)
            if planned is None:
                why = f"no program came in {MAX_ATTEMPTS} replies: {self._asking.problem}"
                return Ended(why)
            self._run = ProgramRun(*planned)
        actions = self._run.next()
        if not actions:
            return Ended(self._outcome_text(), is_done=True)
        written = {name: str(actions.get(name, IDLE)) for name in self._names}
        return moment.plan(written, [name.replace("_", " ") for name in self._run.running])

    def _outcome_text(self) -> str:
        run, failed = self._run, self._failed
        if run is None or not failed:
            return "the program has ended"
        return f"the program has ended; {len(failed)} of {run.given} actions failed: {failed[0]}"

    async def _plan(self, moment: Moment) -> tuple[Functions, Allocation] | None:
        situation = Situation(
            task=moment.task, views=moment.views, setting=setting_of(self._options)
        )
        functions = await self._asking.ask(DecomposingRole(self._options), situation)
        if functions is None:
            return None
        role = AllocatingRole(self._names, functions)
        allocation = await self._asking.ask(role, situation)
        return None if allocation is None else (functions, allocation)


def make_smart_llm(
    task: Task,
    asking: Asking,
    options: ActionOptions | None = None,
    *,
    horizon: int = HORIZON,
) -> JointPlanner:
    """The planner for one task.

    Raises:
        PlannerError: for a team that is too large.
    """
    options = options or ActionOptions()
    team = Team(task.agents, PlainTranslator(), options)
    planner = JointPlanner(task, PlanningOnce(asking, team, options), team, asking, horizon)
    asking.right = RightProgram(task, planner.right)
    return planner
