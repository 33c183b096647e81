"""The right reply of each role, and the same with one fault (LLAMAR-D80, LLAMAR-D81)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

from papers.llamar import prompt
from papers.llamar.actions import DONE, IDLE, Action, ActionError, Verb, parse_action
from papers.llamar.actor_role import (
    ACTION,
    CORRECTIVE_ACTION,
    JOINT_ACTION,
    MAX_MEMORY_CHARACTERS,
    MEMORY,
    SUBTASK,
    THINK,
    ActingRole,
    ActorRole,
    CorrectorRole,
    Style,
)
from papers.llamar.prompt import (
    COMPLETED_SUBTASKS,
    FAILURE_REASON,
    PLAN,
    REASON,
    PlannerRole,
    PromptingRole,
    VerifierRole,
)
from papers.llamar.rescue.rules import RescueRules
from papers.llamar.right_actions import (
    NO_GOAL,
    Reading,
    RightActions,
    RightTeam,
    reading_of,
    renewed,
    stem,
    subtask_words,
)
from papers.llamar.state import Attempt, Correction, Situation
from papers.llamar.team import Team
from papers.llamar.translator import class_of, number_of
from planner.models.chat import Fault, Knows, ModelError, Reader, ReferenceReply
from planner.planning.planner import AgentResult, Context, Task
from planner.world.errors import PlannerError
from planner.world.geometry import record
from planner.world.skill import SkillCall, SkillName

# What a right reply is about: the moment, its prompt, and the team's last step.

Actions = dict[str, Action | None]
INVENTED = "Samovar"


@record
class Scene:
    """One request.

    Attributes:
        team: knows what is right.
        situation: of the prompt.
        reader: how the prompt is read.
        reading: what the prompt says; None for readers that know all that the memory knows.
        names: of the agents, by the memory's names.
        attempts: the last actions, by the agents' names in prompts.
        alike: the actions of the moment, by verb.
    """

    team: RightTeam
    situation: Situation
    reader: Reader
    reading: Reading | None
    names: Mapping[str, str]
    attempts: Mapping[str, Attempt]
    alike: Mapping[Verb, tuple[Action, ...]]

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of those whose last action failed."""
        return tuple(name for name, one in self.attempts.items() if not one.succeeded)

    @property
    def why(self) -> str | None:
        """Why actions of the step before failed; None if none did."""
        return " ".join(self.attempts[name].text for name in self.failed) or None

    async def right(self) -> RightActions:
        """What each agent should do.

        Raises:
            ModelError: without a goal.
        """
        return await self.team.now(self.reading)


def scene_of(team: RightTeam, role: PromptingRole, situation: Situation, reader: Reader) -> Scene:
    """The scene of a role's prompt."""
    own = team.team
    alike: dict[Verb, list[Action]] = {}
    for action in own.admissible(own.agents[0], team.context):
        alike.setdefault(action.verb, []).append(action)
    named = dict(zip(own.agents, own.names, strict=True))
    reads_prompt = reader.knows is Knows.PROMPT
    return Scene(
        team,
        situation,
        reader,
        reading_of(role, situation, own.instances) if reads_prompt else None,
        named,
        {named[one.agent]: one for one in own.attempts},
        {verb: tuple(found) for verb, found in alike.items()},
    )


# Joint actions and their faults


def by_name(scene: Scene, right: RightActions) -> Actions:
    """The right actions by the agents' names in prompts."""
    return {scene.names[agent]: action for agent, action in right.actions.items()}


def faulty_actions(
    scene: Scene, right: Actions, random: Random, *, is_over: bool
) -> dict[Fault, Actions]:
    """One agent's action is wrong; of `EARLY_DONE` all agents' are."""
    found: dict[Fault, Actions] = {}
    busy = [
        name for name, action in right.items() if action is not None and action.verb.takes_thing
    ]
    one = random.choice(busy) if busy else None
    action = right.get(one) if one is not None else None
    if one is not None and action is not None:
        found[Fault.INVENTED_ENTITY] = {**right, one: _invented(action)}
        others = [other for other in scene.alike.get(action.verb, ()) if other != action]
        if others:
            found[Fault.WRONG_ENTITY] = {**right, one: random.choice(others)}
        found[Fault.SKIPPED_STEP] = {**right, one: _following(scene, action)}
        before = scene.attempts.get(one)
        last = parsed(before.action) if before is not None else None
        if last is not None and last != action and last.verb.takes_thing:
            found[Fault.REPEATED_STEP] = {**right, one: last}
    if not is_over:
        found[Fault.EARLY_DONE] = dict.fromkeys(right, DONE)
    if scene.failed:
        unnoticed = random.choice(scene.failed)
        failed = parsed(scene.attempts[unnoticed].action)
        if failed is not None:
            found[Fault.UNNOTICED_FAILURE] = {**right, unnoticed: _following(scene, failed)}
    return found


