r"""Dialogues of planners as training samples; only the planner's words have a loss (EPM-2.7).

A file has one JSON object a line, in the format that `datasets` and TRL read:

    {"messages": [{"role": "system", "content": "..."}, {"role": "user", "content": "..."},
                  {"role": "assistant", "content": "Navigate[Object.101]\nAssigned!"}, ...]}

Other fields are ignored. A turn of the assistant with `"learned": false` has no loss. A line of
`planner bench samples` is a dialogue of two messages, `prompt` and `target`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from planner.models.chat import Speaker
from planner.models.dialogue_file import Dialogue, Turn
from planner.models.replies.turn_grammar import END_OF_TURN
from planner.training.traces.record import Trace, learned_calls, messages_of
from planner.world.errors import FileError, from_validation
from planner.world.files import read_lines

CHATS_ENDING = ".jsonl"


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A message; `is_learned` = it has a loss, which only the assistant's may have."""

    speaker: Speaker
    text: str
    is_learned: bool = False


@dataclass(frozen=True, slots=True)
class Chat:
    """One agent's dialogue from the first message to the last reply; `name` is for errors."""

    name: str
    turns: tuple[ChatTurn, ...]


def chats_of(dialogue: Dialogue, name: str) -> list[Chat]:
    """The dialogues of an episode, one for each agent that was asked.

    Replies that were refused stay, because later turns answer them, but are not learned. The last
    prompt counts, so what was shortened for a full context stays so.
    """
    found = []
    for agent in dialogue.head.agents:
        own = [t for t in dialogue.turns if agent in t.line.agents and t.line.is_answered]
        if own:
            found.append(Chat(f"{name} {agent}", _turns(own)))
    return [chat for chat in found if any(turn.is_learned for turn in chat.turns)]


def _turns(own: Sequence[Turn]) -> tuple[ChatTurn, ...]:
    """The last prompt with its reply; the replies in it are those of the earlier calls."""
    refused = {_said(turn.line.reply) for turn in own if turn.line.error}
    last = own[-1]
    turns = [
        ChatTurn(
            message.speaker,
            message.text,
            message.speaker is Speaker.ASSISTANT and _said(message.text) not in refused,
        )
        for message in last.messages
    ]
    if not last.line.error:
        turns.append(ChatTurn(Speaker.ASSISTANT, _said(last.line.reply), is_learned=True))
    return tuple(turns)


def _said(reply: str) -> str:
    """A reply as the next prompt repeats it."""
    return f"{reply.partition(END_OF_TURN)[0].strip()}\n{END_OF_TURN}"


def chats_of_traces(traces: Iterable[Trace], name: str) -> list[Chat]:
    """The dialogues of traces that solved their task and have a call to imitate."""
    found = []
    for number, trace in enumerate(traces, 1):
        learned = {place for place, _ in learned_calls(trace)}
        turns = tuple(
            ChatTurn(message.speaker, message.text, place in learned)
            for place, message in enumerate(messages_of(trace))
        )
        if trace.reward and learned:
            found.append(Chat(f"{name} trace {number}", turns))
    return found


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: Speaker
    content: str
    learned: bool = True


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore")
    messages: list[_Message] = Field(min_length=2)

    @model_validator(mode="before")
    @classmethod
    def _read_sample(cls, given: object) -> object:
        if not isinstance(given, dict) or "messages" in given or "prompt" not in given:
            return given
        words = (("user", given["prompt"]), ("assistant", given.get("target")))
        return {"messages": [{"role": role, "content": text} for role, text in words]}


def read_chats(files: Iterable[Path]) -> list[Chat]:
    """The dialogues of files.

    Raises:
        FileError: with file, line and field, for one that cannot be read or teaches nothing.
    """
    return [chat for path in files for chat in _of_file(path)]


def _of_file(path: Path) -> list[Chat]:
    found = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            read = _Line.model_validate_json(line)
        except ValidationError as error:
            plain = from_validation(path, error)
            where = f"line {number}" + (f".{plain.field}" if plain.field else "")
            raise FileError(path, where, plain.reason) from None
        turns = tuple(
            ChatTurn(m.role, m.content, m.role is Speaker.ASSISTANT and m.learned)
            for m in read.messages
        )
        if not any(turn.is_learned for turn in turns):
            raise FileError(path, f"line {number}", "has no turn of the assistant to learn")
        found.append(Chat(f"{path} line {number}", turns))
    return found
