"""Noun phrases: determiner, number, adjectives, noun, and what follows it."""

from __future__ import annotations

from planner.language.drafts import Noun, Phrase, Pronoun, Way, Where
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
    PREPOSITION_WORDS,
    PRIVATE_ADJECTIVES,
    THE,
)
from planner.language.fitness import can_be
from planner.language.lexicon import Part, Sense
from planner.language.quantities import Quantities, Quantity
from planner.language.reading import (
    AskReason,
)
from planner.language.words import Amount, Relation, Size
from planner.world.look import Color, Material
from planner.world.word_meanings import default_word_meanings

_PRONOUNS = {
    "it": 1, "them": 2, "they": 2, "those": 2, "these": 2, "both": 2, "ones": 2, "that": 1,
    "this": 1,
}  # fmt: skip
_PRONOUN_NUMBERS = {
    tuple(phrase.split()): number
    for phrase, number in (
        ("all of them", 2),
        ("both of them", 2),
        ("each of them", 2),
        ("all of it", 1),
        ("all of these", 2),
        ("all of those", 2),
        ("the two of them", 2),
        ("them all", 2),
        ("it all", 0),
        ("them both", 2),
        ("the both of them", 2),
        ("the latter", 0),
        ("the former", 0),
        ("every one of them", 2),
        ("the whole thing", 1),
        ("the whole lot", 2),
        ("the lot", 2),
        ("those two", 2),
        ("these two", 2),
        ("all of that", 0),
        ("all these items", 2),
        ("all these objects", 2),
        ("these items", 2),
        ("these objects", 2),
    )
}
_PRONOUN_PHRASES = frozenset(_PRONOUN_NUMBERS)
_ORDERED_PAIR = (("the", "latter"), ("the", "former"))
_EVERYTHING = {
    "everything": Amount.ALL, "anything": Amount.ALL, "whatever": Amount.ALL, "all": Amount.ALL,
    "whichever": Amount.ALL,
}  # fmt: skip
_OWNERS = frozenset(
    {
        "kids",
        "children",
        "guests",
        "boys",
        "girls",
        "cats",
        "dogs",
        "babies",
        "parents",
        "neighbours",
    }
)
# Neither people, whose things are just "the mug", nor known things.
_ANIMALS = frozenset({"dog", "cat", "puppy", "kitten", "rabbit", "hamster", "parrot", "pet"})
_COLORS = frozenset(Color) - {Color.ORANGE}
_CLAUSE_WORDS = frozenset({"i", "you", "we", "is", "are", "me", "he", "she"})


_COMPARED = {
    "smaller": Size.SMALL, "tinier": Size.SMALL, "bigger": Size.BIG, "larger": Size.BIG,
    "taller": Size.TALL,
}  # fmt: skip