def _invented(action: Action) -> Action:
    """The same with the next instance of its class, which nobody has seen."""
    name = action.argument
    return Action(action.verb, f"{INVENTED}{class_of(name)}_{number_of(name) + 1}", action.relation)


def _following(scene: Scene, action: Action) -> Action:
    """What usually comes after an action: handling what was reached, else putting it somewhere."""
    usual = {
        Verb.NAVIGATE_TO: (
            *(Verb.PICKUP, Verb.PUT, Verb.OPEN),
            *(Verb.GET_SAND, Verb.GET_WATER, Verb.USE_SAND, Verb.USE_WATER),
            *(Verb.CARRY, Verb.DROP_OFF),
        ),
        Verb.OPEN: (Verb.PUT,),
    }
    for verb in usual.get(action.verb, ()):
        if Action(verb, action.argument) in scene.alike.get(verb, ()):
            return Action(verb, action.argument)
    return IDLE


def parsed(text: str | None) -> Action | None:
    """The action of a text in one of the two spellings; None if it is in neither."""
    try:
        return parse_action(text) if text else None
    except ActionError:
        return None


def said(action: Action | None) -> str:
    """An action as a reply has it."""
    return (action or IDLE).words


def without(texts: Sequence[str], one: str) -> list[str]:
    """All texts but one."""
    return [text for text in texts if text != one]


# The right replies of those who say what agents do: Act, ReAct, CoT, the Actor, the Corrector.


async def joint_reply(scene: Scene, role: ActingRole, random: Random) -> ReferenceReply:
    """Of Act, ReAct and CoT."""

    def written(actions: Actions) -> str:
        own = {name: said(action) for name, action in actions.items()}
        match role.style:
            case Style.ACT:
                return json.dumps(own)
            case Style.REACT:
                return json.dumps({THINK: "The next step is clear.", JOINT_ACTION: own})
            case Style.COT:
                return json.dumps({REASON: "The next step is clear.", **own})

    found = await scene.right()
    right = by_name(scene, found)
    faulty = faulty_actions(scene, right, random, is_over=found.is_over)
    texts = {fault: written(actions) for fault, actions in faulty.items()}
    return ReferenceReply(written(right), texts, acts=True)


async def actor_reply(scene: Scene, role: ActorRole, random: Random) -> ReferenceReply:
    """Of LLaMAR's Actor, with the memory that it writes."""
    found = await scene.right()
    items = _noted(scene)
    reads_prompt, heeds = scene.reader.knows is Knows.PROMPT, scene.reader.heeds

    def written(actions: Actions, items: Iterable[str], *, heeds: bool) -> str:
        asks_why = role.correction is not Correction.OFF
        # In the order of the grammar.
        texts: dict[str, str | None] = {
            **({FAILURE_REASON: scene.why} if asks_why else {}),
            MEMORY: _memory(found, items),
            REASON: "The next step of each robot is clear.",
            SUBTASK: next(iter(found.open_subtasks), None),
        }
        if heeds:
            actions = _heeding(scene, actions)
        own = {prompt.own(name, ACTION): said(action) for name, action in actions.items()}
        return json.dumps({**texts, **own})

    right = by_name(scene, found)
    if reads_prompt:
        right = _with_remedies(scene, right)
    # A step that is skipped is left out of the memory as well.
    fewer = without(items, random.choice(items)) if items else items
    faulty = {
        fault: written(actions, fewer if fault is Fault.SKIPPED_STEP else items, heeds=heeds)
        for fault, actions in faulty_actions(scene, right, random, is_over=found.is_over).items()
    }
    return ReferenceReply(written(right, items, heeds=heeds), faulty, acts=True)


def _noted(scene: Scene) -> list[str]:
    """What is known of each thing that the prompt names, things of the goal first."""
    return [] if scene.reading is None else scene.team.noted(scene.reading)


def _memory(found: RightActions, items: Iterable[str]) -> str:
    done = f"Done: {', '.join(found.completed_subtasks) or 'nothing yet'}."
    room = MAX_MEMORY_CHARACTERS - len(done) - len(" Seen: .")
    kept: list[str] = []
    for item in items:
        room -= len(item) + len("; ")
        if room < 0:
            break
        kept.append(item)
    return f"{done} Seen: {'; '.join(kept)}." if kept else done


