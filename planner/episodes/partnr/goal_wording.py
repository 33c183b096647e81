"""The wording of PARTNR's instructions, before it is read as English."""

from __future__ import annotations

import re
from itertools import pairwise

from planner.language.reading import Ask, AskReason, Reading
from planner.language.tokens import tokens_of
from planner.language.verbs import Form, verbs_at

_BESIDE = re.compile(r"^(?:right )?next to .+ and (?P<article>the|an|a) ", re.IGNORECASE)


def plain(instruction: str) -> str:
    """The text without words said twice in a row, and with a mark before each new sentence."""
    found = instruction
    words = [token for token in tokens_of(instruction) if token.is_word]
    for one, other in reversed(list(pairwise(words))):
        between = found[one.end : other.start]
        if between.strip() or not between:
            continue
        if one.word == other.word and one.word.isalpha():
            found = found[: one.end] + found[other.end :]
        elif _begins(found[other.start :]) and found[one.start].islower():
            found = f"{found[: one.end]}.{between}{found[other.start :]}"
    return found


def _begins(text: str) -> bool:
    """Whether a text begins with a verb in capitals: "... counter Place them ..."."""
    first = tuple(token.word for token in tokens_of(text)[:3])
    commands = any(Form.BASE in found.forms for found in verbs_at(first, 0))
    return text[0].isupper() and commands


def as_list(instruction: str, reading: Reading) -> str:
    """The text with one article for "next to the clamp and the candle on the table".

    It may mean next to the clamp, and the candle on the table; PARTNR's instructions go on with all
    of them at one place. The text itself, if this is not what is asked.
    """
    if not isinstance(reading, Ask) or reading.reason is not AskReason.WHICH:
        return instruction
    for words in reading.words:
        if match := _BESIDE.match(words):
            start, end = match.span("article")
            return instruction.replace(words, words[:start] + words[end + 1 :], 1)
    return instruction
