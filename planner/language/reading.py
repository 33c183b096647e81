"""The words of an instruction, how far reading came, and what becomes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import Discriminator, Field, Tag, model_validator

from planner.language.english import Words, meanings, table, words
from planner.language.goal_form import Form, Goal, Many, tag_of
from planner.language.lexicon import Lexicon, Match, Part
from planner.world.files import FileModel, read_model

# Text as a sequence of lower-case words and marks, each with its place in the text.

# Letters with digits after them are one word ("mp3", "water1plant"), not a word, a number and
# perhaps another word; a number before a word is one, as in "2cups".
_TOKEN = re.compile(
    r"entryway/foyer/lobby|laundryroom/mudroom|workout/gym/exercise|[^\W\d_]+(?:_[^\W_]+)+|[^\W\d_]+\d[^\W_]*"
    r"|\.\.\.|…|[^\W\d_]+(?:'[^\W\d_]+)*|\d+(?:[.,]\d+)?|[.,;:!?&()]|-{1,2}(?=\s|\d)"
)
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u2013": "-", "\u2014": "-"})
# What a robot is called: "Hello "Robbie".".
_CALLED = re.compile(r'(?<=^hello )"[^"]{1,40}"|(?<=^hi )"[^"]{1,40}"|(?<=^hey )"[^"]{1,40}"', re.I)
_CONTRACTIONS = {
    "".join(said): tuple(meant.split()) for said, meant in meanings("contractions").items()
}
_ENDINGS = {"'ll": "will", "'ve": "have", "'re": "are", "'d": "would", "'m": "am"}
# After these, 's is a verb; after anything else it shows a possessor.
_BEFORE_IS = words(table("before is"))
STOPS = frozenset({".", "!", "?", ";", "...", "…", "-", "--", ":", "(", ")"})
"""Marks at which a sentence may end."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word in lower case, or a mark; `start` and `end` are offsets in the text."""

    word: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        """Whether it is a word or number, not a mark."""
        return self.word[0].isalnum()


def tokens_of(text: str) -> tuple[Token, ...]:
    """The words and marks of a text, with contractions written out and hyphens opened."""
    found: list[Token] = []
    said = _CALLED.sub(lambda name: " " * len(name.group()), text.translate(_QUOTES))
    for match in _TOKEN.finditer(said):
        start, end = match.span()
        found += [Token(word, start, end) for word in _words(match.group().lower())]
    return tuple(found)


def _words(raw: str) -> tuple[str, ...]:
    if raw in _CONTRACTIONS:
        return _CONTRACTIONS[raw]
    if "'" not in raw:
        return (raw,)
    if raw.endswith("n't"):
        # A transcript may have it on its own: "do n't".
        return (raw[:-3], "not") if raw != "n't" else ("not",)
    for ending, word in _ENDINGS.items():
        if raw.endswith(ending):
            return (raw.removesuffix(ending), word)
    if raw.endswith("'s"):
        head = raw[:-2]
        return (head, "is") if head in _BEFORE_IS else (head, "'s")
    return (raw.replace("'", ""),)


class AskReason(StrEnum):
    """What is missing before anything can be done.

    WHICH: several things could be meant; WHAT: the thing is not named; WHERE: the place is not
    named; DONE: it is not said what would be a success; MEANT: whether it asks for anything.
    """

    WHICH = "which"
    WHAT = "what"
    WHERE = "where"
    DONE = "done"
    MEANT = "meant"


class ImpossibleReason(StrEnum):
    """Why no house could satisfy the words.

    CONTRADICTION: two parts exclude each other; AMOUNT: a number that is none of things;
    UNFIT: a thing cannot be, or become, that (a couch in a cup, a sliced lamp).
    """

    CONTRADICTION = "contradiction"
    AMOUNT = "amount"
    UNFIT = "unfit"


class NoCommandReason(StrEnum):
    """What the text is instead of a command in English; STOP ends what is being done."""

    CHAT = "chat"
    CODE = "code"
    EMPTY = "empty"
    LANGUAGE = "language"
    NOISE = "noise"
    QUESTION = "question"
    STOP = "stop"


