"""Records a model's requests and replies, and replays them exactly.

The file has one JSON object a line: first `{"version": 1, "model": ...}`, then one call each.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from planner.models.chat import (
    ChatModel,
    Completion,
    Message,
    ModelError,
    Request,
    Speaker,
    Timings,
    Usage,
    WrappedModel,
)
from planner.models.dialogue_file import DIALOGUE_ENDING, read_dialogue
from planner.models.role import Role
from planner.world.errors import FileError, from_validation
from planner.world.files import FileModel, read_lines

VERSION = 1
_SHOWN_LINES = 30
Count = Annotated[int, Field(ge=0)]


class _Head(FileModel):
    version: Literal[1] = 1
    model: str


class _Turn(FileModel):
    speaker: Speaker
    text: str
    # Digests: a replay compares pictures and does not show them.
    pictures: tuple[str, ...] = ()


class _Call(FileModel):
    messages: tuple[_Turn, ...]
    grammar: str = ""
    reply: str
    finish: str = "stop"
    prompt_tokens: Count = 0
    cached_tokens: Count = 0
    reply_tokens: Count = 0
    role: Role = Role.PLANNER

    def completion(self) -> Completion:
        usage = Usage(self.prompt_tokens, self.cached_tokens, self.reply_tokens)
        return Completion(self.reply, usage, Timings(0.0, 0.0), self.finish)


def _turns_of(messages: Sequence[Message]) -> tuple[_Turn, ...]:
    return tuple(
        _Turn(speaker=m.speaker, text=m.text, pictures=tuple(p.digest for p in m.pictures))
        for m in messages
    )


class RecordingModel(WrappedModel):
    """Passes calls on to another model and appends each reply to a file."""

    def __init__(self, model: ChatModel, path: Path) -> None:
        """Starts a new file.

        Raises:
            FileError: if it cannot be written.
        """
        super().__init__(model)
        self._path = path
        self._write("w", _Head(model=model.name))

    async def complete(self, request: Request) -> Completion:
        """The other model's reply, recorded before it is returned."""
        answer = await self._model.complete(request)
        call = _Call(
            messages=_turns_of(request.messages),
            grammar=request.grammar,
            reply=answer.text,
            finish=answer.finish,
            prompt_tokens=answer.usage.prompt_tokens,
            cached_tokens=answer.usage.cached_tokens,
            reply_tokens=answer.usage.reply_tokens,
            role=request.role,
        )
        self._write("a", call)
        return answer

    def _write(self, mode: Literal["w", "a"], line: _Head | _Call) -> None:
        try:
            with self._path.open(mode, encoding="utf-8") as file:
                file.write(line.model_dump_json() + "\n")
        except OSError as error:
            raise FileError(self._path, "", f"cannot be written: {error}") from None


class RecordedModel:
    """Replays a recorded model's replies to the same prompts."""

    def __init__(self, path: Path) -> None:
        """Reads a file of `RecordingModel`, or a dialogue file.

        Raises:
            FileError: naming the invalid line.
        """
        self._path = path
        self._next = 0
        is_dialogue = path.name.endswith(DIALOGUE_ENDING)
        self._model, self._calls = _of_dialogue(path) if is_dialogue else _of_recording(path)

    @property
    def name(self) -> str:
        """The name of the recorded model."""
        return self._model

    async def complete(self, request: Request) -> Completion:
        """The recorded reply to exactly this dialogue.

        Raises:
            ModelError: at the first dialogue that differs, with the difference, and after the last
                one.
        """
        number = self._next + 1
        if number > len(self._calls):
            raise ModelError(f"{self._path}: has {len(self._calls)} calls and was asked for more")
        call = self._calls[self._next]
        asked = _turns_of(request.messages)
        if call.messages != asked:
            raise ModelError(self._difference(number, call.messages, asked))
        self._next = number
        return call.completion()

    def _difference(self, number: int, recorded: Sequence[_Turn], asked: Sequence[_Turn]) -> str:
        lines = difflib.unified_diff(
            _lines_of(recorded),
            _lines_of(asked),
            f"recorded call {number}",
            f"asked call {number}",
            lineterm="",
            n=1,
        )
        shown = list(lines)[:_SHOWN_LINES]
        return f"{self._path}: call {number} is not what was recorded:\n" + "\n".join(shown)

    async def close(self) -> None:
        """Does nothing."""


def _lines_of(turns: Sequence[_Turn]) -> list[str]:
    lines = []
    for turn in turns:
        pictures = [f"[picture {digest}]" for digest in turn.pictures]
        lines += [f"[{turn.speaker.value}]", *pictures, *turn.text.splitlines()]
    return lines


def _of_recording(path: Path) -> tuple[str, list[_Call]]:
    lines = list(read_lines(path))
    if not lines:
        raise FileError(path, "", "is empty")
    model, calls = "", []
    for number, line in enumerate(lines, start=1):
        try:
            if number == 1:
                model = _Head.model_validate_json(line).model
            else:
                calls.append(_Call.model_validate_json(line))
        except ValidationError as error:
            plain = from_validation(path, error)
            where = f"line {number}" + (f": {plain.field}" if plain.field else "")
            raise FileError(path, where, plain.reason) from None
    return model, calls


def _of_dialogue(path: Path) -> tuple[str, list[_Call]]:
    dialogue = read_dialogue(path)
    calls = [
        _Call(
            messages=tuple(
                _Turn(speaker=m.speaker, text=m.text, pictures=m.pictures) for m in turn.messages
            ),
            grammar=turn.grammar,
            reply=turn.line.reply,
            finish=turn.line.finish,
            prompt_tokens=turn.line.prompt_tokens,
            cached_tokens=turn.line.cached_tokens,
            reply_tokens=turn.line.reply_tokens,
            role=turn.line.role,
        )
        for turn in dialogue.turns
        if turn.line.is_answered
    ]
    return dialogue.head.model, calls
