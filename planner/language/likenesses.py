"""What an unknown word is most like, for one question before anything is done."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.language.english import ARTICLES, NUMBERS, PREPOSITION_WORDS, phrase_tables
from planner.language.goal_form import Goal
from planner.language.interpretation import AnswerSort, fixed_answer, interpret, spelled
from planner.language.lexicon import Part, default_lexicon
from planner.language.reading import STOPS, Ask, Token
from planner.language.remarks import known, vocabulary
from planner.language.verbs import Form, verbs_at

_LIKE = {
    word: like for like, several in phrase_tables().likenesses.items() for word in several.split()
}
# Something of each sort that a word can stand for: a thing, furniture, a room.
_STAND_INS = ("cup", "cabinet", "kitchen")
_MAX_UNKNOWN = 3
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_OPENING = ARTICLES | {"no", "nope", "i", "mean", "meant", "it", "is"}
_BEFORE = ARTICLES | {",", "and", "or", "of", "some", "two", "any"}


@dataclass(frozen=True, slots=True)
class Likeness:
    """An unknown phrase of an instruction that is clear otherwise.

    Attributes:
        phrase: as it was written.
        like: a known word that may be meant; empty if none is near.
        text: the instruction.
        start: offset of the phrase.
    """

    phrase: str
    like: str
    text: str
    start: int

    @property
    def question(self) -> str:
        """What to ask the person."""
        if self.like:
            return f'Is "{self.like}" meant by "{self.phrase}"?'
        return f'What is meant by "{self.phrase}"?'

    def answered(self, answer: str) -> str | None:
        """The instruction with what is meant in place of the phrase; None if nothing is."""
        said = tuple(token.word for token in spelled(answer) if token.is_word)
        sort = fixed_answer(said)
        if not said or sort is AnswerSort.NO or (sort is not None and not self.like):
            return None
        new = itertools.dropwhile(lambda word: word in _OPENING, said)
        meant = self.like if sort is not None else " ".join(new)
        end = self.start + len(self.phrase)
        return f"{self.text[: self.start]}{meant}{self.text[end:]}"


def likeness(text: str) -> Likeness | None:
    """The first unknown phrase of a text that could be read if it were known; or None."""
    tokens = spelled(text)
    found = [_likeness(text, tokens, start, end) for start, end in _unknown(tokens)]
    likely = [one for one in found if one is not None]
    if not likely or len(likely) < len(found) or len(found) > _MAX_UNKNOWN:
        return None
    choices = [(one.like, *_STAND_INS) if one.like else _STAND_INS for one in likely]
    for chosen in itertools.product(*choices):
        tried = text
        for one, instead in reversed(list(zip(likely, chosen, strict=True))):
            end = one.start + len(one.phrase)
            tried = f"{tried[: one.start]}{instead}{tried[end:]}"
        if isinstance(interpret(tried), Goal | Ask):
            return likely[0]
    return None


def _unknown(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Runs of words that no rule knows."""
    strange = [at for at, token in enumerate(tokens) if token.is_word and not known(token.word)]
    for at in strange:
        if at - 1 not in strange:
            end = at
            while end in strange:
                end += 1
            yield at, end


def _likeness(text: str, tokens: Sequence[Token], start: int, end: int) -> Likeness | None:
    words = tuple(token.word for token in tokens)
    first, word = tokens[start], tokens[end - 1].word
    before = words[start - 1] if start else ""
    if end - start > 2 or (text[first.start].isupper() and before and before not in STOPS):
        # A name, or something that is no noun.
        return None
    head = default_lexicon().at(words, end)
    near = _spelled_like(word) if end - start == 1 else ()
    if head is not None and any(sense.part is Part.KIND for sense in head.senses):
        # "The garden chair" is a chair.
        end += head.length
        like = " ".join(words[end - head.length : end])
    else:
        like = _LIKE.get(word) or _LIKE.get(word.removesuffix("s"), "")
        close = near if len(near) == 1 else default_lexicon().near(word)
        like = like or next(iter(close), "")
    verbal = any(Form.BASE in found.forms for found in verbs_at((like,), 0))
    if not (verbal and near) and not _noun_ahead(words, start):
        return None
    return Likeness(text[first.start : tokens[end - 1].end], like, text, first.start)


def _noun_ahead(words: tuple[str, ...], at: int) -> bool:
    """Whether a noun may stand at a word, and not a verb."""
    before = words[at - 1] if at else ""
    match = default_lexicon().at(words, at - 1) if at else None
    adjective = match is not None and any(s.part is not Part.KIND for s in match.senses)
    prepositions = {phrase[-1] for phrase in PREPOSITION_WORDS}
    commanded = any(
        Form.BASE in found.forms and found.length == at - start
        for start in range(max(0, at - 3), at)
        for found in verbs_at(words, start)
    )
    return (
        before in _BEFORE or before in NUMBERS or before.isdecimal() or before in prepositions
        or adjective or commanded
    )  # fmt: skip


def _spelled_like(word: str) -> tuple[str, ...]:
    """Known words that differ by one letter; the first letter is hardly ever wrong."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return ()
    cuts = range(1, len(word) + 1)
    found = {word[:k] + word[k + 1 :] for k in cuts}
    found |= {word[:k] + c + word[k:] for k in cuts for c in _LETTERS}
    found |= {word[:k] + c + word[k + 1 :] for k in cuts for c in _LETTERS}
    return tuple(sorted(found & vocabulary() - {word}))
