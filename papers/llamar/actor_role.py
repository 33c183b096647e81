"""The roles that say what agents do: the Actor, the Corrector, and Act, ReAct and CoT."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from papers.llamar import prompt
from papers.llamar.prompt import FAILURE_REASON, REASON, Field
from papers.llamar.state import NONE, Correction, Situation
from planner.models.chat import Message, Role
from planner.models.replies.dictionary import DictionaryReply, Entries, GroupKey, TextKey

MEMORY, SUBTASK, ACTION = "memory", "subtask", "action"
MAX_MEMORY_CHARACTERS = 4000
CORRECTOR_REASON, CORRECTIVE_ACTION = "Corrector's failure reason", "corrective action"


@dataclass(frozen=True, slots=True)
class ActionList:
    """What the agents can do, for prompts.

    Attributes:
        text: one action a line, with the values of its argument.
    """

    text: str

    @property
    def inputs(self) -> str:
        """What the lines of the Actor's and the Corrector's prompts mean."""
        return _INPUTS


# The texts that an agent's action may be, by its name in prompts; empty = any.
Wordings = Callable[[str], tuple[str, ...]]


def any_text(_name: str) -> tuple[str, ...]:
    """No list of actions in the grammar: the translator reads what the model writes."""
    return ()


@dataclass(frozen=True, slots=True)
class JointAction:
    """The Actor's reply: one action for each agent by name, as written, and the new memory."""

    actions: Mapping[str, str]
    memory: str
    subtask: str = ""
    reason: str = ""
    failure_reason: str = ""


@dataclass(frozen=True, slots=True)
class ActorRole:
    """Reads everything; replies with the joint action and the memory.

    Attributes:
        names: of the agents.
        actions: what agents can do.
        correction: whether the Corrector's remedies are in the prompt, and whether this role has to
            say why something failed.
        wordings: the actions that the grammar allows.
    """

    names: tuple[str, ...]
    actions: ActionList
    correction: Correction = Correction.SEPARATE
    wordings: Wordings = any_text
    role = Role.ACTOR

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt, its fields in the paper's order; the Corrector's come last."""
        fields = team_fields(situation)
        if self.correction is Correction.SEPARATE:
            fields += corrections(situation)
        return prompt.messages(self._system(situation), situation, fields)

    def form(self, situation: Situation) -> DictionaryReply:  # noqa: ARG002 - of the team only
        """Texts, then one action for each agent."""
        reason = TextKey(FAILURE_REASON, is_optional=True)
        return DictionaryReply(
            (
                *(() if self.correction is Correction.OFF else (reason,)),
                TextKey(MEMORY, max_characters=MAX_MEMORY_CHARACTERS),
                TextKey(REASON),
                TextKey(SUBTASK, is_optional=True),
                *(TextKey(prompt.own(n, ACTION), words=self.wordings(n)) for n in self.names),
            ),
            max_tokens=2048,
        )

    def value(self, entries: Entries) -> JointAction:
        """The joint action; the memory is one line."""
        why = "" if self.correction is Correction.OFF else entries.text(FAILURE_REASON)
        return JointAction(
            {name: entries.text(prompt.own(name, ACTION)) for name in self.names},
            prompt.one_line(entries.text(MEMORY)),
            prompt.one_line(entries.text(SUBTASK)),
            entries.text(REASON),
            prompt.one_line(why),
        )

    def _system(self, situation: Situation) -> str:
        return _system(situation, self.actions, self.correction)


def team_fields(situation: Situation) -> list[Field]:
    """The fields of the Actor's prompt, without the Corrector's."""
    return [
        prompt.task(situation),
        *prompt.of_each(
            situation,
            prompt.observation,
            prompt.state,
            prompt.previous_action,
            prompt.previous_failures,
        ),
        *prompt.subtasks(situation),
        (prompt.SUBTASK, situation.subtask or NONE),
        prompt.memory(situation),
    ]


def corrections(situation: Situation) -> list[Field]:
    """What the Corrector said about the step before."""
    remedies = situation.corrective_actions
    return [
        (CORRECTOR_REASON, situation.failure_reason or NONE),
        *(
            (prompt.own(view.name, CORRECTIVE_ACTION), remedies.get(view.name) or NONE)
            for view in situation.views
        ),
    ]


_INPUTS = f"""\
Task: what the person wants.
<robot>'s observation: the things that the robot sees.
<robot>'s state: where the robot is, where it faces and what it holds.
<robot>'s previous action: what it did in the step before, and whether that worked.
<robot>'s previous failures: what it failed at since its last success.
{prompt.OPEN}: what is still to be done.
{prompt.COMPLETED}: what is done.
{prompt.SUBTASK}: what the robots were trying in the step before.
{prompt.MEMORY}: what the team noted about the steps so far."""

_REMEDIES = f"""
{CORRECTOR_REASON}: why something failed in the step before.
<robot>'s corrective action: what helps; {NONE} where nothing has to be corrected."""


