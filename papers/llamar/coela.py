"""Planner `llamar_coela`: each agent decides for itself; its roles and their right replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from papers.llamar import prompt
from papers.llamar.actions import DONE, IDLE, Action, Repertoire, Verb
from papers.llamar.joint_planner import Asking, JointPlanner, Moment
from papers.llamar.prompt import REASON, PromptingRole
from papers.llamar.right_actions import Reading, RightTeam, names_in, reading_of
from papers.llamar.right_replies import INVENTED, Actions, Scene, faulty_actions, parsed
from papers.llamar.state import HORIZON, NONE, AgentView, Situation
from papers.llamar.team import ActionOptions, JointPlan, Team, as_remark, every_action, setting_of
from papers.llamar.translator import PlainTranslator
from planner.models.caller import Remark
from planner.models.chat import Fault, Knows, Message, ModelError, Reader, ReferenceReply, Role
from planner.models.replies.dictionary import ChoiceKey, DictionaryReply, Entries, TextKey
from planner.planning.expert.facts import read_goal
from planner.planning.planner import MAX_CHARACTERS, AgentResult, Context, Task
from planner.world.belief import StandIns
from planner.world.geometry import record
from planner.world.vocabulary import Relation

# What one agent of CoELA asks its own model: a message to the others, then its next action.

MESSAGE, CHOICE = "message", "choice"
MESSAGES, OPTIONS = "Messages", "Options"
SEEN_BEFORE, STEPS = "things seen before", "steps so far"
SEND = "send your message to all other robots"


@record
class Knowledge:
    """What one agent knows beyond its view: nothing that only others know.

    Attributes:
        name: its own, `Alice`.
        others: names of the other robots.
        seen_before: instance names of what it saw and does not see now.
        steps: what it did in each step, and whether that worked, oldest first.
        messages: what was said so far, with step and speaker, oldest first.
    """

    name: str
    others: tuple[str, ...]
    seen_before: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TalkingRole:
    """Reads all that the agent knows; replies with a message that it may send."""

    knowledge: Knowledge
    role = Role.MESSENGER

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt, with the agent's own view only."""
        return prompt.messages(
            self._system(situation), situation, fields(self.knowledge, situation)
        )

    def form(self, situation: Situation) -> DictionaryReply:  # noqa: ARG002 - always the same
        """One text, or null."""
        return DictionaryReply((TextKey(MESSAGE, is_optional=True, max_characters=MAX_CHARACTERS),))

    def value(self, entries: Entries) -> str:
        """The message on one line; "" for none."""
        return prompt.one_line(entries.text(MESSAGE))

    def _system(self, situation: Situation) -> str:
        return f"""\
{_who(self.knowledge, situation)}
Write a short message to the others that helps the team: what you found and where, what you are \
going to do, what they should do. Whether it is sent is decided afterwards.
Reply with a dictionary of one key, "{MESSAGE}": a text of at most {MAX_CHARACTERS} characters, or \
{NONE} if there is nothing to say.
Example: {{"{MESSAGE}": "I saw Apple_1 on Table_1 and am taking it to Fridge_1. Please look for \
the bread."}}
Write the dictionary and nothing else."""


@dataclass(frozen=True, slots=True)
class ChoosingRole:
    """Reads the same, the message and all options; replies with the number of one.

    Attributes:
        knowledge: of the agent.
        message: that it may send; "" = none.
        options: in the order of their numbers, from 1.
    """

    knowledge: Knowledge
    message: str
    options: Sequence[str]
    role = Role.PLANNER

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt, with the agent's own view only."""
        lines = [f"\n{number}. {option}" for number, option in enumerate(self.options, 1)]
        own = fields(self.knowledge, situation)
        message = (prompt.own(self.knowledge.name, MESSAGE), self.message or NONE)
        asked = [*own, message, (OPTIONS, "".join(lines))]
        return prompt.messages(self._system(situation), situation, asked)

    def form(self, situation: Situation) -> DictionaryReply:  # noqa: ARG002 - of the options only
        """A reason and a number."""
        return DictionaryReply((TextKey(REASON), ChoiceKey(CHOICE, tuple(self.options))))

    def value(self, entries: Entries) -> str:
        """The option."""
        return entries.text(CHOICE)

    def _system(self, situation: Situation) -> str:
        name = self.knowledge.name
        return f"""\
{_who(self.knowledge, situation)}
{prompt.own(name, MESSAGE)}: what you could say to the others now.
{OPTIONS}: all that you can try in this step. Some of it may be impossible. A robot holds one \
thing at a time, and has to navigate to a thing before anything else is done with it. "Done" says \
that the whole task is complete: the task ends when all robots say so in the same step.
Reply with a dictionary of two keys: "{REASON}", a text, and "{CHOICE}", the number of your option.
Example: {{"{REASON}": "The apple is in front of me.", "{CHOICE}": 3}}
Write the dictionary and nothing else."""