class Ask(Form):
    """A question to the person, about `words` of the text."""

    words: Many[str] = Field(validation_alias="ask", serialization_alias="ask", min_length=1)
    reason: AskReason


class NotUnderstood(Form):
    """Words that are not known, or that no rule covers; nothing moves."""

    words: Many[str] = Field(
        validation_alias="not_understood", serialization_alias="not_understood", min_length=1
    )


class Impossible(Form):
    """Words that cannot be satisfied in any house."""

    words: Many[str] = Field(
        validation_alias="impossible", serialization_alias="impossible", min_length=1
    )
    reason: ImpossibleReason


class AlreadyTrue(Form):
    """Words that ask for what is so already."""

    words: Many[str] = Field(
        validation_alias="already_true", serialization_alias="already_true", min_length=1
    )


class NoCommand(Form):
    """The text asks for nothing that an agent could do."""

    reason: NoCommandReason = Field(validation_alias="no_command", serialization_alias="no_command")


Reading = Goal | Ask | NotUnderstood | Impossible | AlreadyTrue | NoCommand

OUTCOMES: Mapping[str, type[Form]] = {
    "ask": Ask,
    "not_understood": NotUnderstood,
    "impossible": Impossible,
    "already_true": AlreadyTrue,
    "no_command": NoCommand,
}
"""The outcomes by the field of a file that tells them apart."""


Outcome = Annotated[
    Annotated[Ask, Tag("ask")] | Annotated[NotUnderstood, Tag("not_understood")]
    | Annotated[Impossible, Tag("impossible")] | Annotated[AlreadyTrue, Tag("already_true")]
    | Annotated[NoCommand, Tag("no_command")],
    Discriminator(
        lambda value: tag_of(OUTCOMES, value),
        custom_error_type="outcome",
        custom_error_message=f"expected one of {', '.join(OUTCOMES)}",
    ),
]  # fmt: skip


class AnnotatedInstruction(FileModel):
    """An instruction with its meaning, for testing what reads instructions.

    Exactly one of `goal` and `outcome`.
    """

    text: Annotated[str, Field(max_length=2000)]
    category: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    goal: Goal | None = None
    outcome: Outcome | None = None

    @property
    def reading(self) -> Reading:
        """The goal or the outcome."""
        if self.goal is not None:
            return self.goal
        return self.outcome or NoCommand(reason=NoCommandReason.EMPTY)

    @model_validator(mode="after")
    def _has_one_reading(self) -> Self:
        if (self.goal is None) == (self.outcome is None):
            raise ValueError("expected either goal or outcome")
        words = getattr(self.outcome, "words", ())
        if absent := [word for word in words if word.lower() not in self.text.lower()]:
            raise ValueError(f"outcome: {absent[0]!r} is not in the text")
        return self


class _InstructionFile(FileModel):
    instructions: tuple[AnnotatedInstruction, ...]


def read_instructions(path: Path) -> tuple[AnnotatedInstruction, ...]:
    """Reads annotated instructions from YAML.

    Raises:
        FileError: with file, field and reason.
    """
    return read_model(path, _InstructionFile).instructions


# The words of an instruction with what the lexicon knows of each, and where reading failed.


class _Phrases(dict[tuple[str, ...], frozenset[Words]]):
    """The words of the phrases of each rule; rules are constants."""

    def __missing__(self, said: tuple[str, ...]) -> frozenset[Words]:
        self[said] = frozenset(tuple(phrase.split()) for phrase in said)
        return self[said]


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


_PHRASES, _LENGTHS = _Phrases(), _Lengths()


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

    def names_kind(self, at: int) -> bool:
        """Whether a kind of things begins at a word."""
        match = self.match(at)
        return match is not None and any(sense.part is Part.KIND for sense in match.senses)

    def starts(self, at: int, *phrases: str) -> int:
        """The position after the longest of some phrases at a word; 0 if none is there."""
        return self.longest(at, _PHRASES[phrases])

    def longest(self, at: int, phrases: frozenset[Words]) -> int:
        """The position after the longest phrase of a set at a word; 0 if none is there."""
        lengths = _LENGTHS[phrases].get(self.word(at))
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
