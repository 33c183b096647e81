"""Dialogue files: every call of a model in an episode, whole, for training and replay.

JSON lines, version 1 (docs/schema/dialogue.schema.json): first a line `head`, then lines
`grammar`, each before the first turn that was constrained by it, and lines `turn` in the order in
which the model was asked. A prompt mostly begins with the one before: a turn keeps only the
messages that are new. How calls ended and how the task stood is in the episode's trace file;
`step` joins the two.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from planner.bench.runs.rows import RowAxes
from planner.models.chat import (
    ChatModel,
    Completion,
    Message,
    ModelError,
    Speaker,
    transcript,
)
from planner.models.trace import ModelCall
from planner.world.errors import FileError, from_validation
from planner.world.files import FileModel

DIALOGUE_VERSION = 1
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]


class HeadLine(FileModel):
    """Whose dialogue this is."""

    version: Literal[1] = 1
    record: Literal["head"] = "head"
    episode_id: str
    seed: int
    instruction: str
    planner: str
    model: str
    agents: tuple[str, ...]
    axes: RowAxes


class GrammarLine(FileModel):
    """A grammar (GBNF) under the hash by which turns name it."""

    record: Literal["grammar"] = "grammar"
    hash: str
    text: str


class Said(FileModel):
    """A message of a prompt."""

    speaker: Speaker
    text: str


class TurnLine(FileModel):
    """One call of the model.

    Attributes:
        step, stamp_s: of the world when it was asked, which stands still meanwhile.
        cycle: planning cycle of this dialogue, from 1.
        agents: whose action it decides.
        after: the turn, from 0, whose prompt this one begins with; None = begins anew.
        kept: how many messages of that prompt.
        messages: the rest of the prompt.
        grammar: hash of what constrained the reply; "" = nothing.
        calls: parsed skill calls in the order of agents, "" where there is none.
        error: why the reply was refused, or why there is none; "" = accepted.
        first_token_s, total_s: wall seconds; None = not measured.
    """

    record: Literal["turn"] = "turn"
    step: Count
    stamp_s: float
    cycle: Count
    agents: tuple[str, ...]
    after: Count | None = None
    kept: Count = 0
    messages: tuple[Said, ...]
    grammar: str = ""
    reply: str = ""
    finish: str = "stop"
    calls: tuple[str, ...] = ()
    error: str = ""
    prompt_tokens: Count = 0
    cached_tokens: Count = 0
    reply_tokens: Count = 0
    first_token_s: Seconds | None = None
    total_s: Seconds | None = None
    parameters: dict[str, str] = Field(default_factory=dict)


Line: TypeAlias = HeadLine | GrammarLine | TurnLine
LINES: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="record")])


@dataclass(frozen=True, slots=True)
class Turn:
    """A call of the model with its whole prompt and grammar."""

    line: TurnLine
    messages: tuple[Message, ...]
    grammar: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What was said in one episode."""

    head: HeadLine
    turns: tuple[Turn, ...]


@dataclass(slots=True)
class DialogueWriter:
    """Takes down what is asked and answered; `text` is the file's."""

    head: HeadLine
    lines: list[Line] = field(default_factory=list)
    _prompts: list[tuple[Message, ...]] = field(default_factory=list)
    _last: dict[tuple[str, ...], int] = field(default_factory=dict)
    _hashes: set[str] = field(default_factory=set)

    def turn(
        self, call: ModelCall, messages: tuple[Message, ...], finish: str, step: int, stamp_s: float
    ) -> None:
        """Takes down one call."""
        parameters = dict(call.parameters)
        found = parameters.pop("grammar_hash", "")
        name = found if call.grammar else ""
        if name and name not in self._hashes:
            self._hashes.add(name)
            self.lines.append(GrammarLine(hash=name, text=call.grammar))
        after = self._last.get(call.agents)
        kept = _alike(self._prompts[after], messages) if after is not None else 0
        self._last[call.agents] = len(self._prompts)
        self._prompts.append(messages)
        line = TurnLine(
            step=step,
            stamp_s=stamp_s,
            cycle=call.cycle,
            agents=call.agents,
            after=after if kept else None,
            kept=kept,
            messages=tuple(Said(speaker=m.speaker, text=m.text) for m in messages[kept:]),
            grammar=name,
            reply=call.reply,
            finish=finish,
            calls=call.calls,
            error=call.error,
            prompt_tokens=call.usage.prompt_tokens,
            cached_tokens=call.usage.cached_tokens,
            reply_tokens=call.usage.reply_tokens,
            first_token_s=_measured(call.timings.first_token_s),
            total_s=_measured(call.timings.total_s),
            parameters=parameters,
        )
        self.lines.append(line)

    def failed(self, messages: tuple[Message, ...], error: str, step: int, stamp_s: float) -> None:
        """Takes down a call without an answer."""
        self._prompts.append(messages)
        said = tuple(Said(speaker=m.speaker, text=m.text) for m in messages)
        self.lines.append(
            TurnLine(step=step, stamp_s=stamp_s, cycle=0, agents=(), messages=said, error=error)
        )

    def text(self) -> str:
        """The file's text."""
        lines: list[Line] = [self.head, *self.lines]
        return "".join(line.model_dump_json() + "\n" for line in lines)


