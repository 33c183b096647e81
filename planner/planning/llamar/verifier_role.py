"""The Verifier: which subtasks are complete (LLAMAR-D1)."""

from __future__ import annotations

from dataclasses import dataclass

from planner.models.chat import Message
from planner.models.replies.dictionary import DictionaryReply, Entries, TextKey, TextsKey
from planner.models.role import Role
from planner.planning.llamar import prompt
from planner.planning.llamar.role import MAX_SUBTASKS, REASON
from planner.planning.llamar.state import Situation

COMPLETED_SUBTASKS = "completed subtasks"
# All that were ever open may be complete.
_FORM = DictionaryReply((TextKey(REASON), TextsKey(COMPLETED_SUBTASKS, 4 * MAX_SUBTASKS)))


@dataclass(frozen=True, slots=True)
class Verification:
    """The completed subtasks as the Verifier names them, and why."""

    completed: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class VerifierRole:
    """Reads what was done and what is seen after it; replies with all completed subtasks."""

    role = Role.VERIFIER

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt, its fields in the paper's order."""
        fields = [
            prompt.task(situation),
            *prompt.of_each(situation, prompt.observation, prompt.state, prompt.previous_action),
            *prompt.subtasks(situation),
            prompt.memory(situation),
        ]
        return prompt.messages(_system(situation), situation, fields)

    def form(self, situation: Situation) -> DictionaryReply:  # noqa: ARG002 - always the same
        """A reason and a list."""
        return _FORM

    def value(self, entries: Entries) -> Verification:
        """What is complete."""
        return Verification(entries.texts(COMPLETED_SUBTASKS), entries.text(REASON))


def _system(situation: Situation) -> str:
    return f"""\
You are the verifier of a team of {prompt.team_of(situation)} \
{situation.setting.place}. After each step you judge which subtasks are done.
{situation.setting.seeing}{prompt.with_pictures(situation)}
You get these lines:
Task: what the person wants.
<robot>'s observation: the things that the robot sees after the step.
<robot>'s state: where the robot is, where it faces and what it holds.
<robot>'s previous action: what it did in the step, and whether that worked.
{prompt.OPEN}: what is still to be done.
{prompt.COMPLETED}: what was judged to be done before.
{prompt.MEMORY}: what the team noted about the steps so far.
{prompt.NAMING}
Reply with a dictionary of two keys: "{REASON}", a text, and "{COMPLETED_SUBTASKS}", the list of \
all subtasks that are done, those of before among them; it may be empty.
- Copy the subtasks from the lists word by word. What was never open cannot be done.
- A subtask is done only when its result is there: a thing that is in a hand, or that a robot \
stands in front of, is not yet where it has to be. An action that failed has changed nothing.
Example: {{"{REASON}": "Bob put the apple in the fridge and that worked. The bread is still in \
Alice's hand.", "{COMPLETED_SUBTASKS}": ["transport the apple to the fridge"]}}
{prompt.ONLY_DICTIONARY}"""
