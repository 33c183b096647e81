"""Planner `llamar`: plan, act, correct, verify (LLAMAR-D1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field

from planner.models.caller import Remark
from planner.planning.llamar.action_words import action_list
from planner.planning.llamar.actor_role import ActorRole, JointAction, any_text
from planner.planning.llamar.asking import Asking
from planner.planning.llamar.corrector_role import CorrectorRole, Remedies
from planner.planning.llamar.joint_planner import JointPlanner, Moment
from planner.planning.llamar.oracle import Oracle
from planner.planning.llamar.planner_role import PlannerRole
from planner.planning.llamar.state import HORIZON, Correction, Situation, VerifiedBy
from planner.planning.llamar.team import ActionOptions, JointPlan, Team, as_remark, setting_of
from planner.planning.llamar.translator import Translator
from planner.planning.llamar.verifier_role import VerifierRole
from planner.planning.planner import Task
from planner.world.record import record


@record
class LlamarOptions:
    """How the roles work together.

    Attributes:
        correction: who finds out why an action failed.
        verified_by: who says which subtasks are complete.
        skip_on_success: whether the Corrector is left out after a step without failures.
        confirm_empty: whether the Planner is asked again where the Verifier leaves nothing open.
        confirm_done: whether `Done` of all agents ends the task only where nothing is open; it is
            asked for again else.
        listed_actions: whether the Actor's grammar lists the actions of the moment.
        horizon: joint steps.
        actions: what agents are offered.
    """

    correction: Correction = Correction.SEPARATE
    verified_by: VerifiedBy = VerifiedBy.MODEL
    skip_on_success: bool = False
    confirm_empty: bool = False
    confirm_done: bool = False
    listed_actions: bool = False
    horizon: int = HORIZON
    actions: ActionOptions = field(default_factory=ActionOptions)


class FourRoles:
    """A `planner.planning.llamar.joint_planner.Mind`: subtasks and memory between the steps.

    Attributes:
        open_subtasks, completed_subtasks: of now.
        memory_versions: the Actor's texts with the step of each, oldest first.
    """

    def __init__(
        self,
        asking: Asking,
        team: Team,
        options: LlamarOptions,
        oracle: Oracle | None = None,
    ) -> None:
        """Nothing is open, completed or remembered; `oracle` says what is complete, if given."""
        self._oracle = oracle
        self._asking, self._options, self._names = asking, options, team.names
        self._list = action_list(options.actions)
        self.open_subtasks: tuple[str, ...] = ()
        self.completed_subtasks: tuple[str, ...] = ()
        self.memory_versions: list[tuple[int, str]] = []
        self._subtask = ""
        self._remedies = Remedies()
        self._is_planned = self._has_plan = False

    @property
    def evidence(self) -> Mapping[str, str]:
        """The subtasks as JSON, and the memory."""
        return {
            "open_subtasks": json.dumps(self.open_subtasks, ensure_ascii=False),
            "completed_subtasks": json.dumps(self.completed_subtasks, ensure_ascii=False),
            "team_memory": self._memory,
        }

    async def judge(self, moment: Moment) -> str:
        """Corrects and verifies the step that has just ended."""
        await self._correct(moment)
        await self._verify(moment)
        # That nothing is open says nothing where the plan could not be read.
        if self.open_subtasks or not self._has_plan:
            return ""
        if self._options.confirm_empty:
            self._is_planned = await self._plan(moment, judging=True)
        return "" if self.open_subtasks or not self._has_plan else "no subtask is open"

    async def act(self, moment: Moment) -> JointPlan | None:
        """Plans, unless that was done to confirm that nothing is open, and acts."""
        if not (self._is_planned or await self._plan_twice_if_empty(moment)):
            return None
        self._is_planned = False
        planned: list[JointPlan] = []

        def read(said: JointAction) -> Remark:
            planned.append(moment.plan(said.actions, self.open_subtasks))
            number = str(len(self.memory_versions) + 1)
            return as_remark(planned[-1], memory=said.memory, memory_version=number)

        def refusal() -> str:
            if not (self._options.confirm_done and self.open_subtasks and planned[-1].is_done):
                return ""
            return f"all agents are done, but subtasks are open: {', '.join(self.open_subtasks)}"

        actor, situation = self._actor(moment), self._situation(moment)
        said = await self._asking.ask(actor, situation, read, refuse=lambda _: refusal())
        if said is None:
            return None
        self._subtask = said.subtask
        self.memory_versions.append((moment.step, said.memory))
        return planned[-1]

    # The roles

    async def _plan(self, moment: Moment, *, judging: bool = False) -> bool:
        """Replaces the open subtasks; False if the reply cannot be read."""
        situation = self._situation(moment, judging=judging)
        plan = await self._asking.ask(PlannerRole(), situation)
        self._has_plan = plan is not None
        if plan is None:
            return False
        done = {_folded(text) for text in self.completed_subtasks}
        self.open_subtasks = tuple(s for s in plan.subtasks if _folded(s) not in done)
        return True

    async def _plan_twice_if_empty(self, moment: Moment) -> bool:
        if not await self._plan(moment):
            return False
        if self.open_subtasks or not self._options.confirm_empty:
            return True
        return await self._plan(moment)

    async def _correct(self, moment: Moment) -> None:
        self._remedies = Remedies()
        if self._options.correction is not Correction.SEPARATE:
            return
        if self._options.skip_on_success and all(one.succeeded for one in moment.attempts):
            return
        role = CorrectorRole(self._names, self._list)
        said = await self._asking.ask(role, self._situation(moment, judging=True))
        if said is not None:
            self._remedies = said

    async def _verify(self, moment: Moment) -> None:
        """Completes what was open; what was completed stays so (LLAMAR-D8)."""
        if self._oracle is not None:
            # Its words are the goal's; the Planner reads them as any completed subtasks.
            self._complete(self._oracle.completed(moment.context))
            return
        if self._options.verified_by is VerifiedBy.OFF:
            return
        said = await self._asking.ask(VerifierRole(), self._situation(moment, judging=True))
        if said is not None:
            named = {_folded(text) for text in said.subtasks}
            self._complete(tuple(s for s in self.open_subtasks if _folded(s) in named))

    def _complete(self, done: tuple[str, ...]) -> None:
        before, now = (
            {_folded(text) for text in texts} for texts in (self.completed_subtasks, done)
        )
        self.completed_subtasks += tuple(s for s in done if _folded(s) not in before)
        self.open_subtasks = tuple(s for s in self.open_subtasks if _folded(s) not in now)

    def _actor(self, moment: Moment) -> ActorRole:
        wordings = moment.wordings if self._options.listed_actions else any_text
        return ActorRole(self._names, self._list, self._options.correction, wordings)

    def _situation(self, moment: Moment, *, judging: bool = False) -> Situation:
        return Situation(
            task=moment.task,
            views=moment.views,
            open_subtasks=self.open_subtasks,
            completed_subtasks=self.completed_subtasks,
            memory=self._memory,
            subtask=self._subtask,
            failure_reason=self._remedies.reason,
            corrective_actions=self._remedies.actions or {},
            step=moment.step - int(judging),
            setting=setting_of(self._options.actions),
        )

    @property
    def _memory(self) -> str:
        return self.memory_versions[-1][1] if self.memory_versions else ""


def _folded(subtask: str) -> str:
    """As subtasks are compared: models repeat them in another case or without the full stop."""
    return subtask.casefold().strip(" .")


def make_llamar(
    task: Task, asking: Asking, translator: Translator, options: LlamarOptions | None = None
) -> JointPlanner:
    """The planner for one task.

    Raises:
        PlannerError: for a team that is too large, or an oracle without a goal.
    """
    options = options or LlamarOptions()
    team = Team(task.agents, translator, options.actions)
    oracle = Oracle(task) if options.verified_by is VerifiedBy.ORACLE else None
    mind = FourRoles(asking, team, options, oracle)
    return JointPlanner(task, mind, team, asking, options.horizon)
