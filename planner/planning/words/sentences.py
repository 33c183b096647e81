"""What is said to the person about a text that is not a clear instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.language.interpretation import suggestions
from planner.language.reading import (
    AlreadyTrue,
    Ask,
    AskReason,
    Impossible,
    ImpossibleReason,
    NoCommand,
    NoCommandReason,
    NotUnderstood,
)
from planner.world.instruct import InstructionCode

_QUESTIONS = {
    AskReason.WHICH: "Which one is meant by {}?",
    AskReason.WHAT: "What is meant by {}?",
    AskReason.WHERE: "Where should it go: {}?",
    AskReason.DONE: "What exactly should be done about {}?",
}
_IMPOSSIBLE = {
    ImpossibleReason.CONTRADICTION: "{} contradicts itself",
    ImpossibleReason.AMOUNT: "{} is not a number of things",
    ImpossibleReason.UNFIT: "{} is not possible with such things",
}
_NO_COMMAND = {
    NoCommandReason.CHAT: "this asks for nothing that could be done",
    NoCommandReason.CODE: "this is a program, not an instruction in words",
    NoCommandReason.EMPTY: "the instruction is empty",
    NoCommandReason.LANGUAGE: "only instructions in English are understood",
    NoCommandReason.NOISE: "the instruction has no word that is known",
    NoCommandReason.QUESTION: "this is a question; expected something to do",
    NoCommandReason.STOP: "nothing was under way that could be stopped",
}


def question(ask: Ask) -> str:
    """The question to the person, with the words that it is about."""
    if len(ask.words) > 1:
        return f"Which is meant: {_alternatives(ask.words)}?"
    return _QUESTIONS[ask.reason].format(_quoted(ask.words))


def refusal(reading: NotUnderstood | Impossible | NoCommand) -> tuple[InstructionCode, str]:
    """The result of a text that cannot be carried out: its code, and one sentence."""
    if isinstance(reading, NoCommand):
        is_empty = reading.reason is NoCommandReason.EMPTY
        code = InstructionCode.BAD_REQUEST if is_empty else InstructionCode.NO_GOAL
        return code, f"nothing was done: {_NO_COMMAND[reading.reason]}"
    if isinstance(reading, Impossible):
        reason = _IMPOSSIBLE[reading.reason].format(_quoted(reading.words))
        return InstructionCode.BAD_REQUEST, f"nothing was done: {reason}"
    verb = "is" if len(reading.words) == 1 else "are"
    text = f"nothing was done: {_quoted(reading.words)} {verb} not understood"
    return InstructionCode.NO_GOAL, text + _near_misses(suggestions(reading))


def nothing_to_do(reading: AlreadyTrue) -> str:
    """The result of a text that asks for what is so."""
    return f"there is nothing to do: {_quoted(reading.words)} is true already"


def _near_misses(found: Mapping[str, Sequence[str]]) -> str:
    if not found:
        return ""
    near = (f"{_alternatives(words)} for {_quoted((word,))}" for word, words in found.items())
    return f"; known words like it are {', and '.join(near)}"


def _quoted(words: Sequence[str]) -> str:
    return " and ".join(f'"{word}"' for word in words)


def _alternatives(words: Sequence[str]) -> str:
    return " or ".join(f'"{word}"' for word in words)