def fields(knowledge: Knowledge, situation: Situation) -> list[prompt.Field]:
    """The fields of both prompts; the situation has one view, the agent's own."""
    own = knowledge.name
    return [
        prompt.task(situation),
        *prompt.of_each(
            situation,
            prompt.observation,
            prompt.state,
            prompt.previous_action,
            prompt.previous_failures,
        ),
        (prompt.own(own, SEEN_BEFORE), prompt.listed(knowledge.seen_before)),
        (prompt.own(own, STEPS), prompt.listed(knowledge.steps)),
        (MESSAGES, prompt.listed(knowledge.messages)),
    ]


def _who(knowledge: Knowledge, situation: Situation) -> str:
    own = knowledge.name
    team = ", ".join(knowledge.others)
    others = (
        f"The other robots are {team}. What they see and do you know only from their messages."
        if team
        else "There are no other robots."
    )
    return f"""\
You are {own}, a robot {situation.setting.place}, and decide for yourself only. {others}
{situation.setting.seeing}{prompt.with_pictures(situation)}
You get these lines:
Task: what the person wants of all robots together.
{prompt.own(own, prompt.OBSERVATION)}: the things that you see.
{prompt.own(own, prompt.STATE)}: where you are, where you face and what you hold.
{prompt.own(own, prompt.PREVIOUS_ACTION)}: what you did in the step before, and whether that worked.
{prompt.own(own, prompt.PREVIOUS_FAILURES)}: what you failed at since your last success.
{prompt.own(own, SEEN_BEFORE)}: things that you saw and do not see now.
{prompt.own(own, STEPS)}: what you did in each step.
{MESSAGES}: what the robots said.
{prompt.NAMING}"""


# The right replies of CoELA's agents, and the same with one fault (LLAMAR-D80, LLAMAR-D97).
#
# Each agent has its own reading of the goal, of what its own prompt names, and of the ends of its
# own calls. It does its part of what the team should do by that, as far as the list of options has
# it.

_COMPLETE = "The task is complete."


class _RightAgent(RightTeam):
    """Follows the task as one agent does, which can only choose what it sees now."""

    def __init__(self, task: Task, team: Team, agent: str) -> None:
        super().__init__(task, team)
        self.agent = agent
        self.view: frozenset[str] = frozenset()

    async def action(self, reading: Reading | None, view: Sequence[str]) -> Action:
        """Its next action.

        Raises:
            ModelError: if the task has no structured goal.
        """
        self.view = frozenset(view)
        return (await self.now(reading)).actions[self.agent]

    def _may_name(self, name: str) -> bool:
        return name in self.view

    def _put(self, name: str, _target: str, relation: str | None, _context: Context) -> Action:
        """The list says where things are put."""
        return Action(Verb.PUT, name, Relation(relation or Relation.ON))


class RightAgents(RightTeam):
    """All agents of a team, each for itself."""

    def __init__(self, task: Task, team: Team) -> None:
        super().__init__(task, team)
        self._goal = read_goal(task.goal) if task.goal is not None else None
        self._stand_ins = StandIns(self._goal.names if self._goal is not None else ())
        self._agents = {
            name: _RightAgent(task, team, agent)
            for agent, name in zip(team.agents, team.names, strict=True)
        }

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Each agent hears of its own calls only."""
        for one in self._agents.values():
            one.observe(tuple(ended for ended in results if ended.agent == one.agent))

    def look(self, context: Context) -> None:
        """The moment of the next questions."""
        super().look(context)
        self._stand_ins.update(context.belief)
        for one in self._agents.values():
            one.look(context)

    async def reply(
        self, role: PromptingRole, situation: Situation, random: Random, reader: Reader
    ) -> ReferenceReply:
        """The right reply of one agent; see `papers.llamar.joint_planner.RightReplies`.

        Raises:
            ModelError: without a goal, or for a role of another planner.
        """
        if not isinstance(role, TalkingRole | ChoosingRole):
            raise ModelError(f"CoELA has no role {type(role).__name__}")
        if self.team.options.repertoire is Repertoire.RESCUE:
            raise ModelError("the model teacher knows no replies of CoELA in search and rescue")
        agent = self._agents[role.knowledge.name]
        instances = self.team.instances
        is_reader = reader.knows is Knows.PROMPT
        reading = reading_of(_talking(role), situation, instances) if is_reader else None
        view = situation.views[0].observation
        action = await agent.action(reading, view)
        news = self._news(role.knowledge, view, action) if is_reader else []
        if isinstance(role, TalkingRole):
            return _message(news, action, role.knowledge, random)
        scene = self._scene(agent, role, situation, reader, reading)
        return _choice(scene, role, SEND if news and role.message else action, random)

    def _news(self, knowledge: Knowledge, view: Sequence[str], action: Action) -> list[str]:
        """The things of the goal in view of which nobody has spoken.

        None for who handles such a thing itself, which is worth more than a message. Who believes
        that all is done tells of all that it knows, so that others can see it, too.
        """
        if not knowledge.others or self._goal is None:
            return []
        names = self._stand_ins.given
        goal = {self.team.instances.name_of(names.get(one, one)) for one in self._goal.names}
        if action.argument in goal:
            return []
        told = names_in(" ".join(knowledge.messages))
        known = [*view, *knowledge.seen_before] if action == DONE else view
        return [name for name in known if name in goal and name not in told]

    def _scene(
        self,
        agent: _RightAgent,
        role: ChoosingRole,
        situation: Situation,
        reader: Reader,
        reading: Reading | None,
    ) -> Scene:
        """What may go wrong with a choice: of the options there are, and the agent's last step."""
        alike: dict[Verb, list[Action]] = {}
        for option in role.options:
            action = parsed(option)
            if action is not None:
                alike.setdefault(action.verb, []).append(action)
        name = role.knowledge.name
        last = [one for one in self.team.attempts if one.agent == agent.agent]
        return Scene(
            agent,
            situation,
            reader,
            reading,
            {agent.agent: name},
            {name: last[0]} if last else {},
            {verb: tuple(actions) for verb, actions in alike.items()},
        )


