"""What an instruction and the answers about it ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.language.answers import AnswerSort, read_answer
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import AlreadyTrue, Ask
from planner.planning.planner import Exchange
from planner.planning.words.sentences import nothing_to_do, question, refusal
from planner.world.instruct import InstructionCode

# Answers that are merged into one text; each must settle the words that were asked about.
MAX_ANSWERS = 10
_SENTENCE = re.compile(r"[^.!?;]+[.!?;]*")
_NEGATION = re.compile(r"\b(not|never|no|without|except|but|unless)\b|n't", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Understood:
    """A goal.

    Attributes:
        left_out: sentences that were not understood and are not done.
    """

    goal: Goal
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unclear:
    """A question to the person that has no answer yet."""

    question: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A text of which nothing is done, and why; code DONE if it is true already.

    Attributes:
        question: what must be answered before anything can be done; "" = nothing.
        is_unread: whether no rule could read it, although it may be an instruction.
    """

    code: InstructionCode
    text: str
    question: str = ""
    is_unread: bool = False


Understanding = Understood | Unclear | Ended


def understand(text: str, exchanges: Sequence[Exchange]) -> Understanding:
    """The goal of an instruction, what has to be asked first, or why nothing is done."""
    answers = {exchange.question: exchange.answer for exchange in exchanges}
    for _ in range(MAX_ANSWERS):
        reading = interpret(text)
        if isinstance(reading, Goal):
            return Understood(reading)
        if isinstance(reading, AlreadyTrue):
            return Ended(InstructionCode.DONE, nothing_to_do(reading))
        if not isinstance(reading, Ask):
            code, sentence = refusal(reading)
            return Ended(code, sentence, is_unread=code is InstructionCode.NO_GOAL)
        asked = question(reading)
        if asked not in answers:
            return Unclear(asked)
        answer = (answers[asked] or "").strip().rstrip(".!?,; ")
        found = read_answer(text, reading, answer)
        if found.goal is not None:
            return Understood(found.goal)
        replaced = _replaced(text, reading.words, answer)
        if not answer or found.sort is AnswerSort.NO or replaced is None:
            return _clear_part(text, reading, asked, answers)
        text = replaced
    return Ended(InstructionCode.QUESTION, "nothing was done: the answers did not help")


def _clear_part(
    text: str, ask: Ask, asked: str, answers: Mapping[str, str | None]
) -> Understood | Ended:
    """The goal without the sentences that are asked about, if it does not depend on them."""
    sentences = [match.group().strip() for match in _SENTENCE.finditer(text)]
    unclear = [s for s in sentences if any(word in s for word in ask.words)]
    clear = " ".join(s for s in sentences if s not in unclear)
    reading = interpret(clear) if clear else None
    # What must not be done may be in the words that are not clear.
    if isinstance(reading, Goal) and not any(_NEGATION.search(s) for s in unclear):
        return Understood(reading, tuple(unclear))
    why = "was not understood" if answers[asked] else "did not come"
    end = f'nothing was done: the answer to "{asked}" {why}'
    return Ended(InstructionCode.QUESTION, end, asked)


def _replaced(text: str, words: Sequence[str], answer: str) -> str | None:
    """The instruction with an answer in place of the words, if that leads to another question."""
    for word in words:
        candidate = text.replace(word, answer, 1)
        if isinstance(interpret(candidate), Ask) and candidate != text:
            return candidate
    return None
