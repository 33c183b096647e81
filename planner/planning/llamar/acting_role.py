"""The one role of Act, ReAct and CoT: the joint action, after a thought or all reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from planner.models.chat import Message
from planner.models.replies.dictionary import DictionaryReply, Entries, GroupKey, TextKey
from planner.models.role import Role
from planner.planning.llamar import prompt
from planner.planning.llamar.actor_role import ActionList, Wordings, any_text
from planner.planning.llamar.role import REASON
from planner.planning.llamar.state import Situation

STEPS = "Robots' steps so far"
THINK, ACTION = "Think", "Action"


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
                return DictionaryReply((thought, GroupKey(ACTION, actions)))
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
    f'"{THINK}", what you think, and "{ACTION}", a dictionary of each robot and its action,',
    Style.COT: "Think step by step how the whole task is done from here. Reply with a dictionary: "
    f'"{REASON}", all of these thoughts, then each robot and its action,',
}
