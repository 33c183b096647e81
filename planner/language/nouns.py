"""Nouns with the adjectives in front of them."""

from __future__ import annotations

from functools import lru_cache

from planner.language.drafts import Noun, Way, Where
from planner.language.english import (
    EMPTY_ADJECTIVES,
    GENERIC,
    GENERIC_ONE,
    LIQUIDS,
    MASS,
    NUMBERS,
    ONE_THING,
    PICK_WORDS,
    PICKS,
    POSSESSIVES,
    PRIVATE_ADJECTIVES,
    THE,
)
from planner.language.lexicon import Part, Sense
from planner.language.quantities import Quantities, Quantity
from planner.language.reading import (
    AskReason,
)
from planner.language.words import Amount, Relation, Size
from planner.world.look import Color, Material
from planner.world.word_meanings import default_word_meanings

_MATERIALS = frozenset(Material)
_COLORS = frozenset(Color) - {Color.ORANGE}
_AFTER_CAN = frozenset({"all", "also", "be", "both", "come", "go", "now", "stay"})


class Nouns(Quantities):
    """Reads adjectives and the noun itself."""

    def _adjectives(self, at: int, noun: Noun) -> int:
        """Reads adjectives as long as a noun can still follow."""
        source = self._source
        i = at
        while i < source.size:
            word = source.word(i)
            picked = source.longest(i, PICK_WORDS)
            # "The left cup", not "the kids left cups".
            determined = source.word(i - 1) in THE or source.word(i - 1) in NUMBERS
            verbal = word in ("left", "right") and not determined
            if picked and not verbal and self._noun_ahead(picked):
                noun.pick, i = PICKS[source.words[i:picked]], picked
                continue
            if word in PRIVATE_ADJECTIVES and self._noun_ahead(i + 1):
                raise source.ask(AskReason.WHICH, i, i + 1)
            if word in EMPTY_ADJECTIVES and self._noun_ahead(i + 1):
                i += 1
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
            sense = self._adjective(i)
            if sense is None:
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

    def owns(self, at: int) -> bool:
        """Whether a noun follows "'s", which then shows whose it is."""
        return self._noun_ahead(at + 1)

    def _noun_ahead(self, at: int) -> bool:
        """Whether adjectives or a noun stand here."""
        source = self._source
        word = source.word(at)
        if word in ("one", "ones") or word in GENERIC or word in GENERIC_ONE:
            return True
        if word in EMPTY_ADJECTIVES or word in PRIVATE_ADJECTIVES:
            return self._noun_ahead(at + 1)
        if picked := source.longest(at, PICK_WORDS):
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
        senses = [s for s in match.senses if s.part is Part.KIND] if match else []
        if match is None or not senses:
            return None
        if any(s.part is Part.ACTION for s in match.senses) and source.word(at + 1) in THE:
            return None
        surface = " ".join(source.words[at : at + match.length])
        one = surface in ONE_THING
        sense = min(senses, key=lambda s: (one and s.word != surface, not s.plural, s.word))
        end = at + match.length
        if rooms := _room_words(sense.word):
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


@lru_cache(maxsize=1024)
def _room_words(kind: str) -> int:
    """How many words of a compound name the room in front of furniture: 1 in "kitchen table"."""
    words = kind.split()
    for cut in range(1, len(words)):
        room = default_word_meanings().find(" ".join(words[:cut]))
        piece = default_word_meanings().find(" ".join(words[cut:]))
        if room and room.rooms and piece and piece.furniture:
            return cut
    return 0
