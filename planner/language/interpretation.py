"""An instruction in plain English becomes a goal, or the outcome that says why there is none."""

from __future__ import annotations

import itertools

from pydantic import ValidationError

from planner.language.accounting import Accounting
from planner.language.checks import check
from planner.language.conservation import conserve
from planner.language.emission import Emission
from planner.language.english import THE
from planner.language.lexicon import default_lexicon
from planner.language.reading import (
    Ask,
    AskReason,
    NoCommand,
    NoCommandReason,
    NotUnderstood,
    Reading,
)
from planner.language.repairs import repaired, without_hesitation
from planner.language.screening import known, no_command, respelled
from planner.language.sentence import Refused, Source
from planner.language.short_forms import with_verbs
from planner.language.text import Text
from planner.language.tokens import STOPS, Token, tokens_of
from planner.language.words import Actor

_ASKING = frozenset({"where", "what", "who", "why", "whose"})
_ASKED = frozenset({("did",), ("is",), ("are",), ("was",), ("were",), ("have",), ("has",), ("do",)})


def interpret(text: str) -> Reading:
    """The meaning of an instruction.

    It asks or refuses rather than guesses: every word must be covered by some rule.
    """
    raw = without_hesitation(tokens_of(text))
    if screened := no_command(text, raw):
        return screened
    tokens = tuple(_spelled(token) for token in raw)
    try:
        return _read(text, tokens)
    except Refused as refused:
        if isinstance(refused.reading, Ask) and _asks_where(tokens):
            return NoCommand(reason=NoCommandReason.QUESTION)
        unknown = [
            t for before, t in itertools.pairwise(tokens)
            if t.is_word and not known(t.word) and before.word in THE
        ]  # fmt: skip
        if unknown and isinstance(refused.reading, Ask) and _is_pronoun(refused.reading):
            # "My wazzle is on the bed, bring it to me".
            return NotUnderstood(words=tuple(text[t.start : t.end] for t in unknown))
        return refused.reading


def _is_pronoun(ask: Ask) -> bool:
    return ask.reason is AskReason.WHAT and {word.lower() for word in ask.words} <= {"it", "them"}


def _asks_where(tokens: tuple[Token, ...]) -> bool:
    """Whether a text is one question: "where did I leave my glasses?"."""
    said = tuple(token.word for token in tokens)
    marks = [word for word in said if word in STOPS]
    return said[0] in _ASKING and said[1:2] in _ASKED and marks == ["?"]


def spelled(text: str) -> tuple[Token, ...]:
    """The words and marks of a text, with misspelled words corrected where only one is near."""
    return tuple(_spelled(token) for token in tokens_of(text))


def _spelled(token: Token) -> Token:
    word = respelled(token.word) if token.is_word else token.word
    return token if word == token.word else Token(word, token.start, token.end)


def _read(text: str, tokens: tuple[Token, ...]) -> Reading:
    source = repaired(with_verbs(Source(text, tokens, default_lexicon())))
    reader = Text(source)
    failed = reader.read()
    if failed is not None:
        unknown = [t for t in source.tokens if t.is_word and not known(t.word)]
        vague = [t for t in source.tokens if t.word in ("wherever", "somewhere", "someplace")]
        if vague:
            return Ask(words=(text[vague[0].start : vague[0].end],), reason=AskReason.WHERE)
        if reader.is_question(failed):
            return NoCommand(reason=NoCommandReason.QUESTION)
        if unknown:
            return NotUnderstood(words=tuple(text[t.start : t.end] for t in unknown))
        return NotUnderstood(words=(source.quote(culprit := reader.culprit(failed), culprit + 1),))
    order = reader.order
    order.finish()
    if not order.steps and not order.throughout:
        return reader.nothing()
    if all(do.who is Actor.SPEAKER for do in (*order.requests, *order.throughout)):
        return NoCommand(reason=NoCommandReason.CHAT)
    check(source, order)
    try:
        goal = Emission().goal(order.steps, order.throughout)
    except ValidationError:
        # What the form cannot say is not done.
        return NotUnderstood(words=(text.strip(),))
    passed = reader.passed
    Accounting(reader.source, goal, passed, reader.remarks).check()
    conserve(reader.source, order, passed)
    return goal


def suggestions(reading: Reading) -> dict[str, tuple[str, ...]]:
    """Known words that are spelled like those that were not understood."""
    if not isinstance(reading, NotUnderstood):
        return {}
    words = {word for phrase in reading.words for word in phrase.lower().split() if not known(word)}
    found = {word: default_lexicon().near(word) for word in sorted(words)}
    return {word: near for word, near in found.items() if near}