def _talking(role: TalkingRole | ChoosingRole) -> TalkingRole:
    """Both roles know the same; the options name nothing that is not in view."""
    return TalkingRole(role.knowledge)


def _message(
    news: Sequence[str], action: Action, knowledge: Knowledge, random: Random
) -> ReferenceReply:
    """What is new and what the agent does next; null where nothing is new."""

    def written(text: str | None) -> str:
        return json.dumps({MESSAGE: text})

    next_step = _COMPLETE if action == DONE else f"Next I do this: {action.words}."

    def told(names: Sequence[str]) -> str:
        return f"I know {', '.join(names)}. {next_step}"

    found = {
        Fault.INVENTED_ENTITY: written(told([*news, f"{INVENTED}_1"])),
        Fault.EARLY_DONE: written(_COMPLETE),
    }
    own = [text for text in knowledge.messages if f", {knowledge.name}: " in text]
    if own:
        found[Fault.REPEATED_STEP] = written(own[-1].partition(": ")[2])
    if news:
        found[Fault.SKIPPED_STEP] = written(None)
        if knowledge.seen_before:
            wrong = random.choice(knowledge.seen_before)
            found[Fault.WRONG_ENTITY] = written(told([*news[1:], wrong]))
    return ReferenceReply(written(told(news) if news else None), found)


def _choice(
    scene: Scene, role: ChoosingRole, right: Action | str, random: Random
) -> ReferenceReply:
    """The number of an option; `right` is an action, or to send the message."""
    options = list(role.options)

    def written(chosen: Action | str | None) -> str:
        words = chosen if isinstance(chosen, str) else (chosen or IDLE).words
        number = options.index(words) + 1 if words in options else options.index(IDLE.words) + 1
        return json.dumps({REASON: "It follows from what I know.", CHOICE: number})

    name = role.knowledge.name
    action = right if isinstance(right, Action) else IDLE
    actions: Actions = {name: action}
    faulty = faulty_actions(scene, actions, random, is_over=action == DONE)
    found = {fault: written(wrong[name]) for fault, wrong in faulty.items()}
    # What is not in the list has no number.
    beyond = {REASON: "It follows from what I know.", CHOICE: len(options) + 1}
    found[Fault.INVENTED_ENTITY] = json.dumps(beyond)
    if isinstance(right, str):
        found[Fault.SKIPPED_STEP] = written(IDLE)
    return ReferenceReply(written(right), found, acts=True)


# Of the agent's own steps and of messages, the newest in a prompt.
MAX_STEPS_SHOWN, MAX_MESSAGES_SHOWN = 40, 40


class Deciding:
    """A `papers.llamar.joint_planner.Mind` of agents that decide separately."""

    def __init__(self, asking: Asking, team: Team, options: ActionOptions) -> None:
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
            task=moment.task, views=(view,), step=moment.step, setting=setting_of(self._options)
        )


def names_in_view(view: AgentView) -> tuple[str, ...]:
    """The instance names of what an agent sees, without what rescuers are told of each thing."""
    return tuple(seen.partition(" ")[0] for seen in view.observation)


def make_coela(
    task: Task, asking: Asking, options: ActionOptions | None = None, *, horizon: int = HORIZON
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
