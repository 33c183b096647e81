"""The Planner: which subtasks are open now (LLAMAR-D1)."""

from __future__ import annotations

from dataclasses import dataclass

from planner.models.chat import Message
from planner.models.replies.dictionary import DictionaryReply, Entries, TextKey, TextsKey
from planner.models.role import Role
from planner.planning.llamar import prompt
from planner.planning.llamar.role import MAX_SUBTASKS, REASON
from planner.planning.llamar.state import NONE, Situation

PLAN = "plan"
_FORM = DictionaryReply((TextKey(REASON), TextsKey(PLAN, MAX_SUBTASKS)))


@dataclass(frozen=True, slots=True)
class Plan:
    """The open subtasks, and why these."""

    subtasks: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class PlannerRole:
    """Reads task, observations, subtasks and memory; replies with the whole list of open ones."""

    role = Role.PLANNER

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt, its fields in the paper's order."""
        fields = [
            prompt.task(situation),
            *prompt.of_each(situation, prompt.observation),
            *prompt.subtasks(situation),
            prompt.memory(situation),
        ]
        return prompt.messages(_system(situation), situation, fields)

    def form(self, situation: Situation) -> DictionaryReply:  # noqa: ARG002 - always the same
        """A reason and a list."""
        return _FORM

    def value(self, entries: Entries) -> Plan:
        """The plan."""
        return Plan(entries.texts(PLAN), entries.text(REASON))


def _system(situation: Situation) -> str:
    return f"""\
You are the planner of a team of {prompt.team_of(situation)} \
{situation.setting.place}. Another module chooses the robots' actions; you keep the list of \
subtasks that are still to be done for the task.
{situation.setting.seeing}{prompt.with_pictures(situation)}
You get these lines:
Task: what the person wants.
<robot>'s observation: the things that the robot sees.
{prompt.OPEN}: your list of the step before; {NONE} at the beginning.
{prompt.COMPLETED}: what is known to be done.
{prompt.MEMORY}: what the team noted about the steps so far.
{prompt.NAMING}
Reply with a dictionary of two keys: "{REASON}", a text, and "{PLAN}", the list of all subtasks \
that are open now. You may keep your list, add to it or change it; adding is better than rewording.
- A subtask is specific: name the thing and where it has to go, as far as they are known, and \
plan to find what nobody has seen yet. "Do the task" is no subtask.
- Do not say which robot does it.
- Leave out steps that another step includes, such as going somewhere before taking a thing. \
Where one action is enough, such as cleaning a plate, it is one subtask.
- Do not repeat what is completed. When nothing is left to do, the list is empty.
Example: {{"{REASON}": "The apple is on the table. No fridge was seen yet, so it has to be \
found.", "{PLAN}": ["find the fridge", "transport the apple to the fridge"]}}
{prompt.ONLY_DICTIONARY}"""
