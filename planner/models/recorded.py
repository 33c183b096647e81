"""Recording what a model was asked and answered, and replaying it exactly.

The file has one JSON object a line: first `{"version": 1, "model": ...}`, then one call each.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from planner.models.chat import (
    ChatModel,
    Completion,
    Message,
    ModelError,
    Speaker,
    Timings,
    Usage,
    transcript,
)
from planner.world.errors import FileError, from_validation
from planner.world.files import FileModel

VERSION = 1
_SHOWN_LINES = 30
Count = Annotated[int, Field(ge=0)]


class _Head(FileModel):
    version: Literal[1]
    model: str


class _Turn(FileModel):
    speaker: Speaker
    text: str


class _Call(FileModel):
    messages: tuple[_Turn, ...]
    grammar: str = ""
    reply: str
    finish: str = "stop"
    prompt_tokens: Count = 0
    cached_tokens: Count = 0
    reply_tokens: Count = 0

    def completion(self) -> Completion:
        usage = Usage(self.prompt_tokens, self.cached_tokens, self.reply_tokens)
        return Completion(self.reply, usage, Timings(0.0, 0.0), self.finish)


class RecordingModel:
    """Passes calls on to another model and appends each to a file as it is answered."""

    def __init__(self, model: ChatModel, path: Path) -> None:
        """Starts a new file.

        Raises:
            FileError: where it cannot be written.
        """
        self._model, self._path = model, path
        self._write("w", {"version": VERSION, "model": model.name})

    @property
    def name(self) -> str:
        """The name of the model behind it."""
        return self._model.name

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        grammar: str = "",
        stop: Sequence[str] = (),
        max_tokens: int = 256,
        seed: int | None = None,
        deadline_s: float = 60.0,
    ) -> Completion:
        """The other model's answer, written down before it is returned."""
        answer = await self._model.complete(
            messages,
            grammar=grammar,
            stop=stop,
            max_tokens=max_tokens,
            seed=seed,
            deadline_s=deadline_s,
        )
        record = {
            "messages": [{"speaker": m.speaker.value, "text": m.text} for m in messages],
            "grammar": grammar,
            "reply": answer.text,
            "finish": answer.finish,
            "prompt_tokens": answer.usage.prompt_tokens,
            "cached_tokens": answer.usage.cached_tokens,
            "reply_tokens": answer.usage.reply_tokens,
        }
        self._write("a", record)
        return answer

    def _write(self, mode: Literal["w", "a"], record: dict[str, object]) -> None:
        try:
            with self._path.open(mode, encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        except OSError as error:
            raise FileError(self._path, "", f"cannot be written: {error}") from None

    async def close(self) -> None:
        """Closes the model behind it."""
        await self._model.close()


class RecordedModel:
    """Answers as a recorded model did, as long as it is asked the same."""

    def __init__(self, path: Path) -> None:
        """Reads the recording.

        Raises:
            FileError: naming the line that cannot be used.
        """
        self._path = path
        self._calls: list[_Call] = []
        self._next = 0
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(path, "", f"cannot be read: {error}") from None
        if not lines:
            raise FileError(path, "", "is empty")
        for number, line in enumerate(lines, start=1):
            try:
                if number == 1:
                    self._model = _Head.model_validate_json(line).model
                else:
                    self._calls.append(_Call.model_validate_json(line))
            except ValidationError as error:
                plain = from_validation(path, error)
                where = f"line {number}" + (f": {plain.field}" if plain.field else "")
                raise FileError(path, where, plain.reason) from None

    @property
    def name(self) -> str:
        """The name of the recorded model."""
        return self._model

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        grammar: str = "",
        stop: Sequence[str] = (),
        max_tokens: int = 256,
        seed: int | None = None,
        deadline_s: float = 60.0,
    ) -> Completion:
        """The recorded answer to exactly this dialogue.

        Raises:
            ModelError: at the first dialogue that differs, with the difference, and after the
                last one.
        """
        del grammar, stop, max_tokens, seed, deadline_s
        number = self._next + 1
        if number > len(self._calls):
            raise ModelError(f"{self._path}: has {len(self._calls)} calls and was asked for more")
        call = self._calls[self._next]
        recorded = tuple(Message(m.speaker, m.text) for m in call.messages)
        if recorded != tuple(messages):
            raise ModelError(self._difference(number, recorded, messages))
        self._next = number
        return call.completion()

    def _difference(
        self, number: int, recorded: Sequence[Message], asked: Sequence[Message]
    ) -> str:
        lines = difflib.unified_diff(
            transcript(recorded).splitlines(),
            transcript(asked).splitlines(),
            f"recorded call {number}",
            f"asked call {number}",
            lineterm="",
            n=1,
        )
        shown = list(lines)[:_SHOWN_LINES]
        return f"{self._path}: call {number} is not what was recorded:\n" + "\n".join(shown)

    async def close(self) -> None:
        """Nothing is open."""
