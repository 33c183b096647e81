"""A planner that decides for all agents at once and waits until all have ended (LLAMAR-D1).

What LLaMAR and its centralised baselines share; how they decide is a `Mind`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from planner.planning.llamar.actions import Repertoire
from planner.planning.llamar.asking import Asking
from planner.planning.llamar.right_actions import RightTeam
from planner.planning.llamar.right_replies import right_reply
from planner.planning.llamar.right_rescue import RightRescue
from planner.planning.llamar.state import HORIZON, AgentView, Attempt
from planner.planning.llamar.team import JointPlan, Planned, Team
from planner.planning.messages import TeamMessage
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.world.instruct import InstructionCode, one_line
from planner.world.record import record
from planner.world.skill import SkillCall, SkillName

DONE = SkillCall(SkillName.DONE)
# Of what a thought quotes from replies.
_MAX_NAMED, _MAX_SHOWN = 3, 60


@record
class Moment:
    """What a mind decides by.

    Attributes:
        task: the instruction.
        step: of joint steps, from 0.
        views: what the agents see now.
        attempts: what they did in the step before; empty before the first.
        plan: reads what was written for each agent by name; the second argument is what exploration
            looks for.
        wordings: the actions that an agent may take now, by its name, as grammars list them.
        context: the moment as planners get it.
        messages: what agents have said so far, oldest first.
    """

    task: str
    step: int
    views: tuple[AgentView, ...]
    attempts: tuple[Attempt, ...]
    plan: Callable[[Mapping[str, str], Sequence[str]], JointPlan]
    wordings: Callable[[str], tuple[str, ...]]
    context: Context
    messages: tuple[TeamMessage, ...] = ()


@record
class Ended:
    """A task that does not go on.

    Attributes:
        why: in words.
        is_done: whether it ends as done.
    """

    why: str
    is_done: bool = False


class Mind(Protocol):
    """How one method decides."""

    async def judge(self, moment: Moment) -> str:
        """After a joint step: why the task is over, in words; "" = it is not.

        Raises:
            ModelError: if the model gives no reply.
        """

    async def act(self, moment: Moment) -> JointPlan | Ended | None:
        """The next joint step; None if no reply could be read, so that all agents wait.

        Raises:
            ModelError: if the model gives no reply.
        """

    @property
    def evidence(self) -> Mapping[str, str]:
        """What is published with each step and kept in the result."""


class JointPlanner:
    """A planner of `planner.planning.planner.Planner`: one task of one team."""

    def __init__(
        self,
        task: Task,
        mind: Mind,
        team: Team,
        asking: Asking,
        horizon: int = HORIZON,
        right: RightTeam | None = None,
    ) -> None:
        """Takes at most `horizon` joint steps; `right` follows them for privileged models."""
        self._task, self._mind, self._team = task, mind, team
        self._asking, self._horizon = asking, horizon
        self._step = 0
        if right is None:
            rescues = team.options.repertoire is Repertoire.RESCUE
            right = (RightRescue if rescues else RightTeam)(task, team)
        self._right = right
        asking.right = partial(right_reply, self._right)

    @property
    def name(self) -> str:
        """The value of the bring-up argument `planner`."""
        return self._asking.planner

    @property
    def right(self) -> RightTeam:
        """What privileged models are told the right replies by."""
        return self._right

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps the results until all agents have ended."""
        self._team.take(results)
        self._right.observe(results)

    async def decide(self, context: Context) -> Decision:
        """The next joint step; no calls as long as an agent is busy.

        The thought also says what of the model's replies could not be used.

        Raises:
            ModelError: if the model gives no reply.
        """
        unread, dropped = self._asking.unread, len(self._asking.dropped)
        decision = await self._decide(context)
        unused = self._unused(unread, dropped, decision.thought)
        return replace(decision, thought="; ".join((decision.thought, *unused)))

    async def _decide(self, context: Context) -> Decision:
        if len(context.idle) < len(self._task.agents):
            return Decision()
        self._right.look(context)
        acted = self._team.has_acted
        if acted:
            self._team.finish()
            self._step += 1
        moment = self._moment(context)
        if acted and (why := await self._mind.judge(moment)):
            return self._done(why)
        if self._step >= self._horizon:
            words = f"planner limit: {self._horizon} joint steps"
            return Decision(
                failure=words, end=InstructionCode.CALL_LIMIT, evidence=self._evidence()
            )
        plan = await self._mind.act(moment)
        if isinstance(plan, Ended) and plan.is_done:
            self._step += 1
            return self._done(plan.why)
        if isinstance(plan, Ended):
            return Decision(failure=plan.why, evidence=self._evidence())
        if plan is None:
            self._team.begin(plan := self._team.idle())
            words = f"all agents wait, for no reply could be used: {self._asking.problem}"
            return Decision(plan.calls, words, evidence=self._evidence())
        if plan.is_done:
            # It was decided as any other step (LLAMAR-D13).
            self._step += 1
            return self._done("all agents say that the task is complete")
        self._team.begin(plan)
        said = tuple(TeamMessage.of(agent, text) for agent, text in plan.messages.items())
        words = _words(moment, plan)
        return Decision(plan.calls, words, evidence=self._evidence(), messages=said)

    def _unused(self, unread: int, dropped: int, thought: str) -> list[str]:
        """What came since so many replies could not be read and so many things were dropped."""
        asking, notes = self._asking, []
        if asking.unread > unread and asking.problem not in thought:
            notes.append(f"not read: {asking.problem}")
        if new := asking.dropped[dropped:]:
            notes.append(f"dropped: {', '.join(new[:_MAX_NAMED])}")
        return notes

    def _moment(self, context: Context) -> Moment:
        team = self._team
        agents = dict(zip(team.names, team.agents, strict=True))
        return Moment(
            task=self._task.instruction,
            step=self._step,
            views=team.views(context),
            attempts=team.attempts,
            plan=lambda written, subtasks: team.plan(written, context, subtasks),
            messages=context.messages,
            wordings=lambda name: tuple(a.words for a in team.admissible(agents[name], context)),
            context=context,
        )

    def _done(self, why: str) -> Decision:
        calls = dict.fromkeys(self._task.agents, DONE)
        return Decision(calls, why, evidence=self._evidence())

    def _evidence(self) -> Mapping[str, str]:
        asking = self._asking
        found = {
            **asking.axes.as_parameters(),
            "joint_steps": str(self._step),
            "translator": self._team.translator_id,
            "unread_replies": str(asking.unread),
            "dropped_from_replies": str(len(asking.dropped)),
            **self._mind.evidence,
        }
        if asking.faults is not None:
            found["privileged_model"] = asking.model.name
            found["model_faults"] = json.dumps(dict(sorted(asking.faults.items())))
        if asking.problem:
            found["last_unread_reply"] = asking.problem
        if asking.dropped:
            found["last_dropped"] = asking.dropped[-1]
        return found


def _words(moment: Moment, plan: JointPlan) -> str:
    parts = zip(moment.views, plan.parts.values(), strict=True)
    return "; ".join(f"{view.name}: {_part_text(part)}" for view, part in parts)


def _part_text(part: Planned) -> str:
    action = str(part.translation.action)
    if not part.translation.understood:
        return f"{action} (not understood: {one_line(part.translation.raw)[:_MAX_SHOWN]!r})"
    return action if part.refused is None else f"{action} (refused: {part.refused.text})"