def _alike(before: Sequence[Message], now: Sequence[Message]) -> int:
    count = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        count += 1
    return count


def _measured(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def read_dialogue(path: Path) -> Dialogue:
    """A dialogue file with its prompts whole.

    Raises:
        FileError: naming the line and the field, and the reason.
    """
    head: HeadLine | None = None
    grammars: dict[str, str] = {"": ""}
    turns: list[Turn] = []
    for number, line in _lines_of(path):
        if isinstance(line, HeadLine):
            if head is not None:
                raise FileError(path, f"line {number}", "a second head")
            head = line
        elif head is None:
            raise FileError(path, f"line {number}", "comes before the head")
        elif isinstance(line, GrammarLine):
            grammars[line.hash] = line.text
        else:
            turns.append(_whole(path, number, line, turns, grammars))
    if head is None:
        raise FileError(path, "", "is empty")
    return Dialogue(head, tuple(turns))


def _whole(
    path: Path, number: int, line: TurnLine, turns: Sequence[Turn], grammars: dict[str, str]
) -> Turn:
    if line.grammar not in grammars:
        raise FileError(path, f"line {number}.grammar", f"no grammar {line.grammar} before it")
    kept: tuple[Message, ...] = ()
    if line.after is not None:
        if line.after >= len(turns) or line.kept > len(turns[line.after].messages):
            raise FileError(path, f"line {number}.after", "has not been said before it")
        kept = turns[line.after].messages[: line.kept]
    new = tuple(Message(said.speaker, said.text) for said in line.messages)
    return Turn(line, kept + new, grammars[line.grammar])


def _lines_of(path: Path) -> Iterator[tuple[int, Line]]:
    try:
        with path.open(encoding="utf-8") as stream:
            for number, text in enumerate(stream, start=1):
                try:
                    yield number, LINES.validate_json(text)
                except ValidationError as error:
                    plain = from_validation(path, error)
                    where = f"line {number}" + (f".{plain.field}" if plain.field else "")
                    raise FileError(path, where, plain.reason) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None


def recording_text(dialogue: Dialogue) -> str:
    """The answered calls in the format that `recorded:FILE` plays back."""
    lines: list[object] = [{"version": 1, "model": dialogue.head.model}]
    for turn in dialogue.turns:
        if turn.line.cycle == 0:
            continue
        lines.append(
            {
                "messages": [{"speaker": m.speaker.value, "text": m.text} for m in turn.messages],
                "grammar": turn.grammar,
                "reply": turn.line.reply,
                "finish": turn.line.finish,
                "prompt_tokens": turn.line.prompt_tokens,
                "cached_tokens": turn.line.cached_tokens,
                "reply_tokens": turn.line.reply_tokens,
            }
        )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


class HeardModel:
    """A model whose prompts are kept until the planner tells what it made of the answers."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._open: dict[str, tuple[tuple[Message, ...], str]] = {}
        self.failures: list[tuple[tuple[Message, ...], str]] = []

    @property
    def name(self) -> str:
        """The name of the model behind it."""
        return self._model.name

    def take(self, prompt: str) -> tuple[tuple[Message, ...], str]:
        """The messages of an answered prompt, and how the answer finished."""
        return self._open.pop(prompt)

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
        """The other model's answer."""
        asked = tuple(messages)
        try:
            answer = await self._model.complete(
                messages,
                grammar=grammar,
                stop=stop,
                max_tokens=max_tokens,
                seed=seed,
                deadline_s=deadline_s,
            )
        except ModelError as error:
            self.failures.append((asked, str(error)))
            raise
        self._open[transcript(asked)] = (asked, answer.finish)
        return answer

    async def close(self) -> None:
        """Closes the model behind it."""
        await self._model.close()