def _system(situation: Situation, actions: ActionList, correction: Correction) -> str:
    names = [view.name for view in situation.views]
    asks_why = correction is not Correction.OFF
    why = f'"{FAILURE_REASON}", ' if asks_why else ""
    example = {
        **({FAILURE_REASON: NONE} if asks_why else {}),
        MEMORY: "Alice is carrying Apple_1 to Fridge_1, which is closed. Bob has seen no bread.",
        REASON: "Alice is in front of the fridge and has to open it. The bread is not in view.",
        SUBTASK: "transport the apple to the fridge",
    }
    moves = ("open object Fridge_1", "navigate to object CounterTop_1")
    for name, move in zip(names, (*moves, *("stay idle",) * len(names)), strict=False):
        example[prompt.own(name, ACTION)] = move
    on_failure = (
        f'- "{FAILURE_REASON}" says why an action of the step before failed, such as: another '
        "robot was in the way; the thing or its place was not in view; the action was not needed. "
        f'It is "{NONE}" if nothing failed.\n'
    )
    return f"""\
You choose the actions of a team of {prompt.team_of(situation)} {situation.setting.place}.
{situation.setting.seeing}{prompt.with_pictures(situation)}
You get these lines:
{actions.inputs}{_REMEDIES if correction is Correction.SEPARATE else ""}
{prompt.NAMING}
A robot can do one of this in each step; all robots act at the same time:
{actions.text}
"Done" says that the whole task is complete: only when all robots have finished. "stay idle" waits \
for one step.
Reply with a dictionary of these keys: {why}"{MEMORY}", "{REASON}", "{SUBTASK}", and "<robot>'s \
{ACTION}" for {", ".join(names)}.
{on_failure if asks_why else ""}\
- "{MEMORY}" is the new memory: what was seen and where, what was done, why something failed, and \
which subtask each robot is on. What it does not say is forgotten, so repeat what is still needed.
- "{SUBTASK}" is from the list of open subtasks.
- Let the robots work on different things, so that they are faster than one alone, and keep out of \
each other's way.
{situation.setting.advice}
Example: {json.dumps(example)}
{prompt.ONLY_DICTIONARY}"""


# The Corrector: why an action failed, and what helps (LLAMAR-D9).
#
# The paper prints no prompt of this role. It gets what the Actor gets, after the step (LLAMAR-D10).


