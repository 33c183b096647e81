"""Planners `llamar_act`, `llamar_react` and `llamar_cot`: the paper's reactive baselines.

One call of the model in each joint step, with a trace of the steps so far and neither subtasks nor
memory. They differ in what the model writes before the actions (LLAMAR-D12).
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.models.caller import Remark
from planner.planning.llamar.acting_role import ActingRole, Style
from planner.planning.llamar.action_words import action_list
from planner.planning.llamar.actor_role import any_text
from planner.planning.llamar.asking import Asking
from planner.planning.llamar.joint_planner import JointPlanner, Moment
from planner.planning.llamar.state import HORIZON, Attempt, Situation
from planner.planning.llamar.team import ActionOptions, JointPlan, Team, as_remark, setting_of
from planner.planning.llamar.translator import Translator
from planner.planning.planner import Task


class Reacting:
    """A `planner.planning.llamar.joint_planner.Mind` that only acts."""

    def __init__(
        self,
        style: Style,
        asking: Asking,
        team: Team,
        options: ActionOptions,
        *,
        listed_actions: bool = False,
    ) -> None:
        """`listed_actions`: whether the grammar lists the actions of the moment."""
        self._style, self._asking, self._names = style, asking, team.names
        self._list, self._is_listed = action_list(options), listed_actions
        self._steps: list[str] = []
        self._setting = setting_of(options)

    @property
    def evidence(self) -> Mapping[str, str]:
        """Nothing of its own."""
        return {}

    async def judge(self, moment: Moment) -> str:
        """Notes the step; never says that the task is over."""
        self._steps.append(_line(moment.step, self._names, moment.attempts))
        return ""

    async def act(self, moment: Moment) -> JointPlan | None:
        """One call of the model."""
        planned: list[JointPlan] = []

        def read(said: Mapping[str, str]) -> Remark:
            planned.append(moment.plan(said, (moment.task,)))
            return as_remark(planned[-1])

        wordings = moment.wordings if self._is_listed else any_text
        role = ActingRole(self._style, self._names, self._list, tuple(self._steps), wordings)
        situation = Situation(
            task=moment.task, views=moment.views, step=moment.step, setting=self._setting
        )
        said = await self._asking.ask(role, situation, read)
        return None if said is None else planned[-1]


def _line(step: int, names: tuple[str, ...], attempts: tuple[Attempt, ...]) -> str:
    parts = (f"{name}: {one.text}" for name, one in zip(names, attempts, strict=True))
    return f"step {step}: " + "; ".join(parts)


def make_acting(
    style: Style,
    task: Task,
    asking: Asking,
    translator: Translator,
    options: ActionOptions | None = None,
    *,
    horizon: int = HORIZON,
    listed_actions: bool = False,
) -> JointPlanner:
    """The planner for one task.

    Raises:
        PlannerError: for a team that is too large.
    """
    options = options or ActionOptions()
    team = Team(task.agents, translator, options)
    mind = Reacting(style, asking, team, options, listed_actions=listed_actions)
    return JointPlanner(task, mind, team, asking, horizon)