def _with_remedies(scene: Scene, actions: Actions) -> Actions:
    """A remedy is taken over, right or wrong."""
    remedies = scene.situation.corrective_actions
    return {name: parsed(remedies.get(name)) or action for name, action in actions.items()}


def _heeding(scene: Scene, actions: Actions) -> Actions:
    """As the Corrector, the Planner and the Verifier say, where the prompt has their words.

    All are done exactly if the prompt lists no open subtask; else an agent that would be done, or
    shall be by its remedy, waits.
    """
    if not scene.situation.open_subtasks:
        return dict.fromkeys(actions, DONE)
    taken = _with_remedies(scene, actions)
    return {name: IDLE if action == DONE else action for name, action in taken.items()}


async def corrector_reply(scene: Scene, role: CorrectorRole, random: Random) -> ReferenceReply:
    """Of LLaMAR's Corrector: what is right to do next, for whoever has just failed."""
    found = await scene.right()
    right = by_name(scene, found)
    remedies: Actions = {
        name: right[name] if name in scene.failed and right[name] not in (DONE, IDLE) else None
        for name in role.names
    }

    def written(why: str | None, actions: Actions) -> str:
        own = {
            prompt.own(name, CORRECTIVE_ACTION): None if action is None else action.words
            for name, action in actions.items()
        }
        return json.dumps({FAILURE_REASON: why, **own})

    nothing: Actions = dict.fromkeys(role.names)
    faulty = faulty_actions(scene, remedies, random, is_over=found.is_over)
    texts: dict[Fault, str] = {
        fault: written(scene.why, actions)
        for fault, actions in faulty.items()
        if fault not in (Fault.EARLY_DONE, Fault.UNNOTICED_FAILURE)
    }
    if not found.is_over:
        texts[Fault.EARLY_DONE] = written("the task is complete", dict.fromkeys(role.names, DONE))
    if scene.failed:
        texts[Fault.UNNOTICED_FAILURE] = written(None, nothing)
    return ReferenceReply(written(scene.why, remedies), texts)


# The right replies of LLaMAR's Planner and Verifier: what is open, and what is done.


async def planner_reply(scene: Scene, _role: PlannerRole, random: Random) -> ReferenceReply:
    """What is not known to be done; a completed one again where it is known to be undone."""
    judged = await scene.team.judged(scene.reading)
    said_done = {stem(text) for text in scene.situation.completed_subtasks}
    done = [t for t, holds in judged.items() if holds or (holds is None and t in said_done)]
    before = {text.casefold() for text in scene.situation.completed_subtasks}
    # What was done once and is undone has to have another text to be open again.
    right = [renewed(text, before) for text in judged if text not in done]
    found = {Fault.INVENTED_ENTITY: [*right, f"find the {INVENTED}"]}
    if right:
        found[Fault.SKIPPED_STEP] = without(right, random.choice(right))
        found[Fault.EARLY_DONE] = []
        wrong = random.choice(right)
        found[Fault.WRONG_ENTITY] = [*without(right, wrong), f"{wrong} of another kind"]
    if done:
        found[Fault.REPEATED_STEP] = [*right, random.choice(done)]
    if scene.failed and right:
        # The subtask of the failed action is believed to be done.
        found[Fault.UNNOTICED_FAILURE] = right[1:]
    return _lists(PLAN, right, found)


async def verifier_reply(scene: Scene, _role: VerifierRole, random: Random) -> ReferenceReply:
    """What was completed before, and what is open and known to be done now."""
    judged = await scene.team.judged(scene.reading)
    was_open = scene.situation.open_subtasks
    # A subtask that is not of the goal, such as to find what does not exist, needs nothing.
    done = [text for text in was_open if judged.get(stem(text), True)]
    before = list(scene.situation.completed_subtasks)
    right = [*before, *done]
    undone = [text for text in was_open if text not in done]
    found = {Fault.INVENTED_ENTITY: [*right, f"find the {INVENTED}"]}
    if done:
        found[Fault.SKIPPED_STEP] = without(right, random.choice(done))
    if undone:
        found[Fault.WRONG_ENTITY] = [*right, random.choice(undone)]
        found[Fault.EARLY_DONE] = [*right, *undone]
        if scene.failed:
            found[Fault.UNNOTICED_FAILURE] = [*right, undone[0]]
    if before:
        found[Fault.REPEATED_STEP] = [*right, before[-1]]
    return _lists(COMPLETED_SUBTASKS, right, found)


