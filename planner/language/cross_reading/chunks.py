"""The nouns of a text, each with the words directly before it: determiner, number, looks, place.

No grammar: a noun is what the lexicon calls a kind, and everything about it is read off the few
words next to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from planner.language.cross_reading.closed_words import (
    BETWEEN,
    CONJUNCTIONS,
    DETERMINERS,
    EVERY,
    INDEFINITE,
    MAX_PREPOSITION,
    NUMBERS,
    OTHER_PREPOSITIONS,
    POSSESSIVE,
    PRONOUNS,
    RELATIONS,
    SUBJECTS,
    SUBORDINATORS,
    VAGUE,
    VERBS,
    Words,
    word_set,
)
from planner.language.cross_reading.meanings import is_room, meaning
from planner.language.lexicon import Lexicon, Match, Part
from planner.language.tokens import STOPS

_MAX_ADJECTIVES = 4
# Kinds that are more often another word: "can you", "light it", "a good read".
_MEASURES = frozenset({"couple", "pair", "dozen", "pairs"})
_RARELY_NOUNS = word_set(
    "can light play read write cook store sleep drink eat wear repair exercise sit work out "
    "sport hungry thirsty opens closes house things thing room side top way place home hand "
    "time"
)
_NO_ADJECTIVE = (
    PRONOUNS | CONJUNCTIONS | OTHER_PREPOSITIONS | SUBJECTS | SUBORDINATORS | {"'s", ",", "is"}
    | {"are", "was", "were", "be", "will", "would", "can", "could", "should", "must", "not"}
    | {"then", "please", "to", "on", "in", "at", "off", "from", "into", "onto", "by", "under"}
)  # fmt: skip


class Amounts(StrEnum):
    """How many the words before a noun say."""

    THE = "the"
    ONE = "a"
    NUMBER = "number"
    EVERY = "every"
    BOTH = "both"
    VAGUE = "vague"
    BARE = "bare"


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """A noun of the text.

    Attributes:
        kinds: what the lexicon calls it, in the singular.
        start, head, end: tokens from the determiner, from the noun, and behind it.
        plural, singular: whether it can be the one or the other.
        amount, number: what is said before it; `number` is 0 where there is none.
        looks: colours, materials and sizes directly before it, as the form writes them.
        states: states directly before it.
        room: the room that furniture is named after ("kitchen table"), or empty.
        preposition: the preposition directly before all that, or empty.
        joined: a conjunction or comma stands between it and the noun before.
    """

    kinds: frozenset[str]
    start: int
    head: int
    end: int
    plural: bool
    singular: bool
    amount: Amounts
    number: int
    looks: frozenset[str]
    states: frozenset[str]
    room: str
    preposition: Words
    joined: bool

    @property
    def is_marked(self) -> bool:
        """Whether words before it show that it is a noun."""
        return self.amount is not Amounts.BARE or bool(self.looks or self.states)


class _Scanner:
    """Finds the chunks of one text from left to right."""

    def __init__(self, words: Sequence[str], lexicon: Lexicon) -> None:
        self._words = words
        self._matches: list[Match | None] = [lexicon.at(words, i) for i in range(len(words))]
        self.found: list[Chunk] = []
        i = 0
        while i < len(words):
            if (chunk := self._chunk(i)) is not None:
                self.found.append(chunk)
                i = chunk.end
            else:
                i += 1

    def _word(self, at: int) -> str:
        return self._words[at] if 0 <= at < len(self._words) else ""

    def _kinds(self, at: int) -> bool:
        match = self._matches[at] if at < len(self._matches) else None
        return match is not None and any(sense.part is Part.KIND for sense in match.senses)

    def _chunk(self, start: int) -> Chunk | None:
        at, amount, number = self._determiner(start)
        marked = at > start
        looks: set[str] = set()
        states: set[str] = set()
        room = ""
        for _ in range(_MAX_ADJECTIVES):
            match = self._matches[at] if at < len(self._matches) else None
            word = self._word(at)
            if match is None:
                if not marked or not word or not word[0].isalpha() or word in _NO_ADJECTIVE:
                    return None
                if word in VERBS or word in DETERMINERS or word in NUMBERS:
                    return None
                at += 1
                continue
            follows = at + match.length
            if self._kinds(at) and not (
                self._kinds(follows) and self._word(follows) not in _RARELY_NOUNS
            ):
                break
            for sense in match.senses:
                if sense.part in (Part.COLOR, Part.MATERIAL, Part.SIZE):
                    looks.add(sense.word)
                elif sense.part is Part.STATE:
                    states.add(sense.word)
            if self._kinds(at):
                room = self._room(match) or room
            elif not (looks or states) and not marked:
                return None
            at = follows
        if not self._kinds(at):
            return None
        match = self._matches[at]
        if match is None:
            return None
        return self._finish(start, at, match, (amount, number), looks, states, room)

    def _finish(
        self,
        start: int,
        head: int,
        match: Match,
        counted: tuple[Amounts, int],
        looks: set[str],
        states: set[str],
        room: str,
    ) -> Chunk | None:
        bare = start == head and counted[0] is Amounts.BARE
        word, end = self._word(head), head + match.length
        if word == "can" and (self._word(end) in VERBS or self._word(end) in SUBJECTS):
            return None
        if bare and match.length == 1 and (word in _RARELY_NOUNS or self._is_verb(head, end)):
            return None
        kinds = [sense for sense in match.senses if sense.part is Part.KIND]
        names = {sense.word for sense in kinds}
        inner = _split_room(" ".join(self._words[head:end]))
        if inner:
            room, names = inner[0], names | {inner[1]}
        preposition = self._preposition(start)
        previous = self.found[-1].end if self.found else -1
        between = self._words[previous : start - len(preposition)] if previous >= 0 else ()
        return Chunk(
            frozenset(names), start, head, end,
            plural=any(sense.plural for sense in kinds),
            singular=any(not sense.plural for sense in kinds),
            amount=counted[0], number=counted[1],
            looks=frozenset(looks), states=frozenset(states), room=room,
            preposition=preposition,
            joined=previous >= 0 and bool(between) and set(between) <= {",", "and", "or", "nor",
                                                                        "plus", "also", "&"},
        )  # fmt: skip

    def _determiner(self, at: int) -> tuple[int, Amounts, int]:
        """Reads determiners and numbers: where they end, and what they say."""
        amount, number = Amounts.BARE, 0
        while at < len(self._words):
            word = self._word(at)
            if self._word(at) == "of" and amount is not Amounts.BARE:
                if self._word(at + 1) not in DETERMINERS:
                    if self._word(at - 1) not in _MEASURES:
                        break
                    at += 1
                    continue
                # "Two of the cups", "each of the cups": "the" adds nothing.
                at += 2
                while self._word(at) in NUMBERS or self._word(at).isdecimal():
                    at += 1
                break
            value = NUMBERS.get(word, int(word[:6]) if word.isdecimal() else 0)
            if value:
                if word == "dozen" and "half" in self._words[max(0, at - 2) : at]:
                    value = 6
                number = value
                if amount not in (Amounts.THE, Amounts.EVERY):
                    amount = Amounts.ONE if value == 1 else Amounts.NUMBER
            elif word in ("the", "this", "that", "these", "those") or word in POSSESSIVE:
                amount = amount if amount in (Amounts.EVERY, Amounts.BOTH) else Amounts.THE
            elif word == "both":
                amount = Amounts.BOTH
            elif word in INDEFINITE:
                amount = Amounts.ONE
            elif word == "whichever":
                amount = Amounts.VAGUE
            elif word in EVERY:
                amount = Amounts.EVERY
            elif word in VAGUE:
                amount, number = Amounts.VAGUE, 2 if word in ("couple", "pair") else 0
            elif word == "half" and self._word(at + 1) in ("a", "dozen"):
                at += self._word(at + 1) == "a"
            elif word == "'s" and amount is Amounts.BARE:
                amount = Amounts.THE
            else:
                break
            at += 1
        return at, amount, number

    def _preposition(self, start: int) -> Words:
        if self._word(start) == "'s":
            start -= 1
            while self._word(start - 1) in DETERMINERS:
                start -= 1
        if self._word(start - 2) == "up" and (
            self._word(start) in NUMBERS or self._word(start).isdecimal()
        ):
            return ()  # "Up to three cups".
        before = start
        while before > 0 and self._word(before - 1) in BETWEEN - {"over"}:
            before -= 1
        for end in (start, before):
            for length in range(MAX_PREPOSITION, 0, -1):
                words = tuple(self._words[max(0, end - length) : end])
                if len(words) == length and words in RELATIONS:
                    return words
            if (word := self._word(end - 1)) in OTHER_PREPOSITIONS:
                return (word,)
        return ()

    def _is_verb(self, at: int, end: int) -> bool:
        """Whether a word that could be a noun is used as a verb: "water the plants"."""
        word, before, after = self._word(at), self._word(at - 1), self._word(end)
        if end - at > 1:
            return False
        follows = after in DETERMINERS or after in PRONOUNS or after in NUMBERS or after in ("up",)
        begins = before in ("", ",", "and", "to", "then", "please", "you", "i", "not") or (
            before in STOPS
        )
        return begins and (follows or word in VERBS)

    def _room(self, match: Match) -> str:
        for sense in match.senses:
            if sense.part is Part.KIND and is_room(sense.word):
                return sense.word
        return ""


@lru_cache(maxsize=4096)
def _split_room(words: str) -> tuple[str, str] | None:
    """The room and the furniture of one phrase: "kitchen table"."""
    for cut, letter in enumerate(words):
        if letter == " ":
            piece = meaning(words[cut + 1 :])
            if is_room(words[:cut]) and piece and piece.furniture:
                return words[:cut], words[cut + 1 :]
    return None


def chunks_of(words: Sequence[str], lexicon: Lexicon) -> tuple[Chunk, ...]:
    """The nouns of a text, from left to right."""
    return tuple(_Scanner(words, lexicon).found)
