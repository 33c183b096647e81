"""Nouns with the determiners, numbers and adjectives in front of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from planner.language.drafts import Noun, Way, Where
from planner.language.english import (
    COOLED,
    EMPTY_ADJECTIVES,
    GENERIC,
    GENERIC_ONE,
    HEATED,
    LIQUIDS,
    MASS,
    NO_AMOUNTS,
    NUMBERS,
    ONE_THING,
    PICK_WORDS,
    PICKS,
    POSSESSIVES,
    PRIVATE_ADJECTIVES,
    RANKS,
    THE,
    Words,
    phrases,
    table,
)
from planner.language.goal_form import MAX_COUNT
from planner.language.lexicon import (
    BY_HEIGHT,
    BY_SIDE,
    Amount,
    Bound,
    Part,
    Pick,
    Relation,
    Sense,
    Size,
    can_be,
    is_stacked,
    room_before,
)
from planner.language.reading import AskReason, Source
from planner.world.catalogue import default_word_meanings
from planner.world.shapes import Color, Material

# Determiners and numbers in front of nouns.


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
        if source.word(at) == "whatever":
            return Quantity(count=Amount.ALL), at + 1
        if source.word(at) == "whichever":
            return Quantity(det="whichever"), at + 1
        for said, rule in self._RULES:
            end = source.longest(at, said)
            if end and (found := rule(self, at, end)):
                return found
        return self._article(at)

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
            counted = word == "another" or source.word(i) in NO_AMOUNTS | {"1"}
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

    # Each gets the position of its phrase and the one after it; None leaves it to the next.
    _RULES: ClassVar[tuple[tuple[frozenset[Words], _Rule], ...]] = (
        (phrases(table("at least")), partial(_bounded, bound=Bound.AT_LEAST)),
        (phrases(table("at most")), partial(_bounded, bound=Bound.AT_MOST)),
        (phrases(table("exactly")), partial(_bounded, bound=Bound.EXACTLY)),
        (phrases(table("every")), _every),
        (phrases("both of|both"), _both),
        (phrases(table("few")), partial(_some, count=Amount.FEW)),
        (phrases("some of|some more|some"), partial(_some, count=Amount.SOME)),
        (phrases("a couple of|a couple more|a couple"), partial(_some, count=2)),
        (phrases("half a dozen of|half a dozen"), partial(_some, count=6)),
        (phrases("a dozen of|a dozen"), partial(_some, count=12)),
        (phrases("two dozen"), partial(_some, count=24)),
        (phrases("a pair of|the pair of|one pair of|my pair of"), _pair),
        (phrases("any"), _any_number),
        (phrases("any of|any"), _any),
    )


_MATERIALS = frozenset(Material)
_COLORS = frozenset(Color) - {Color.ORANGE}
_HOT_OR_COLD = frozenset({"hot", "warm", "cold", "cool"})
_PIECES = frozenset({"piece", "pieces", "slice", "slices", "set", "sets"})
_AFTER_CAN = frozenset({"all", "also", "be", "both", "come", "go", "now", "stay"})


class Nouns(Quantities):
    """Reads adjectives and the noun itself."""

    def _adjectives(self, at: int, noun: Noun) -> int:
        """Reads adjectives as long as a noun can still follow."""
        source = self._source
        i = at
        while i < source.size:
            word = source.word(i)
            picked = self._pick_ahead(i)
            # "The left cup", not "the kids left cups".
            determined = source.word(i - 1) in THE or source.word(i - 1) in NUMBERS
            verbal = word in ("left", "right") and not determined
            if picked and noun.pick in BY_HEIGHT | BY_SIDE and self._noun_ahead(picked):
                # "The upper left cabinet".
                raise source.ask(AskReason.WHICH, i - 1, picked + 1)
            if picked and not verbal and not noun.pick and self._noun_ahead(picked):
                noun.pick, i = PICKS[source.words[i:picked]], picked
                continue
            if determined and (rank := RANKS.get(word)) and self._noun_ahead(i + 1):
                noun.nth, i = rank, i + 1
                continue
            if word in PRIVATE_ADJECTIVES and self._noun_ahead(i + 1):
                raise source.ask(AskReason.WHICH, i, i + 1)
            if word in EMPTY_ADJECTIVES and self._noun_ahead(i + 1):
                i += 1
                continue
            # "The hot pan" says which one.
            tempered = word in HEATED | COOLED or (word in _HOT_OR_COLD and not determined)
            if tempered and self._noun_ahead(i + 1 + (source.word(i + 1) == "up")):
                noun.heated = word in HEATED or word in ("hot", "warm")
                i += 1 + (source.word(i + 1) == "up")
                continue
            match = source.match(i)
            if match and match.length > 1 and word in _COLORS and self._noun_ahead(i + 1):
                # "Red apple" is known as such.
                noun.color, i = Color(word), i + 1
                continue
            if match is None or not self._noun_ahead(i + match.length):
                if word == "," and i > at and self._adjective(i + 1):
                    i += 1
                    continue
                break
            if match.length > 1 and any(sense.part is Part.KIND for sense in match.senses):
                if self._is_material_of(i, match.length, match.senses):
                    noun.material = _material(source.word(i))
                    i += 1
                break
            if (sense := self._adjective(i)) is None:
                break
            describe(noun, sense)
            i += match.length
        match = source.match(i)
        if match is not None and self._is_material_of(i, match.length, match.senses):
            noun.material = _material(source.word(i))
            i += 1
        return i

    def _adjective(self, at: int) -> Sense | None:
        match = self._source.match(at)
        parts = (Part.COLOR, Part.MATERIAL, Part.SIZE, Part.STATE)
        for part in parts:
            for sense in match.senses if match else ():
                if sense.part is part:
                    return sense
        return None

    def _pick_ahead(self, at: int) -> int:
        """The position after "biggest", or "top" in front of what stands above its like; else 0."""
        source = self._source
        end = source.longest(at, PICK_WORDS)
        if not end or PICKS[source.words[at:end]] not in BY_HEIGHT:
            return end
        i = source.longest(end, PICK_WORDS) or end
        while match := source.match(i):
            if any(is_stacked(sense.word) for sense in match.senses):
                return end
            i += match.length
        return 0

    def _ranked(self, at: int, noun: Noun) -> int | None:
        """Reads from where "the second (cup)" is counted: shelves from below; None if nowhere."""
        source, rank = self._source, noun.nth
        end = source.starts(at, "from the")
        side = PICKS.get((source.word(end),)) if end else Pick.LOWEST
        if noun.pick or not (side in BY_SIDE or (is_stacked(noun.kind) and side in BY_HEIGHT)):
            return None
        if rank == 1 and not end:
            # "The first shelf" from above or from below.
            raise source.ask(AskReason.WHICH, noun.start, at)
        noun.pick, noun.nth = side, rank if rank != 1 else None
        return end + 1 if end else at

    def owns(self, at: int) -> bool:
        """Whether a noun follows "'s", which then shows whose it is."""
        return self._noun_ahead(at + 1)

    def _noun_ahead(self, at: int) -> bool:
        """Whether adjectives or a noun stand here."""
        source = self._source
        word = source.word(at)
        if word in ("one", "ones") or word in GENERIC or word in GENERIC_ONE:
            return True
        if word in _PIECES and source.word(at + 1) == "of" and self._noun_ahead(at + 2):
            return True
        if word in EMPTY_ADJECTIVES | PRIVATE_ADJECTIVES | HEATED | COOLED | _HOT_OR_COLD:
            return self._noun_ahead(at + 1)
        if picked := self._pick_ahead(at):
            return self._noun_ahead(picked)
        match = source.match(at)
        if match is None:
            return False
        if any(sense.part is Part.KIND for sense in match.senses):
            return True
        return self._adjective(at) is not None and self._noun_ahead(at + match.length)

    def _is_material_of(self, at: int, length: int, senses: frozenset[Sense]) -> bool:
        """Whether a known compound only says what the thing is made of: "plastic bottle"."""
        first, kind = self._source.word(at), next(
            (s.word for s in senses if s.part is Part.KIND), ""
        )  # fmt: skip
        head = " ".join(kind.split()[1:])
        if length < 2 or _material(first) is None or not head:
            return False
        whole, part = default_word_meanings().find(kind), default_word_meanings().find(head)
        return (
            whole is not None
            and part is not None
            and whole.objects <= part.objects
            and len(whole.objects) == 1
            and head in {name.replace("_", " ") for name in whole.objects}
        )

    def _head(self, at: int, noun: Noun) -> int | None:
        """The noun itself; fills its kind and number."""
        source = self._source
        word = source.word(at)
        if word in GENERIC or word in GENERIC_ONE:
            noun.kind, noun.plural = "thing", word in GENERIC
            return at + 1
        match = source.match(at)
        if word in _PIECES and source.word(at + 1) == "of" and (match is None or match.length == 1):
            return self._pieces(at, noun)
        senses = [s for s in match.senses if s.part is Part.KIND] if match else []
        if match is None or not senses:
            return None
        if any(s.part is Part.ACTION for s in match.senses) and source.word(at + 1) in THE:
            return None
        surface = " ".join(source.words[at : at + match.length])
        one = surface in ONE_THING
        sense = min(senses, key=lambda s: (one and s.word != surface, not s.plural, s.word))
        end = at + match.length
        if rooms := len(room_before(sense.word).split()):
            after = source.match(at + rooms)
            inner = [s for s in after.senses if s.part is Part.KIND] if after else []
            if after is None or not inner:
                return None
            noun.where.append(
                self._in_room(" ".join(source.words[at : at + rooms]), at, at + rooms)
            )
            noun.kind, noun.plural = inner[0].word, inner[0].plural
            return at + rooms + after.length
        if (
            source.word(end - 1) == "glasses"
            and match.length == 1
            and source.word(at - 1) in POSSESSIVES
        ):
            # For drinking, or for reading.
            raise source.ask(AskReason.WHICH, at, end)
        noun.kind, noun.plural = {"clothe": "clothes"}.get(sense.word, sense.word), sense.plural
        # "The cards" are one thing, but not "the credit cards".
        if " " not in sense.word and source.word(end - 1) in ONE_THING:
            noun.plural = False
        if source.word(end) in ("one", "ones") and names_room(sense.word) and not sense.plural:
            # "The kitchen one".
            noun.where.append(self._in_room(sense.word, at, end))
            noun.kind, noun.plural = "", source.word(end) == "ones"
            return end + 1
        after = source.match(end)
        kinds = [s for s in after.senses if s.part is Part.KIND] if after else []
        modal = source.word(end) == "can" and source.word(end + 1) in _AFTER_CAN
        if (
            after is not None
            and kinds
            and names_room(sense.word)
            and not sense.plural
            and not modal
        ):
            # "The bathroom floor", "the garage lamp", not "the lamp in the hall can be off".
            noun.where.append(self._in_room(sense.word, at, end))
            noun.kind, noun.plural = kinds[0].word, kinds[0].plural
            return end + after.length
        if source.word(end) in ("door", "doors") and not names_room(sense.word):
            # "Shut the wardrobe doors".
            found = default_word_meanings().find(sense.word)
            if found and found.furniture and not found.objects:
                return end + 1
        if source.word(end) in ("items", "objects") and not names_room(sense.word):
            noun.plural = True
            return end + 1
        if source.starts(end, "of") and source.word(end + 1) in LIQUIDS:
            noun.states.append(f"filled with {source.word(end + 1)}")
            return end + 2
        if source.starts(end, "full of") and source.word(end + 2) in LIQUIDS:
            noun.states.append(f"filled with {source.word(end + 2)}")
            return end + 3
        return end

    def _pieces(self, at: int, noun: Noun) -> int | None:
        """Reads "two pieces of soap", "a set of keys", "a slice of cooked apple"."""
        source = self._source
        measure = source.word(at).removesuffix("s")
        end = self._head(self._adjectives(at + 2, noun), noun)
        cut = f"{measure} of {noun.kind}"
        if end is not None and default_word_meanings().knows(cut):
            noun.kind = cut
        elif (
            end is None or measure == "slice" or can_be(noun.kind, "sliced")
            or (measure == "set" and noun.plural)
        ):  # fmt: skip
            # A slice of cake is no cake, and a set of plates is several.
            return None
        noun.plural = source.word(at).endswith("s")
        return end

    @staticmethod
    def _in_room(room: str, start: int, end: int) -> Where:
        anchor = Noun(room, start, end, definite=True)
        return Where(Relation.IN, anchor, Way.STATIC, start, end)

    @staticmethod
    def _count(noun: Noun, quantity: Quantity) -> None:
        """What determiner and number mean with this noun."""
        mass = noun.kind in MASS
        several = noun.plural or mass
        noun.other, noun.each = quantity.other, False
        noun.bound = quantity.bound
        if quantity.pair:
            noun.definite = quantity.det == "the"
            noun.count = 2 if noun.plural else 1
        elif isinstance(quantity.count, Amount):
            noun.count = quantity.count
            noun.each = quantity.each
            if quantity.count is not Amount.ALL and not noun.plural and not mass:
                noun.count = 1
        elif quantity.count is not None:
            # "Both the cup and the plate".
            one = quantity.both and not noun.plural
            noun.count = 1 if one else quantity.count
            noun.each = quantity.each
            noun.definite = quantity.det == "the" and not quantity.partitive
            if quantity.partitive and noun.count == 1:
                # "One of the cups" is "it".
                noun.plural = False
        elif quantity.det == "the":
            noun.definite = not several
            noun.count = Amount.ALL if several else 1
        elif quantity.det in ("any", "whichever") and several:
            noun.count = Amount.ALL
        elif quantity.det:
            noun.count = 1
        else:
            noun.count = Amount.ALL if several else 1
            noun.bare = True
            # "From bedroom to kitchen".
            noun.definite = not several and names_room(noun.kind)


def describe(noun: Noun, sense: Sense) -> None:
    """Adds what an adjective says."""
    match sense.part:
        case Part.COLOR:
            noun.color = Color(sense.word)
        case Part.MATERIAL:
            noun.material = Material(sense.word)
        case Part.SIZE:
            noun.size = Size(sense.word)
        case _:
            noun.states.append(sense.word)


def _material(word: str) -> Material | None:
    return Material(word) if word in _MATERIALS else None


def names_room(kind: str) -> bool:
    """Whether a word names a room."""
    found = default_word_meanings().find(kind)
    return bool(found and found.rooms)
