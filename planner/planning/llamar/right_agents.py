"""The right replies of CoELA's agents, and the same with one fault (LLAMAR-D80, LLAMAR-D97).

Each agent has its own reading of the goal, of what its own prompt names, and of the ends of its own
calls. It does its part of what the team should do by that, as far as the list of options has it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

from planner.models.chat import ModelError
from planner.models.reference import Fault, Knows, Reader, ReferenceReply
from planner.planning.goal import read_goal
from planner.planning.llamar.actions import DONE, IDLE, Action, Repertoire, Verb
from planner.planning.llamar.coela_roles import (
    CHOICE,
    MESSAGE,
    SEND,
    ChoosingRole,
    Knowledge,
    TalkingRole,
)
from planner.planning.llamar.right_actions import RightTeam
from planner.planning.llamar.right_reading import Reading, names_in, reading_of
from planner.planning.llamar.right_scene import (
    INVENTED,
    Actions,
    Scene,
    faulty_actions,
    parsed,
)
from planner.planning.llamar.role import REASON, PromptingRole
from planner.planning.llamar.state import Situation
from planner.planning.llamar.team import Team
from planner.planning.planner import AgentResult, Context, Task
from planner.world.stand_ins import StandIns
from planner.world.vocabulary import Relation

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
        """Nothing has happened yet."""
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
        """The right reply of one agent; see `planner.planning.llamar.asking.RightReplies`.

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
