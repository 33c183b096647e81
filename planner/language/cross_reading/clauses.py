"""The clauses of a text, cut at marks, conjunctions and verbs, with what begins each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from planner.language.cross_reading.chunks import Chunk, chunks_of
from planner.language.cross_reading.closed_words import (
    CORRECTIONS,
    DETERMINERS,
    NEGATIVE,
    PRONOUNS,
    SUBJECTS,
    SUBORDINATORS,
    VERBS,
    Words,
    word_set,
)
from planner.language.lexicon import default_lexicon
from planner.language.tokens import STOPS, Token

_JOINING = word_set("and but or then , so next finally lastly")
# What may stand before the verb of a command.
_BEFORE_VERB = word_set(
    "please kindly just now also then and but so first next finally lastly quickly carefully "
    "always go ahead hey ok well could can would will you robot to not do never don't , later "
    "afterwards secondly firstly meanwhile immediately simply quick honey love dear let us 's "
    "right only after that"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """Part of a text with one verb at most.

    Attributes:
        start, end: tokens.
        subordinator: "if", "when", ... at its beginning, or empty.
        subject: "i", "you", ... at its beginning, or empty.
        verb: the base form of a command at its beginning, or empty.
        verb_at: where that is, or -1.
        negated: a word says that it is not to be.
    """

    start: int
    end: int
    subordinator: str
    subject: str
    verb: str
    verb_at: int
    negated: bool


class TextFacts:
    """A text as words, nouns and clauses.

    Args:
        text: as it was said.
        tokens: its words and marks.
    """

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self.tokens = tuple(tokens)
        self.words: Words = tuple(token.word for token in tokens)
        self.chunks = chunks_of(self.words, default_lexicon())
        self.chunks_by_kind: dict[str, tuple[Chunk, ...]] = {}
        self._clause_of: list[int] = []
        self.clauses = self._cut()

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """All words."""
        return frozenset(self.words)

    @cached_property
    def has_correction(self) -> bool:
        """Whether the speaker takes something back, so that early words may not count."""
        return any(
            self.words[i : i + len(phrase)] == phrase
            for phrase in CORRECTIONS
            for i, word in enumerate(self.words)
            if word == phrase[0]
        )

    def quote(self, start: int, end: int) -> str:
        """The text from a token to before another."""
        return self.text[self.tokens[start].start : self.tokens[end - 1].end]

    def quoted(self, chunk: Chunk, *, with_place: bool = False) -> str:
        """A noun with its determiner, and with the preposition before if asked for."""
        start = chunk.start - (len(chunk.preposition) if with_place else 0)
        if self.words[start] == "'s":
            start -= 1
        if with_place and self.words[start : chunk.start] != chunk.preposition:
            start = chunk.start
        return self.quote(start, chunk.end)

    def has(self, phrase: str) -> bool:
        """Whether words occur one after another."""
        found = tuple(phrase.split())
        return any(self.words[i : i + len(found)] == found for i in range(len(self.words)))

    def clause(self, at: int) -> Clause:
        """The clause of a token."""
        return self.clauses[self._clause_of[at]]

    def clause_index(self, at: int) -> int:
        """Which clause a token is in."""
        return self._clause_of[at]

    def _cut(self) -> tuple[Clause, ...]:
        starts = [0] + [i for i in range(1, len(self.words)) if self._begins(i)]
        clauses = []
        for index, start in enumerate(starts):
            end = starts[index + 1] if index + 1 < len(starts) else len(self.words)
            clauses.append(self._clause(start, end))
            self._clause_of += [index] * (end - start)
        return tuple(clauses)

    def _begins(self, at: int) -> bool:
        """Whether a new clause begins at a token."""
        word, before = self.words[at], self.words[at - 1]
        if before in STOPS:
            return True
        if word in SUBORDINATORS and word not in ("that", "as", "so", "since", "which", "who"):
            return True
        if word in ("that", "which", "who") and self._is_verbal(at + 1):
            return True
        if word == "then":
            return before not in (",", "and") or not self._commands(at + 1)
        if word in ("so", "because", "since"):
            return True
        if word in _JOINING:
            return self._commands(at + 1)
        return before in _JOINING and word in SUBJECTS

    def _is_verbal(self, at: int) -> bool:
        return at < len(self.words) and self.words[at] in (
            "is", "are", "was", "were", "has", "have", "i", "you", "we", "need", "'s",
        )  # fmt: skip

    def _commands(self, at: int) -> bool:
        """Whether a verb in its base form follows, after words such as "please"."""
        while at < len(self.words) and self.words[at] in _BEFORE_VERB:
            at += 1
        return self._is_command_verb(at)

    def _is_command_verb(self, at: int) -> bool:
        if at >= len(self.words) or self.words[at] not in VERBS:
            return False
        if self.words[at - 1] in DETERMINERS and at > 0:
            return False
        after = self.words[at + 1] if at + 1 < len(self.words) else ""
        inside = any(c.start <= at < c.end for c in self.chunks)
        return not inside or after in DETERMINERS or after in PRONOUNS

    def _clause(self, start: int, end: int) -> Clause:
        words = self.words[start:end]
        at, subordinator, subject = start, "", ""
        while at < end:
            word = self.words[at]
            if word in SUBORDINATORS and not subordinator and word != "that":
                subordinator = word
            elif word in ("i", "we") and not subject:
                subject = "i"
            elif word == "you" and not subject:
                subject = "you"
            elif self._is_command_verb(at):
                break
            elif word not in _BEFORE_VERB and word not in STOPS:
                at = end
                break
            at += 1
        found = at < end
        return Clause(
            start, end, subordinator, subject,
            verb=self.words[at] if found else "",
            verb_at=at if found else -1,
            negated=not NEGATIVE.isdisjoint(words),
        )  # fmt: skip
