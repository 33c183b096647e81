"""Asks the model for roles, and plans for all agents at once in joint steps (LLAMAR-D1)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Protocol, TypeVar

from papers.llamar.actions import Repertoire
from papers.llamar.prompt import PromptingRole, ReadT, TeamRole
from papers.llamar.right_actions import RightTeam
from papers.llamar.right_replies import RightRescue, right_reply
from papers.llamar.state import HORIZON, AgentView, Attempt, Situation
from papers.llamar.team import JointPlan, Planned, Team
from planner.models.caller import OnCall, Remark, ignore_call
from planner.models.chat import ChatModel, Message, Reader, Reference, ReferenceReply, Speaker
from planner.planning.part import PlannerRequest
from planner.planning.planner import AgentResult, Context, Decision, Task, TeamMessage
from planner.planning.planner_model import (
    AsksInRoles,
    Axes,
    Control,
    DialogueOptions,
    MemorySource,
    task_digest,
)
from planner.world.geometry import record
from planner.world.skill import SkillCall, SkillName
from planner.world.topics import InstructionCode, one_line

# Asks the model for one role; replies that cannot be read are asked for again (LLAMAR-D6).

ValueT = TypeVar("ValueT")

MAX_ATTEMPTS = 3
# Of a refused reply, when it is shown to the model again.
_MAX_SHOWN = 2000
_WHOLE = "Write all of it in the form that was asked, nothing else."


class RightReplies(Protocol):
    """What a flawless model would reply, with and without faults."""

    async def __call__(
        self, role: PromptingRole, situation: Situation, random: Random, reader: Reader
    ) -> ReferenceReply:
        """The reply of a role to one prompt; see `planner.models.chat.Reference`."""


@dataclass
class Asking(AsksInRoles):
    """The model calls of one planner and task.

    Attributes, besides those of `AsksInRoles` (LLAMAR-D7):
        agents: of the task.
        seed: for sampling.
        task: what distinguishes the task from others, for what privileged models draw.
        unread: how many requests got no reply that could be read.
        problem: the last of these, in words; "" = none.
        dropped: what was left out of replies, in words.
        right: tells privileged models the right replies; None = nothing does.
    """

    planner: str
    model: ChatModel
    agents: tuple[str, ...]
    seed: int = 0
    task: str = ""
    axes: Axes = field(default_factory=Axes)
    options: DialogueOptions = field(default_factory=DialogueOptions)
    on_call: OnCall = ignore_call
    unread: int = 0
    problem: str = ""
    dropped: list[str] = field(default_factory=list)
    right: RightReplies | None = None
    faults: Counter[str] | None = None
    _asked: int = 0

    @staticmethod
    def of(request: PlannerRequest, control: Control = Control.CENTRALIZED) -> Asking:
        """For a task; `control` says whether one model decides for all agents.

        Raises:
            PlannerError: if there is no model.
        """
        axes = replace(request.axes, control=control, memory_source=MemorySource.STATE)
        return Asking(
            request.name,
            request.model,
            request.task.agents,
            request.task.seed,
            task_digest(request.task),
            axes,
            request.dialogue,
            request.on_call,
        )

    async def ask(
        self,
        role: TeamRole[ReadT, ValueT],
        situation: Situation,
        remark: Callable[[ValueT], Remark] | None = None,
        agents: tuple[str, ...] = (),
        refuse: Callable[[ValueT], str] = lambda _: "",
    ) -> ValueT | None:
        """What the role says; None after `MAX_ATTEMPTS` replies that cannot be read or are refused.

        `remark` is what the trace records about an accepted reply, besides what was dropped of it;
        `agents` are those that the call is about, all if empty; `refuse` says why a reply that can
        be read is not taken, "" = it is.

        Raises:
            ModelError: if there is no reply.
        """
        caller = self.caller(role.role, self.seed)
        form = role.form(situation)
        messages = role.messages(situation)

        def noted(entries: ReadT) -> Remark:
            note = remark(role.value(entries)) if remark is not None else Remark()
            why = refuse(role.value(entries))
            errors = ([f"refused: {why}"] if why else []) + [
                f"dropped {w}" for w in entries.dropped
            ]
            return replace(note, error="; ".join(errors))

        for attempt in range(1, MAX_ATTEMPTS + 1):
            reply = await caller.ask(
                messages,
                form,
                agents=agents or self.agents,
                cycle=situation.step + 1,
                max_tokens=self.options.max_tokens,
                parameters={"attempt": str(attempt)},
                remark=noted,
                reference=self._reference(role, situation),
            )
            self.count_fault(reply.completion.notes)
            if reply.value is None:
                error = str(reply.error)
                words = f"That cannot be read: {error}. {_WHOLE}"
            else:
                self.dropped += reply.value.dropped
                value = role.value(reply.value)
                error = refuse(value)
                if not error:
                    return value
                words = f"That is not taken: {error}. {_WHOLE}"
            self.problem = f"{role.role}: {error}"
            messages = (*messages, *_again(reply.completion.text, words))
        self.unread += 1
        return None

    def _reference(self, role: TeamRole[ReadT, ValueT], situation: Situation) -> Reference | None:
        right = self.right
        if right is None:
            return None

        async def reply(random: Random, reader: Reader) -> ReferenceReply:
            return await right(role, situation, random, reader)

        self._asked += 1
        return Reference(f"{self.seed} {self.task} {self._asked}", reply)


def _again(said: str, words: str) -> tuple[Message, Message]:
    return Message(Speaker.ASSISTANT, said[:_MAX_SHOWN]), Message(Speaker.USER, words)


DONE = SkillCall(SkillName.DONE)
# Of what a thought quotes from replies.
_MAX_NAMED, _MAX_QUOTED = 3, 60


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
        self.right = right
        asking.right = partial(right_reply, self.right)

    @property
    def name(self) -> str:
        """The value of the bring-up argument `planner`."""
        return self._asking.planner

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps the results until all agents have ended."""
        self._team.take(results)
        self.right.observe(results)

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
        self.right.look(context)
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
        return f"{action} (not understood: {one_line(part.translation.raw)[:_MAX_QUOTED]!r})"
    return action if part.refused is None else f"{action} (refused: {part.refused.text})"
