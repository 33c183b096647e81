"""Dialogue files of model calls, and a model that replays recorded requests exactly."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from planner.models.caller import ModelCall
from planner.models.chat import (
    ChatModel,
    Completion,
    Message,
    ModelError,
    Request,
    Role,
    Speaker,
    Timings,
    Usage,
    WrappedModel,
)
from planner.world.errors import FileError
from planner.world.files import FileModel, read_line, read_lines, writing

# Dialogue files: every model call of an episode in full, for training and replay.
#
# JSON lines, version 1 (docs/schema/dialogue.schema.json): first a `head` line, then `grammar`
# lines, each before the first turn it constrained, and `turn` lines in the order of the calls. A
# prompt usually starts with the previous one, so a turn stores only the new messages. Results of
# calls and the progress of the task are in the episode's trace file; `step` joins the two.

DIALOGUE_VERSION = 1
DIALOGUE_ENDING = ".dialogue.jsonl"
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]


class HeadLine(FileModel):
    """The episode and planner of this dialogue."""

    version: Literal[1] = 1
    record: Literal["head"] = "head"
    episode_id: str
    seed: int
    instruction: str
    planner: str
    model: str
    agents: tuple[str, ...]
    axes: dict[str, str]


class GrammarLine(FileModel):
    """A grammar (GBNF) and the hash by which turns refer to it."""

    record: Literal["grammar"] = "grammar"
    hash: str
    text: str


class MessageRecord(FileModel):
    """A message of a prompt; pictures as digests."""

    speaker: Speaker
    text: str
    pictures: tuple[str, ...] = ()


class TurnLine(FileModel):
    """One model call.

    Attributes:
        step, stamp_s: of the world at the time of the call; the world is paused meanwhile.
        cycle: planning cycle of this dialogue, from 1; 0 = the model gave no reply.
        agents: whose actions it decides.
        after: index of the turn, from 0, whose prompt this one starts with; None = none.
        kept: how many messages of that prompt it starts with.
        messages: the rest of the prompt.
        grammar: hash of the grammar that constrained the reply; "" = none.
        calls: parsed skill calls in the order of `agents`, "" where there is none.
        error: why the reply was rejected or is missing; "" = accepted.
        first_token_s, total_s: wall seconds; None = not measured.
        role: what the call is for; older files have none, which means the planner.
    """

    record: Literal["turn"] = "turn"
    step: Count
    stamp_s: float
    cycle: Count
    agents: tuple[str, ...]
    after: Count | None = None
    kept: Count = 0
    messages: tuple[MessageRecord, ...]
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
    role: Role = Role.PLANNER

    @property
    def is_answered(self) -> bool:
        """Whether the model replied at all."""
        return self.cycle > 0


Line: TypeAlias = HeadLine | GrammarLine | TurnLine
LINES: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="record")])


@dataclass(frozen=True, slots=True)
class Turn:
    """A model call with its whole prompt and grammar."""

    line: TurnLine
    messages: tuple[MessageRecord, ...]
    grammar: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """All model calls of one episode."""

    head: HeadLine
    turns: tuple[Turn, ...]


@dataclass(slots=True)
class DialogueWriter:
    """Records model calls; `text` is the content of the file."""

    head: HeadLine
    lines: list[Line] = field(default_factory=list)
    _prompts: list[tuple[MessageRecord, ...]] = field(default_factory=list)
    _last: dict[tuple[Role, tuple[str, ...]], int] = field(default_factory=dict)
    _hashes: set[str] = field(default_factory=set)

    def add(self, call: ModelCall, step: int, stamp_s: float) -> None:
        """Records one call."""
        messages = _recorded(call.messages)
        if not call.answered:
            self._prompts.append(messages)
            self.lines.append(
                TurnLine(
                    step=step,
                    stamp_s=stamp_s,
                    cycle=0,
                    agents=(),
                    messages=messages,
                    error=call.error,
                    role=call.role,
                )
            )
            return
        parameters = dict(call.parameters)
        found = parameters.pop("grammar_hash", "")
        name = found if call.grammar else ""
        if name and name not in self._hashes:
            self._hashes.add(name)
            self.lines.append(GrammarLine(hash=name, text=call.grammar))
        who = (call.role, call.agents)
        after = self._last.get(who)
        kept = _common(self._prompts[after], messages) if after is not None else 0
        self._last[who] = len(self._prompts)
        self._prompts.append(messages)
        line = TurnLine(
            step=step,
            stamp_s=stamp_s,
            cycle=call.cycle,
            agents=call.agents,
            after=after if kept else None,
            kept=kept,
            messages=messages[kept:],
            grammar=name,
            reply=call.reply,
            finish=call.finish,
            calls=call.calls,
            error=call.error,
            prompt_tokens=call.usage.prompt_tokens,
            cached_tokens=call.usage.cached_tokens,
            reply_tokens=call.usage.reply_tokens,
            first_token_s=_measured(call.timings.first_token_s),
            total_s=_measured(call.timings.total_s),
            parameters=parameters,
            role=call.role,
        )
        self.lines.append(line)

    def text(self) -> str:
        """The content of the file."""
        lines: list[Line] = [self.head, *self.lines]
        return "".join(line.model_dump_json() + "\n" for line in lines)


def _common(before: Sequence[MessageRecord], now: Sequence[MessageRecord]) -> int:
    count = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        count += 1
    return count


def _measured(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def read_dialogue(path: Path) -> Dialogue:
    """Reads a dialogue file and restores the full prompts.

    Raises:
        FileError: naming the line, the field and the reason.
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
    kept: tuple[MessageRecord, ...] = ()
    if line.after is not None:
        if line.after >= len(turns) or line.kept > len(turns[line.after].messages):
            raise FileError(path, f"line {number}.after", "has not been said before it")
        kept = turns[line.after].messages[: line.kept]
    return Turn(line, kept + line.messages, grammars[line.grammar])


