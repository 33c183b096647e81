"""Determiners and numbers in front of nouns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from planner.language.description import MAX_COUNT
from planner.language.english import NO_AMOUNTS, NUMBERS, THE
from planner.language.sentence import Source
from planner.language.words import (
    Amount,
    Bound,
)


@dataclass(slots=True)
class Quantity:
    """Determiner and number in front of a noun."""

    det: str = ""
    count: int | Amount | None = None
    bound: Bound = Bound.EXACTLY
    partitive: bool = False
    other: bool = False
    each: bool = False
    pair: bool = False
    both: bool = False


_Rule = Callable[["Quantities", int, int], tuple[Quantity, int] | None]


class Quantities:
    """Reads what stands in front of adjectives and nouns."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def _quantity(self, at: int) -> tuple[Quantity, int]:
        """What stands in front of adjectives and noun."""
        source = self._source
        if source.word(at) in ("only", "just") and source.word(at + 1) in THE:
            at += 1
        word = source.word(at)
        if word in ("whatever", "whichever"):
            kind = source.word(at)
            return (
                (Quantity(count=Amount.ALL), at + 1)
                if kind == "whatever"
                else (Quantity(det="whichever"), at + 1)
            )
        for phrases, rule in self._rules().get(word, ()):
            end = source.starts(at, *phrases)
            if end and (found := rule(self, at, end)):
                return found
        return self._article(at)

    @staticmethod
    @lru_cache(maxsize=1)
    def _rules() -> dict[str, list[tuple[tuple[str, ...], _Rule]]]:
        """The rules by the first word of their phrases, each with those that begin with it.

        A rule gets the position of the phrase and the one after it; None leaves it to the next.
        """
        ordered: tuple[tuple[str, _Rule], ...] = (
            (
                "at least|a minimum of|no fewer than|no less than|not less than",
                partial(Quantities._bounded, bound=Bound.AT_LEAST),
            ),
            (
                "at most|no more than|up to|a maximum of|not more than",
                partial(Quantities._bounded, bound=Bound.AT_MOST),
            ),
            (
                "exactly|just|only|precisely|a total of",
                partial(Quantities._bounded, bound=Bound.EXACTLY),
            ),
            (
                "all|every single|every last|each and every|every|each|any and all",
                Quantities._every,
            ),
            ("both of|both", Quantities._both),
            (
                "a few of|a few more|a few|several of|several|a handful of",
                partial(Quantities._some, count=Amount.FEW),
            ),
            ("some of|some more|some", partial(Quantities._some, count=Amount.SOME)),
            ("a couple of|a couple more|a couple", partial(Quantities._some, count=2)),
            ("half a dozen of|half a dozen", partial(Quantities._some, count=6)),
            ("a dozen of|a dozen", partial(Quantities._some, count=12)),
            ("two dozen", partial(Quantities._some, count=24)),
            ("a pair of|the pair of|one pair of|my pair of", Quantities._pair),
            ("any", Quantities._any_number),
            ("any of|any", Quantities._any),
        )
        found: dict[str, list[tuple[tuple[str, ...], _Rule]]] = {}
        for phrases, rule in ordered:
            beginning: dict[str, list[str]] = {}
            for phrase in phrases.split("|"):
                beginning.setdefault(phrase.split()[0], []).append(phrase)
            for word, some in beginning.items():
                found.setdefault(word, []).append((tuple(some), rule))
        return found

    def _bounded(self, _at: int, end: int, *, bound: Bound) -> tuple[Quantity, int] | None:
        number, i = self._number(end)
        return None if number is None else self._of(Quantity("a", number, bound), i)

    def _every(self, at: int, end: int) -> tuple[Quantity, int]:
        source, i = self._source, end
        word = source.word(at)
        if word == "each" and source.starts(i, "one of"):
            i += 1
        quantity = Quantity(count=Amount.ALL, each=word in ("each", "every"))
        i = source.starts(i, "one of") or source.starts(i, "of") or i
        if source.word(i) in THE:
            i += 1
        number, after = self._number(i)
        if number is not None and number > 1:
            return Quantity("the", number, each=word == "each"), after
        return quantity, i

    def _both(self, _at: int, end: int) -> tuple[Quantity, int]:
        return Quantity("the", 2, both=True), end + (self._source.word(end) in THE)

    def _some(self, _at: int, end: int, *, count: int | Amount) -> tuple[Quantity, int]:
        return Quantity("a", count), end + (self._source.word(end) in THE)

    def _pair(self, at: int, end: int) -> tuple[Quantity, int]:
        det = "a" if self._source.word(at) in ("a", "one") else "the"
        return Quantity(det, pair=True), end

    def _any_number(self, _at: int, end: int) -> tuple[Quantity, int] | None:
        """Reads "any one of the cups", "any two vegetables": as many, whichever they are."""
        number, after = self._number(end)
        return None if number is None else self._of(Quantity("a", number), after)

    def _any(self, _at: int, end: int) -> tuple[Quantity, int]:
        return Quantity("any"), end + (self._source.word(end) in THE)

    def _article(self, at: int) -> tuple[Quantity, int]:
        """Reads an article, a number, or nothing."""
        source = self._source
        word = source.word(at)
        if word in ("another", "a", "an"):
            i = at + 1
            other = word == "another"
            counted = word == "another" or source.word(i) in NO_AMOUNTS
            number, after = self._number(i) if counted else (None, i)
            if source.word(after) in ("other", "different") and word == "a":
                other, after = True, after + 1
            return Quantity("a", number, other=other), after
        if word in THE:
            i = at + 1
            if source.word(i) == "'s":
                i += 1
            other = source.word(i) == "other"
            number, i = self._number(i + other)
            if source.word(i) == "other":
                other, i = True, i + 1
            return Quantity("the", number, other=other), i
        number, i = self._number(at)
        if number is not None:
            if source.starts(i, "or more"):
                return Quantity("a", number, Bound.AT_LEAST), i + 2
            end = source.starts(i, "more", "other")
            return self._of(Quantity("a", number, other=bool(end)), end or i)
        return Quantity(), at

    def _of(self, quantity: Quantity, at: int) -> tuple[Quantity, int]:
        """Reads "Of the (three)" after a number."""
        source = self._source
        if source.word(at) == "of" and source.word(at + 1) in THE:
            quantity.partitive = True
            of_all, after = self._number(at + 2)
            if isinstance(quantity.count, int) and of_all and quantity.count > of_all:
                raise source.impossible("amount", at - 1, after)
            return quantity, after
        return quantity, at

    def _number(self, at: int) -> tuple[int | None, int]:
        source = self._source
        word = source.word(at)
        if word in NO_AMOUNTS and (word != "half" or source.word(at + 1) == "a"):
            end = at + 1
            while source.word(end) in NUMBERS or source.word(end).isdecimal():
                end += 1
            if word != "half" and (word != "-" or end > at + 1):
                raise source.impossible("amount", at, end)
            return None, at
        if word[:1].isdecimal():
            if not word.isdecimal() or not 1 <= int(word[:9]) <= MAX_COUNT or len(word) > 9:
                raise source.impossible("amount", at, at + 1)
            if source.word(at + 1) in NO_AMOUNTS:
                raise source.impossible("amount", at, at + 2)
            return int(word), at + 1
        if word in NUMBERS and not (word == "one" and source.word(at + 1) in ("by", "and", "")):
            if source.word(at + 1) in NO_AMOUNTS and source.word(at + 1) != "-":
                raise source.impossible("amount", at, at + 2)
            if source.starts(at + 1, "and a half", "hundred", "thousand"):
                raise source.impossible("amount", at, at + 2)
            return NUMBERS[word], at + 1
        return None, at
