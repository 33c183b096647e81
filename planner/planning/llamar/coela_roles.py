"""What one agent of CoELA asks its own model: a message to the others, then its next action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.models.chat import Message
from planner.models.replies.dictionary import ChoiceKey, DictionaryReply, Entries, TextKey
from planner.models.role import Role
from planner.planning.llamar import prompt
from planner.planning.llamar.role import REASON
from planner.planning.llamar.state import NONE, Situation
from planner.planning.messages import MAX_CHARACTERS
from planner.world.record import record

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