class NounPhrases(Quantities):
    """Reads noun phrases without the prepositions that follow, whose place only a verb decides."""

    def phrase(self, at: int) -> tuple[Phrase, int] | None:
        """A noun phrase or pronoun at a word, and the position after it."""
        if self._source.word(at) in _CLAUSE_WORDS:
            return None
        pronoun = self._pronoun(at)
        noun = self.noun(at)
        if pronoun and pronoun[0].word.endswith(("items", "objects")):
            # "These items from the table" are described.
            return pronoun if self._source.word(pronoun[1]) not in ("from", "on", "in") else noun
        if pronoun and pronoun[0].word.startswith("the whole"):
            return pronoun
        return noun or pronoun

    def noun(self, at: int) -> tuple[Noun, int] | None:
        """A noun phrase that is no pronoun."""
        source = self._source
        if source.word(at) == "half" and source.word(at + 1) in ("a", "an"):
            whole = self._core(at + 2, Quantity("a"), at)
            divisible = whole and any(
                can_be(whole[0].kind, state) for state in ("sliced", "filled")
            )
            if whole and not whole[0].states and not divisible:
                # "Half a fork"; "half a lemon" and "half a glass of milk" are only not understood.
                raise source.impossible("amount", at, whole[1])
        quantity, i = self._quantity(at)
        found = self._everything(at) or self._core(i, quantity, at)
        if found is None:
            return None
        noun, i = found
        if source.word(i) == "each" and not isinstance(noun.count, Amount):
            noun.each, i = True, i + 1
        noun.end = i
        return noun, i

    def _pronoun(self, at: int) -> tuple[Pronoun, int] | None:
        source = self._source
        word = source.word(at)
        if end := source.longest(at, _PRONOUN_PHRASES):
            phrase = source.words[at:end]
            name = " ".join(phrase[1:] if phrase in _ORDERED_PAIR else phrase)
            return Pronoun(name, _PRONOUN_NUMBERS[phrase], at, end), end
        if word in _PRONOUNS:
            return Pronoun(word, _PRONOUNS[word], at, at + 1), at + 1
        return None

    def _everything(self, at: int) -> tuple[Noun, int] | None:
        """Reads "Everything", "whatever is", "anything edible", "the rest"."""
        source = self._source
        word = source.word(at)
        if word in ("something", "someone"):
            noun = Noun("thing", at, at + 1, vague=True)
            return noun, at + 1
        if rest := source.starts(
            at, "the rest", "all the rest", "the others", "all the others", "everything else"
        ):
            noun = Noun("", at, rest, plural=True, count=Amount.ALL, other=True)
            if of := source.starts(rest, "of the", "of my", "of our"):
                found = self._core(of, Quantity(det="the"), at)
                if found is None:
                    return None
                noun.kind, rest = found[0].kind, found[1]
            elif word == "everything":
                noun.kind = "thing"
            return noun, rest
        if word not in _EVERYTHING or source.starts(at, "whatever you do"):
            return None
        i = at + 1
        if word in ("whatever", "whichever") and source.word(i) not in (
            "is",
            "are",
            "you",
            "i",
            "'s",
            "stands",
            "lies",
        ):
            return None
        if word == "all" and source.word(i) not in ("that", "which"):
            return None
        if word == "all" and not source.starts(i + 1, "is", "are"):
            return None
        noun = Noun("thing", at, i, plural=True, count=Amount.ALL)
        if word in ("whatever", "whichever") and source.word(i) in ("is", "are", "'s"):
            i += 1
            i += source.word(i) in ("still", "currently", "just", "now", "already")
        if i > at + 1 and source.word(i) in ("on", "off") and not self._quantity(i + 1)[0].det and (
            source.match(i + 1) is None
        ):  # fmt: skip
            # "Whatever is on in the kitchen".
            noun.states.append("powered on" if source.word(i) == "on" else "powered off")
            return noun, i + 1
        if (match := source.match(i)) and word not in ("all",):
            for sense in match.senses:
                if sense.part is Part.KIND and not sense.plural and source.word(i - 1) == word:
                    # "Everything electronic", "anything edible".
                    noun.kind = sense.word
                    return noun, i + match.length
                if sense.part is not Part.ACTION and sense.part is not Part.KIND:
                    describe(noun, sense)
                    return noun, i + match.length
        return noun, i

    def _core(self, at: int, quantity: Quantity, start: int) -> tuple[Noun, int] | None:
        """Adjectives and noun."""
        source = self._source
        noun = Noun("", start, at)
        owner = at
        at, quantity = self._possessor(at, quantity)
        i = self._adjectives(at, noun)
        owned = self._owned(owner, i, noun) if at > owner else None
        head = owned or self._head(i, noun) or self._pick_of(i, noun)
        if head and at > owner and not owned and noun.kind == "room":
            # "Anna's room": whose it is is all that is known of it.
            raise source.unknown(owner, head)
        if head is None:
            word = source.word(i)
            on = source.longest(i, PREPOSITION_WORDS)
            number = quantity.count if source.word(i - 2) in THE and not quantity.both else None
            if isinstance(number, int) and on and i == at:
                # "All books but the two on the nightstand".
                noun.plural = number > 1
                self._count(noun, quantity)
                return noun, i
            if i == at > start and self._counts_alone(start, i, quantity):
                # "Fill the bottles and put two in the fridge".
                noun.plural = quantity.count != 1
                self._count(noun, quantity)
                noun.end = i
                return noun, i
            if word in ("one", "ones") and (i > start or quantity.other):
                noun.plural = word == "ones"
                i += 1
                if of := source.starts(i, "of the", "of these", "of those", "of my", "of our"):
                    _, of = self._number(of)
                    outer = Noun("", start, of)
                    if self._head(of, outer) is None:
                        return None
                    noun.kind, i = outer.kind, self._head(of, outer) or of
            elif not (
                (quantity.det == "the" or quantity.other) and source.words[i - 1 : i] == ("one",)
            ) and not (quantity.det == "the" and quantity.other and i > start + 1):
                # "The other", "the one on the table"; "the red" needs "one".
                return None
        else:
            i = head
        self._count(noun, quantity)
        if noun.plural and (size := _COMPARED.get(self._compared(start, i))):
            # "The smaller plates".
            noun.pick, noun.size = None, size
        noun.end = i
        return noun, i

    def _counts_alone(self, start: int, end: int, quantity: Quantity) -> bool:
        """Whether a number stands for so many of what was named before: "bring me two"."""
        source = self._source
        if not isinstance(quantity.count, int) or quantity.det != "a" or end != start + 1:
            return False
        if source.word(start) not in NUMBERS or source.word(start) in ("dozen", "hundred"):
            return False
        placed = source.longest(end, PREPOSITION_WORDS) and source.word(end) != "by"
        return bool(placed) or not source.word(end)[:1].isalnum() or source.word(end) == "to"

    def _compared(self, start: int, end: int) -> str:
        return next((word for word in self._source.words[start:end] if word in _COMPARED), "")

    def _pick_of(self, at: int, noun: Noun) -> int | None:
        """Reads "(the) smaller of the two suitcases"."""
        source = self._source
        picked = source.longest(at, PICK_WORDS)
        of = source.starts(picked, "of the", "of my", "of our", "of these", "of those")
        if not picked or not of:
            return None
        _, i = self._number(of)
        head = self._head(i, noun)
        if head is None or not noun.plural:
            return None
        noun.pick, noun.plural = PICKS[source.words[at:picked]], False
        return head

    def _possessor(self, at: int, quantity: Quantity) -> tuple[int, Quantity]:
        """Reads "Mom's mug", "the kids' toys": whose it is makes it definite."""
        source = self._source
        plural = (
            source.word(at) in _OWNERS and source.match(at) is None and self._noun_ahead(at + 1)
        )
        if source.word(at + 1) == "'s" and source.word(at).isalpha():
            return at + 2, Quantity("the", quantity.count, quantity.bound)
        return (
            (at + 1, Quantity("the", quantity.count, quantity.bound)) if plural else (at, quantity)
        )

    def _owned(self, owner: int, at: int, noun: Noun) -> int | None:
        """Reads "the dog's bowl" as a dog bowl and "the hall's lamp" as the one in the hall.

        Raises:
            Refused: if whose it is tells things apart in a way that no description has.
        """
        source = self._source
        word = source.word(owner)
        match = source.match(owner)
        kind = next((s.word for s in match.senses if s.part is Part.KIND), "") if match else ""
        if kind and _is_room(kind):
            noun.where.append(self._in_room(kind, owner, owner + 1))
            return None
        # "The dogs' bowls" are dog bowls, too.
        singular = word.removesuffix("s") if word in _OWNERS else word
        compound = source.lexicon.at((singular, *source.words[at : at + 3]), 0)
        if compound is not None and compound.length > 1:
            for sense in compound.senses:
                if sense.part is Part.KIND:
                    noun.kind, noun.plural = sense.word, sense.plural
                    return at + compound.length - 1
        if singular in _ANIMALS or word in ("yesterday", "tomorrow"):
            raise source.unknown(owner, at + 1)
        return None

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
        if source.words[at:end][-1:] and source.word(end - 1) in ONE_THING:
            noun.plural = False
        if source.word(end) in ("one", "ones") and _is_room(sense.word) and not sense.plural:
            # "The kitchen one".
            noun.where.append(self._in_room(sense.word, at, end))
            noun.kind, noun.plural = "", source.word(end) == "ones"
            return end + 1
        after = source.match(end)
        kinds = [s for s in after.senses if s.part is Part.KIND] if after else []
        if after is not None and kinds and _is_room(sense.word) and not sense.plural:
            # "The bathroom floor", "the garage lamp".
            noun.where.append(self._in_room(sense.word, at, end))
            noun.kind, noun.plural = kinds[0].word, kinds[0].plural
            return end + after.length
        if source.word(end) in ("door", "doors") and not _is_room(sense.word):
            # "Shut the wardrobe doors".
            found = default_word_meanings().find(sense.word)
            if found and found.furniture and not found.objects:
                return end + 1
        if source.word(end) in ("items", "objects") and not _is_room(sense.word):
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
            noun.definite = not several and _is_room(noun.kind)


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
    return Material(word) if word in set(Material) else None


def _is_room(kind: str) -> bool:
    found = default_word_meanings().find(kind)
    return bool(found and found.rooms)


def _room_words(kind: str) -> int:
    """How many words of a compound name the room in front of furniture: 1 in "kitchen table"."""
    words = kind.split()
    for cut in range(1, len(words)):
        room = default_word_meanings().find(" ".join(words[:cut]))
        piece = default_word_meanings().find(" ".join(words[cut:]))
        if room and room.rooms and piece and piece.furniture:
            return cut
    return 0