def dialogue_path(run: Path, stem: str) -> Path:
    """Path of an episode's dialogue in a run's folder; the stem is `EPISODE-SEED`."""
    return run / "traces" / f"{stem}{DIALOGUE_ENDING}"


def _lines_of(path: Path) -> Iterator[tuple[int, Line]]:
    for number, line in enumerate(read_lines(path), start=1):
        yield number, read_line(path, number, line, LINES.validate_json)


VERSION = 1
_SHOWN_LINES = 30


class _Head(FileModel):
    version: Literal[1] = 1
    model: str


class _Call(FileModel):
    messages: tuple[MessageRecord, ...]
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


def _recorded(messages: Sequence[Message]) -> tuple[MessageRecord, ...]:
    return tuple(
        MessageRecord(speaker=m.speaker, text=m.text, pictures=tuple(p.digest for p in m.pictures))
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
            messages=_recorded(request.messages),
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
        with writing(self._path), self._path.open(mode, encoding="utf-8") as file:
            file.write(line.model_dump_json() + "\n")


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
        self.name, self._calls = _of_dialogue(path) if is_dialogue else _of_recording(path)

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
        asked = _recorded(request.messages)
        if call.messages != asked:
            raise ModelError(self._difference(number, call.messages, asked))
        self._next = number
        return call.completion()

    def _difference(
        self, number: int, recorded: Sequence[MessageRecord], asked: Sequence[MessageRecord]
    ) -> str:
        lines = difflib.unified_diff(
            _recorded_lines_of(recorded),
            _recorded_lines_of(asked),
            f"recorded call {number}",
            f"asked call {number}",
            lineterm="",
            n=1,
        )
        shown = list(lines)[:_SHOWN_LINES]
        return f"{self._path}: call {number} is not what was recorded:\n" + "\n".join(shown)

    async def close(self) -> None:
        """Does nothing."""


def _recorded_lines_of(turns: Sequence[MessageRecord]) -> list[str]:
    lines = []
    for turn in turns:
        pictures = [f"[picture {digest}]" for digest in turn.pictures]
        lines += [f"[{turn.speaker.value}]", *pictures, *turn.text.splitlines()]
    return lines


def _of_recording(path: Path) -> tuple[str, list[_Call]]:
    lines = list(read_lines(path))
    if not lines:
        raise FileError(path, "", "is empty")
    head = read_line(path, 1, lines[0], _Head.model_validate_json)
    calls = [
        read_line(path, number, line, _Call.model_validate_json)
        for number, line in enumerate(lines[1:], start=2)
    ]
    return head.model, calls


def _of_dialogue(path: Path) -> tuple[str, list[_Call]]:
    dialogue = read_dialogue(path)
    calls = [
        _Call(
            messages=turn.messages,
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
