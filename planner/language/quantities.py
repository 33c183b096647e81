"""Determiners and numbers in front of nouns."""

from __future__ import annotations

from dataclasses import dataclass

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
        for bound, phrases in (
            (
                Bound.AT_LEAST,
                ("at least", "a minimum of", "no fewer than", "no less than", "not less than"),
            ),
            (Bound.AT_MOST, ("at most", "no more than", "up to", "a maximum of", "not more than")),
            (Bound.EXACTLY, ("exactly", "just", "only", "precisely", "a total of")),
        ):
            if end := source.starts(at, *phrases):
                number, i = self._number(end)
                if number is not None:
                    return self._of(Quantity("a", number, bound), i)
        if end := source.starts(
            at,
            "all",
            "every single",
            "every last",
            "each and every",
            "every",
            "each",
            "any and all",
        ):
            i = end
            each = word in ("each", "every")
            if word == "each" and source.starts(i, "one of"):
                i += 1
            quantity = Quantity(count=Amount.ALL, each=each)
            i = source.starts(i, "one of") or source.starts(i, "of") or i
            if source.word(i) in THE:
                i += 1
            number, after = self._number(i)
            if number is not None and number > 1:
                quantity = Quantity("the", number, each=word == "each")
                i = after
            return quantity, i
        if end := source.starts(at, "both of", "both"):
            return Quantity("the", 2, both=True), end + (source.word(end) in THE)
        for words, count in (
            ("a few of|a few more|a few|several of|several|a handful of", Amount.FEW),
            ("some of|some more|some", Amount.SOME),
            ("a couple of|a couple more|a couple", 2),
            ("half a dozen of|half a dozen", 6),
            ("a dozen of|a dozen", 12),
            ("two dozen", 24),
        ):
            if end := source.starts(at, *words.split("|")):
                return Quantity("a", count), end + (source.word(end) in THE)
        if end := source.starts(at, "a pair of", "the pair of", "one pair of", "my pair of"):
            return Quantity("a" if word in ("a", "one") else "the", pair=True), end
        if end := source.starts(at, "any"):
            # "Any one of the cups", "any two vegetables": as many, whichever they are.
            number, after = self._number(end)
            if number is not None:
                quantity, after = self._of(Quantity("a", number), after)
                return quantity, after
        if end := source.starts(at, "any of", "any"):
            return Quantity("any"), end + (source.word(end) in THE)
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
