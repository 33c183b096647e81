"""The words of an instruction with what the lexicon knows of each, and where reading failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.language.english import Words
from planner.language.lexicon import Lexicon, Match
from planner.language.reading import Ask, AskReason, Impossible, NotUnderstood, Reading
from planner.language.tokens import Token


class _FirstWords(dict[tuple[str, ...], dict[str, tuple[Words, ...]]]):
    """The phrases of each rule by their first word, in the rule's order; rules are constants."""

    def __missing__(self, phrases: tuple[str, ...]) -> dict[str, tuple[Words, ...]]:
        found: dict[str, list[Words]] = {}
        for phrase in phrases:
            words = tuple(phrase.split())
            found.setdefault(words[0], []).append(words)
        self[phrases] = {word: tuple(several) for word, several in found.items()}
        return self[phrases]


class _Lengths(dict[frozenset[Words], dict[str, tuple[int, ...]]]):
    """How long the phrases of each set are, by their first word, the longest first."""

    def __missing__(self, phrases: frozenset[Words]) -> dict[str, tuple[int, ...]]:
        found: dict[str, set[int]] = {}
        for phrase in phrases:
            if phrase:
                found.setdefault(phrase[0], set()).add(len(phrase))
        self[phrases] = {
            word: tuple(sorted(several, reverse=True)) for word, several in found.items()
        }
        return self[phrases]


class _WordAt(dict[int, str]):
    """The words by position; empty before the first and behind the last."""

    def __missing__(self, at: int) -> str:
        return ""


_FIRST_WORDS, _LENGTHS = _FirstWords(), _Lengths()


class Refused(Exception):  # noqa: N818 an outcome, not an error
    """Reading ends here, with an outcome that is not a goal."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(str(reading))
        self.reading = reading


class Source:
    """What all rules read from. Positions are indexes of words; `furthest` is the last reached.

    Attributes:
        word: the word or mark at a position; empty beyond the ends.
    """

    word: Callable[[int], str]

    def __init__(self, text: str, tokens: Sequence[Token], lexicon: Lexicon) -> None:
        self.text = text
        self.tokens = tuple(tokens)
        self.words: Words = tuple(token.word for token in tokens)
        self.size = len(self.words)
        self.word = _WordAt(enumerate(self.words)).__getitem__
        self.furthest = 0
        self.lexicon = lexicon
        self._matches: dict[int, Match | None] = {}

    def match(self, at: int) -> Match | None:
        """The longest phrase of the lexicon that begins at a word."""
        if at not in self._matches:
            if at > self.furthest:
                self.furthest = at
            self._matches[at] = self.lexicon.at(self.words, at) if at < self.size else None
        return self._matches[at]

    def starts(self, at: int, *phrases: str) -> int:
        """The position after the first phrase that stands at a word; 0 if none does."""
        if not 0 <= at < self.size:
            return 0
        several = _FIRST_WORDS[phrases].get(self.words[at])
        if several is None:
            return 0
        for words in several:
            end = at + len(words)
            if self.words[at:end] == words:
                return end
        return 0

    def longest(self, at: int, phrases: frozenset[Words]) -> int:
        """The position after the longest phrase of a set at a word; 0 if none is there."""
        if not 0 <= at < self.size:
            return 0
        lengths = _LENGTHS[phrases].get(self.words[at])
        if lengths is None:
            return 0
        for length in lengths:
            # A slice at the end of the text is shorter, and then equals no phrase that is longer.
            if self.words[at : at + length] in phrases and at + length <= self.size:
                return at + length
        return 0

    def quote(self, start: int, end: int) -> str:
        """The text from one word up to another, as it was written."""
        if not self.tokens or start >= self.size or end <= start:
            return self.text.strip() or " "
        return self.text[self.tokens[start].start : self.tokens[min(end, self.size) - 1].end]

    def ask(self, reason: AskReason, start: int, end: int) -> Refused:
        """The outcome that asks about a part of the text."""
        return Refused(Ask(words=(self.quote(start, end),), reason=reason))

    def impossible(self, reason: str, start: int, end: int) -> Refused:
        """The outcome that a part of the text can be satisfied nowhere."""
        return Refused(Impossible.model_validate({
            "impossible": self.quote(start, end), "reason": reason,
        }))  # fmt: skip

    def unknown(self, start: int, end: int) -> Refused:
        """The outcome that a part of the text is not understood."""
        return Refused(NotUnderstood(words=(self.quote(start, end),)))