def _lists(key: str, right: Sequence[str], faulty: Mapping[Fault, Sequence[str]]) -> ReferenceReply:
    def written(texts: Sequence[str]) -> str:
        return json.dumps({REASON: "The lists follow from what was seen.", key: list(texts)})

    return ReferenceReply(written(right), {fault: written(each) for fault, each in faulty.items()})


async def right_reply(
    team: RightTeam, role: PromptingRole, situation: Situation, random: Random, reader: Reader
) -> ReferenceReply:
    """The right reply of a role to a prompt, and its faulty versions.

    Args:
        team: knows what is right.
        role: of LLaMAR or its baselines.
        situation: of the prompt.
        random: chooses the agent, thing or subtask that a fault is about.
        reader: how the prompt is read.

    Raises:
        ModelError: without a goal, or for a role that is not known here.
    """
    scene = scene_of(team, role, situation, reader)
    match role:
        case ActingRole():
            return await joint_reply(scene, role, random)
        case ActorRole():
            return await actor_reply(scene, role, random)
        case CorrectorRole():
            return await corrector_reply(scene, role, random)
        case PlannerRole():
            return await planner_reply(scene, role, random)
        case VerifierRole():
            return await verifier_reply(scene, role, random)
        case _:
            raise ModelError(f"the model teacher knows no replies of {type(role).__name__}")


# What each rescuer of a team should do next: for privileged models in search and rescue.
#
# The rules of `papers.llamar.rescue.rules` decide instead of the expert, who knows no fires.
# Prompts name all that is known there and leave out what no longer burns, so that a reader of
# prompts knows what the memory knows; what they say to be done it believes (LLAMAR-D84).

_VERBS = {
    SkillName.NAVIGATE.value: Verb.NAVIGATE_TO,
    "Scout": Verb.EXPLORE,
    "TakeSand": Verb.GET_SAND,
    "TakeWater": Verb.GET_WATER,
    "UseSand": Verb.USE_SAND,
    "UseWater": Verb.USE_WATER,
    "StoreSupplies": Verb.STORE_SUPPLY,
    "DiscardSupplies": Verb.CLEAR_INVENTORY,
    "Carry": Verb.CARRY,
    "DropOff": Verb.DROP_OFF,
}


class RightRescue(RightTeam):
    """Follows a team of rescuers beside its planner."""

    def __init__(self, task: Task, team: Team) -> None:
        super().__init__(task, team)
        self._rules: RescueRules | None = None
        self._ended: list[AgentResult] = []

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps how calls ended."""
        self._ended += results

    async def judged(self, _reading: Reading | None) -> Mapping[str, bool | None]:
        """The goal's propositions in words, and whether each holds by the memory.

        Raises:
            ModelError: if the task has no goal of search and rescue.
        """
        return self._judged()

    def _judged(self) -> dict[str, bool | None]:
        expert = self._followed()
        holds = expert.judged(self.context)
        return {subtask_words(each): holds[each.index] for each in expert.subgoals}

    def _known(self, _reading: Reading | None) -> Context:
        return self.context

    def _ruled(self) -> RescueRules:
        if self._task.goal is None:
            raise ModelError(NO_GOAL)
        if self._rules is None:
            try:
                self._rules = RescueRules(self._task)
            except PlannerError as error:
                raise ModelError(f"the model teacher: {error}") from None
        self._rules.observe(tuple(_as_ruled(ended) for ended in self._ended))
        self._ended.clear()
        return self._rules

    async def _decide(self, reading: Reading | None) -> RightActions:
        rules, texts = self._ruled(), self._judged()
        said_done = reading.said_done if reading is not None else frozenset()
        rules.leave(
            name
            for subgoal in self._followed().subgoals
            if subtask_words(subgoal) in said_done
            for name in subgoal.first
        )
        decision = await rules.decide(self.context)
        return RightActions(
            {agent: self._action(decision.calls.get(agent)) for agent in self._task.agents},
            tuple(text for text, holds in texts.items() if not holds),
            tuple(text for text, holds in texts.items() if holds),
        )

    def _action(self, call: SkillCall | None) -> Action:
        if call is None:
            return IDLE
        if call.name == SkillName.DONE:
            return DONE
        verb = _VERBS[call.name]
        if not verb.takes_thing:
            return Action(verb)
        name = self.team.instances.name_of(call.arguments[0] or "")
        # What nobody has named yet is not known to any reader either.
        return Action(verb, name) if name is not None else IDLE


def _as_ruled(ended: AgentResult) -> AgentResult:
    """With the call as the rules would have made it."""
    if ended.call.name != "NavigateTo":
        return ended
    return replace(ended, call=SkillCall(SkillName.NAVIGATE, ended.call.arguments))
