"""Planner `llamar` (LLAMAR-D1) and the paper's reactive baselines, as their options say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from papers.llamar.actions import RESCUES, Action, Repertoire, Verb
from papers.llamar.actor_role import (
    ActingRole,
    ActionList,
    ActorRole,
    CorrectorRole,
    JointAction,
    Remedies,
    Style,
    any_text,
)
from papers.llamar.joint_planner import Asking, JointPlanner, Moment
from papers.llamar.prompt import PlannerRole, VerifierRole
from papers.llamar.right_actions import subtask_words
from papers.llamar.state import (
    CAMERA_PICTURES,
    HORIZON,
    ROBOT,
    STEPS_PER_ACTION,
    VERIFIER,
    Attempt,
    Correction,
    Situation,
    VerifiedBy,
)
from papers.llamar.team import ActionOptions, JointPlan, Team, as_remark, setting_of
from papers.llamar.translator import Translator, make_translator
from planner.models.caller import Remark
from planner.planning.expert.expert import Expert
from planner.planning.part import PlannerRequest
from planner.planning.planner import Context, Task
from planner.world.errors import PlannerError
from planner.world.geometry import record

# The list of actions in prompts, with the values of their arguments.

_STEPS = (Verb.MOVE, Verb.ROTATE, Verb.LOOK_UP, Verb.LOOK_DOWN)
_PLACEHOLDERS = {
    Verb.MOVE: "<direction>",
    Verb.ROTATE: "<direction>",
    Verb.LOOK_UP: "<angle>",
    Verb.LOOK_DOWN: "<angle>",
    Verb.PUT: "<receptacle>",
}
_NOTES = {
    Verb.NAVIGATE_TO: "something that was seen before",
    Verb.PUT: "puts down what is in the hand",
    Verb.USE_SAND: "puts out a chemical fire, in the 3 by 3 cells around the robot",
    Verb.USE_WATER: "puts out any other fire, in the 3 by 3 cells around the robot",
    Verb.GET_SAND: "a robot carries up to three units of sand and water",
    Verb.CLEAR_INVENTORY: "throws all sand and water away",
    Verb.CARRY: "the person moves when at least two robots carry; supplies are dropped",
    Verb.DROP_OFF: "all robots that carry the person have to be there and do it",
    Verb.EXPLORE: "looks around for what the open subtasks need, and goes there",
}


def action_list(options: ActionOptions) -> ActionList:
    """One action a line, in the order of the paper."""
    if options.repertoire is Repertoire.RESCUE:
        ends = (*((Verb.EXPLORE,) if options.exploration else ()), Verb.IDLE, Verb.DONE)
        verbs = [Verb.NAVIGATE_TO, *RESCUES, *ends]
        return ActionList("\n".join(f"- {_rescue_line(verb)}" for verb in verbs))
    verbs = [
        verb
        for verb in Verb
        if verb not in RESCUES
        and (options.small_steps or verb not in _STEPS)
        and (options.exploration or verb is not Verb.EXPLORE)
    ]
    return ActionList("\n".join(f"- {_line(verb)}" for verb in verbs))


def _rescue_line(verb: Verb) -> str:
    if verb is Verb.EXPLORE:
        return f"{Action(verb).words} (goes some way in a random direction, to find lost persons)"
    return _line(verb)


def _line(verb: Verb) -> str:
    takes_none = not (verb.takes_thing or verb.values)
    argument = "" if takes_none else _PLACEHOLDERS.get(verb, "<object>")
    words = Action(verb, argument).words
    if verb.values:
        return f"{words}; {argument} is one of {', '.join(verb.values)}"
    note = _NOTES.get(verb, "")
    return f"{words} ({note})" if note else words


# Which subtasks are complete by the structured goal: in the Verifier's place (LLAMAR-D83).

NO_GOAL = (
    "verifier:=oracle reads a structured goal, and this instruction has none: name an episode, or "
    "leave the option out"
)


class Oracle:
    """Judges the goal's propositions by the memory; it is privileged."""

    def __init__(self, task: Task) -> None:
        """Reads the goal.

        Raises:
            PlannerError: if the task has none.
            FileError: if it cannot be read.
        """
        if task.goal is None:
            raise PlannerError(NO_GOAL)
        self._judge = Expert(task)

    def completed(self, context: Context) -> tuple[str, ...]:
        """The propositions that hold now, in words."""
        holds = self._judge.judged(context)
        return tuple(subtask_words(w) for w in self._judge.subgoals if holds[w.index])


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
    """A `papers.llamar.joint_planner.Mind`: subtasks and memory between the steps.

    Attributes:
        open_subtasks, completed_subtasks: of now.
        memory_versions: the Actor's texts with the step of each, oldest first.
    """

    def __init__(
        self, asking: Asking, team: Team, options: LlamarOptions, oracle: Oracle | None = None
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


# Planners `llamar_act`, `llamar_react` and `llamar_cot`: the paper's reactive baselines.
#
# One call of the model in each joint step, with a trace of the steps so far and neither subtasks
# nor memory. They differ in what the model writes before the actions (LLAMAR-D12).


class Reacting:
    """A `papers.llamar.joint_planner.Mind` that only acts."""

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
        self._steps.append(_acting_line(moment.step, self._names, moment.attempts))
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


def _acting_line(step: int, names: tuple[str, ...], attempts: tuple[Attempt, ...]) -> str:
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


# What the options of LLaMAR and its baselines choose.


def actions_of(request: PlannerRequest) -> ActionOptions:
    """What agents are offered."""
    return ActionOptions(
        exploration=request.flag("exploration"),
        small_steps=request.flag("small_steps"),
        per_robot=request.options.get("known_by") == ROBOT,
        pictures=request.flag(CAMERA_PICTURES),
        repertoire=Repertoire(request.text("actions")),
    )


def horizon_of(request: PlannerRequest) -> int:
    """The limit of joint steps; one of the whole instruction comes first, then the option.

    Without either it follows from how many actions a task allows, else it is the paper's.
    """
    terms = request.task.terms
    allowed = terms.max_actions if terms is not None else None
    own = HORIZON if allowed is None else max(HORIZON, STEPS_PER_ACTION * allowed)
    return request.dialogue.max_cycles or request.whole("horizon") or own


def llamar_options(request: PlannerRequest) -> LlamarOptions:
    """How the roles work together."""
    return LlamarOptions(
        correction=Correction(request.text("corrector")),
        verified_by=VerifiedBy(request.text(VERIFIER)),
        skip_on_success=request.flag("skip_on_success"),
        confirm_empty=request.flag("confirm_empty_with_planner"),
        confirm_done=request.flag("confirm_done_with_subtasks"),
        listed_actions=request.flag("listed_actions"),
        horizon=horizon_of(request),
        actions=actions_of(request),
    )


def translator_of(request: PlannerRequest) -> Translator:
    """Reads what the model writes for each agent.

    Raises:
        PlannerError: for a folder that is not an encoder.
    """
    folder = request.text("translator")
    least = request.number("understood_from")
    return make_translator(Path(folder) if folder else None, least or None)


def acting_planner(style: Style, request: PlannerRequest) -> JointPlanner:
    """The baseline of a style for one task.

    Raises:
        PlannerError: without a model, or for a team that is too large.
    """
    return make_acting(
        style,
        request.task,
        Asking.of(request),
        translator_of(request),
        actions_of(request),
        horizon=horizon_of(request),
        listed_actions=request.flag("listed_actions"),
    )
