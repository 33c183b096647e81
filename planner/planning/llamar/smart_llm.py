"""Planner `llamar_smart_llm`: a program is written once and carried out without looking back.

The paper's baseline of the kind plan-and-execute (LLAMAR-2.9, LLAMAR-D90).
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.planning.llamar.actions import DONE, IDLE
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

    @property
    def evidence(self) -> Mapping[str, str]:
        """How much of the program was given to the robots."""
        run = self._run
        return {"program_steps": "none" if run is None else f"{run.given} of {run.steps}"}

    async def judge(self, moment: Moment) -> str:  # noqa: ARG002 - nobody looks at results
        """Never says that the task is over: the end of the program does."""
        return ""

    async def act(self, moment: Moment) -> JointPlan | Ended | None:
        """The next actions of the program; `Done` of all after its end."""
        if self._run is None:
            planned = await self._plan(moment)
            if planned is None:
                why = f"no program came in {MAX_ATTEMPTS} replies: {self._asking.problem}"
                return Ended(why)
            self._run = ProgramRun(*planned)
        actions = self._run.next()
        rest = IDLE if actions else DONE
        written = {name: str(actions.get(name, rest)) for name in self._names}
        return moment.plan(written, [name.replace("_", " ") for name in self._run.running])

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
