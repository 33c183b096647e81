"""Planner `llamar_coela`: each agent decides for itself, from what it saw and what others said.

The paper's decentralised baseline (LLAMAR-2.9, LLAMAR-D93): the agents share names of things and
the joint step, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from planner.models.caller import Remark
from planner.planning.llamar.actions import IDLE
from planner.planning.llamar.asking import Asking
from planner.planning.llamar.choices import every_action
from planner.planning.llamar.coela_roles import SEND, ChoosingRole, Knowledge, TalkingRole
from planner.planning.llamar.joint_planner import JointPlanner, Moment
from planner.planning.llamar.plain_translator import PlainTranslator
from planner.planning.llamar.right_agents import RightAgents
from planner.planning.llamar.state import HORIZON, AgentView, Situation
from planner.planning.llamar.team import ActionOptions, JointPlan, Team, as_remark, setting_of
from planner.planning.planner import Task

# Of the agent's own steps and of messages, the newest in a prompt.
MAX_STEPS_SHOWN, MAX_MESSAGES_SHOWN = 40, 40


class Deciding:
    """A `planner.planning.llamar.joint_planner.Mind` of agents that decide separately."""

    def __init__(self, asking: Asking, team: Team, options: ActionOptions) -> None:
        """Nobody knows anything."""
        self._asking, self._team, self._options = asking, team, options
        self._steps: dict[str, list[str]] = {name: [] for name in team.names}
        self._received: list[str] = []
        self._messages_sent = 0

    @property
    def evidence(self) -> Mapping[str, str]:
        """How many messages were sent."""
        return {"messages_sent": str(self._messages_sent)}

    async def judge(self, moment: Moment) -> str:
        """Notes the step; the task is over only when all agents say so."""
        for name, attempt in zip(self._team.names, moment.attempts, strict=True):
            self._steps[name].append(f"step {moment.step}: {attempt.text}")
        return ""

    async def act(self, moment: Moment) -> JointPlan | None:
        """The agents' choices, two calls for each; whoever cannot be read waits."""
        self._read_messages(moment)
        drafts = await asyncio.gather(*(self._draft(moment, view) for view in moment.views))
        chosen = await asyncio.gather(
            *(
                self._choose(moment, view, draft)
                for view, draft in zip(moment.views, drafts, strict=True)
            )
        )
        written: dict[str, str] = {}
        sent: dict[str, str] = {}
        for view, draft, choice in zip(moment.views, drafts, chosen, strict=True):
            if choice == SEND:
                sent[view.agent] = draft
            written[view.name] = IDLE.words if choice in (None, SEND) else str(choice)
        self._messages_sent += len(sent)
        return replace(moment.plan(written, (moment.task,)), messages=sent)

    def _read_messages(self, moment: Moment) -> None:
        """Takes the messages that have come since the step before."""
        names = dict(zip(self._team.agents, self._team.names, strict=True))
        for message in moment.messages[len(self._received) :]:
            speaker = names.get(message.sender, message.sender)
            self._received.append(f"step {moment.step}, {speaker}: {message.text}")

    async def _draft(self, moment: Moment, view: AgentView) -> str:
        if len(self._team.agents) == 1:
            return ""
        role = TalkingRole(self._knowledge(view))
        said = await self._asking.ask(role, self._situation(moment, view), agents=(view.agent,))
        return said or ""

    async def _choose(self, moment: Moment, view: AgentView, draft: str) -> str | None:
        options = [action.words for action in every_action(names_in_view(view), self._options)]
        if draft:
            options.append(SEND)
        role = ChoosingRole(self._knowledge(view), draft, options)

        def read(choice: str) -> Remark:
            """The trace of this agent alone: the others wait in it."""
            waiting = dict.fromkeys(self._team.names, IDLE.words)
            own = IDLE.words if choice == SEND else choice
            plan = moment.plan({**waiting, view.name: own}, (moment.task,))
            remark = as_remark(JointPlan({view.agent: plan.parts[view.agent]}))
            return replace(remark, parameters={**remark.parameters, "choice": choice})

        return await self._asking.ask(role, self._situation(moment, view), read, (view.agent,))

    def _knowledge(self, view: AgentView) -> Knowledge:
        """Of one agent."""
        seen_by, now = self._team.instances.was_seen_by, set(names_in_view(view))
        known = self._team.instances.names
        return Knowledge(
            view.name,
            tuple(name for name in self._team.names if name != view.name),
            tuple(n for n in known if n not in now and seen_by(n, view.agent)),
            tuple(self._steps[view.name][-MAX_STEPS_SHOWN:]),
            tuple(self._received[-MAX_MESSAGES_SHOWN:]),
        )

    def _situation(self, moment: Moment, view: AgentView) -> Situation:
        return Situation(
            task=moment.task,
            views=(view,),
            step=moment.step,
            setting=setting_of(self._options),
        )


def names_in_view(view: AgentView) -> tuple[str, ...]:
    """The instance names of what an agent sees, without what rescuers are told of each thing."""
    return tuple(seen.partition(" ")[0] for seen in view.observation)


def make_coela(
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
    options = replace(options or ActionOptions(), per_robot=True)
    team = Team(task.agents, PlainTranslator(), options)
    right = RightAgents(task, team)
    planner = JointPlanner(task, Deciding(asking, team, options), team, asking, horizon, right)
    asking.right = right.reply
    return planner