@dataclass(frozen=True, slots=True)
class Remedies:
    """Why something failed, and by name what an agent should do about it; None = nothing."""

    reason: str = ""
    actions: Mapping[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class CorrectorRole:
    """Reads the step that was just carried out; replies with remedies for what failed.

    Attributes:
        names: of the agents.
        actions: what agents can do.
    """

    names: tuple[str, ...]
    actions: ActionList
    role = Role.CORRECTOR

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt: the fields of the Actor, in its order."""
        system = _corrector_role_system(situation, self.actions)
        return prompt.messages(system, situation, team_fields(situation))

    def form(self, situation: Situation) -> DictionaryReply:  # noqa: ARG002 - always the same
        """A reason, then one action or null for each agent."""
        remedies = (
            TextKey(prompt.own(name, CORRECTIVE_ACTION), is_optional=True) for name in self.names
        )
        return DictionaryReply((TextKey(FAILURE_REASON, is_optional=True), *remedies))

    def value(self, entries: Entries) -> Remedies:
        """The remedies."""
        return Remedies(
            entries.text(FAILURE_REASON),
            {
                name: entries.text(prompt.own(name, CORRECTIVE_ACTION)) or None
                for name in self.names
            },
        )


def _corrector_role_system(situation: Situation, actions: ActionList) -> str:
    keys = ", ".join(f'"{prompt.own(view.name, CORRECTIVE_ACTION)}"' for view in situation.views)
    return f"""\
You are the corrector of a team of {prompt.team_of(situation)} \
{situation.setting.place}. After a step in which an action failed you find out why, \
and say what the robot should do in the next step.
{situation.setting.seeing}{prompt.with_pictures(situation)}
You get these lines:
{actions.inputs}
{prompt.NAMING}
The robots can do this:
{actions.text}
Common reasons and what helps:
{situation.setting.remedies}
Reply with a dictionary of these keys: "{FAILURE_REASON}", a text, {keys}: one of the actions \
above, or {NONE} for a robot that needs none.
{prompt.ONLY_DICTIONARY}"""


# The one role of Act, ReAct and CoT: the joint action, after a thought or all reasoning.

STEPS = "Robots' steps so far"
THINK, JOINT_ACTION = "Think", "Action"


class Style(StrEnum):
    """What comes before the actions: nothing, a thought on the next step, or all reasoning."""

    ACT = "act"
    REACT = "react"
    COT = "cot"


@dataclass(frozen=True, slots=True)
class ActingRole:
    """Reads task, observations and the steps so far; replies with the joint action.

    Attributes:
        style: of the reply.
        names: of the agents.
        actions: what agents can do.
        steps: one line for each joint step so far.
        wordings: the actions that the grammar allows.
    """

    style: Style
    names: tuple[str, ...]
    actions: ActionList
    steps: tuple[str, ...] = ()
    wordings: Wordings = any_text
    role = Role.PLANNER

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt."""
        fields = [
            prompt.task(situation),
            *prompt.of_each(situation, prompt.observation, prompt.state),
            (STEPS, prompt.listed(self.steps)),
        ]
        return prompt.messages(self._system(situation), situation, fields)

    def form(self, situation: Situation) -> DictionaryReply:  # noqa: ARG002 - of the team only
        """The paper's dictionary of this style."""
        actions = tuple(TextKey(name, words=self.wordings(name)) for name in self.names)
        match self.style:
            case Style.ACT:
                return DictionaryReply(actions)
            case Style.REACT:
                thought = TextKey(THINK, max_characters=1000)
                return DictionaryReply((thought, GroupKey(JOINT_ACTION, actions)))
            case Style.COT:
                return DictionaryReply((TextKey(REASON, max_characters=2000), *actions))

    def value(self, entries: Entries) -> Mapping[str, str]:
        """The action of each agent, by name."""
        return {name: entries.text(name) for name in self.names}

    def _system(self, situation: Situation) -> str:
        return f"""\
You choose the actions of a team of {prompt.team_of(situation)} {situation.setting.place}.
{situation.setting.seeing}{prompt.with_pictures(situation)}
You get these lines:
Task: what the person wants.
<robot>'s observation: the things that the robot sees.
<robot>'s state: where the robot is, where it faces and what it holds.
{STEPS}: what each robot did in each step, and whether that worked.
{prompt.NAMING}
A robot can do one of this in each step; all robots act at the same time:
{self.actions.text}
"Done" says that the whole task is complete: only when all robots have finished. "stay idle" waits \
for one step. A robot holds one thing at a time, and has to navigate to a thing before anything \
else is done with it.
{_INSTRUCTIONS[self.style]} for {", ".join(self.names)}.
Write the dictionary and nothing else."""


_INSTRUCTIONS = {
    Style.ACT: "Reply with a dictionary of each robot's name and its action,",
    Style.REACT: "Think about the next step first. Reply with a dictionary of two keys: "
    f'"{THINK}", what you think, and "{JOINT_ACTION}", a dictionary of each robot and its action,',
    Style.COT: "Think step by step how the whole task is done from here. Reply with a dictionary: "
    f'"{REASON}", all of these thoughts, then each robot and its action,',
}
