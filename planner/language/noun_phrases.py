"""Noun phrases: determiner, number, adjectives, noun, and what follows it."""

from __future__ import annotations

from dataclasses import replace

from planner.language.drafts import Noun, Phrase, Pronoun
from planner.language.english import (
    ARTICLES,
    GENERIC,
    NUMBERS,
    PICKS,
    PREPOSITION_WORDS,
    THE,
    phrases,
    table,
    words,
)
from planner.language.lexicon import Amount, Part, Size, can_be, default_lexicon
from planner.language.nouns import Nouns, Quantity, describe, names_room
from planner.language.reading import STOPS, Source, Token
from planner.language.verbs import Form, verbs_at

_PRONOUNS = dict.fromkeys(words("them they those these both ones"), 2)
_PRONOUNS |= dict.fromkeys(words("it that this"), 1)
_PRONOUN_NUMBERS = {
    **dict.fromkeys(phrases("it all|the latter|the former|all of that"), 0),
    **dict.fromkeys(phrases("all of it|the whole thing"), 1),
    **dict.fromkeys(phrases(table("pronoun numbers")), 2),
}
_PRONOUN_PHRASES = frozenset(_PRONOUN_NUMBERS)
_ORDERED_PAIR = (("the", "latter"), ("the", "former"))
_EVERYTHING = dict.fromkeys(words("everything anything whatever all whichever"), Amount.ALL)
_OWNERS = words("kids children guests boys girls cats dogs babies parents neighbours")
# Neither people, whose things are just "the mug", nor known things.
_ANIMALS = frozenset({"dog", "cat", "puppy", "kitten", "rabbit", "hamster", "parrot", "pet"})
_CLAUSE_WORDS = frozenset({"i", "you", "we", "is", "are", "me", "he", "she"})


_COMPARED = {
    "smaller": Size.SMALL, "tinier": Size.SMALL, "bigger": Size.BIG, "larger": Size.BIG,
    "taller": Size.TALL,
}  # fmt: skip
_CLAUSAL = words("is are you i 's stands lies")


class NounPhrases(Nouns):
    """Reads noun phrases without the prepositions that follow, whose place only a verb decides."""

    def phrase(self, at: int) -> tuple[Phrase, int] | None:
        """A noun phrase or pronoun at a word, and the position after it."""
        if self._source.word(at) in _CLAUSE_WORDS:
            return None
        pronoun = self._pronoun(at)
        noun = self.noun(at)
        if pronoun and pronoun[0].word.endswith(("items", "objects")):
            # "These items from the table" are described, unless they came there just before.
            placed = self._source.word(pronoun[1]) in ("from", "on", "in")
            return pronoun if not placed or self._brought_there(pronoun[1]) else noun
        if pronoun and pronoun[0].word.startswith("the whole"):
            return pronoun
        return noun or pronoun

    def _brought_there(self, at: int) -> bool:
        """Whether "(all these items) from the hall" are there by what was asked for before."""
        words = self._source.words
        place = words[at + 1 : at + 3]
        return words[at] == "from" and any(
            words[k : k + 2] == place and words[k - 1] in ("to", "into", "in", "on", "onto")
            for k in range(1, at - 1)
        )

    def noun(self, at: int) -> tuple[Noun, int] | None:
        """A noun phrase that is not a pronoun."""
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
        if (found := self._everything(at) or self._core(i, quantity, at)) is None:
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
                if (found := self._core(of, Quantity(det="the"), at)) is None:
                    return None
                noun.kind, rest = found[0].kind, found[1]
            elif word == "everything":
                noun.kind = "thing"
            return noun, rest
        if word not in _EVERYTHING or source.starts(at, "whatever you do"):
            return None
        i = at + 1
        if word in ("whatever", "whichever") and source.word(i) not in _CLAUSAL:
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
            another = quantity.other and source.words[start:i] == ("another",)
            if another and source.longest(i, PREPOSITION_WORDS):
                # "A cup on the desk and another on the bed".
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
        if noun.nth and not (i := self._ranked(i, noun) or 0):
            return None
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
        picked = self._pick_ahead(at)
        of = source.starts(picked, "of the", "of my", "of our", "of these", "of those")
        if not picked or not of:
            return None
        _, i = self._number(of)
        if (head := self._head(i, noun)) is None or not noun.plural:
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
        if kind and names_room(kind):
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


# What "'s" behind a noun is short for: "the lamp's on" is no lamp's.

_HAS = frozenset({"been", "got", "gone", "had", "fallen", "run", "come", "become", "started"})


def with_verbs(source: Source) -> Source:
    """The words with "is" and "has" for each "'s" that no noun follows."""
    if "'s" not in source.words:
        return source
    reader = NounPhrases(source)
    tokens = list(source.tokens)
    for at, token in enumerate(tokens):
        if token.word != "'s" or reader.owns(at):
            continue
        after = source.word(at + 1)
        tokens[at] = replace(token, word="has" if after in _HAS else "is")
    return Source(source.text, tokens, source.lexicon)


def listed_first(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The words with a list that is announced in place of its announcement.

    "Put the following items on the desk: a pen and a book" is "put a pen and a book on the desk".
    """
    words = tuple(token.word for token in tokens)
    at = next((k for k in range(len(words) - 2) if words[k : k + 2] == ("the", "following")), None)
    if at is None or words.count(":") != 1:
        return tokens
    noun = next(
        (k for k in (at + 2, at + 3) if words[k : k + 1] and words[k] in GENERIC | {"things"}), 0
    )
    if not noun and (words[at + 2],) in PREPOSITION_WORDS:
        # "Put the following on the desk: ...".
        noun = at + 1
    colon = words.index(":")
    if not noun or colon < noun:
        return tokens
    last = len(words) - (words[-1] in STOPS)
    listed = [replace(t, word=",") if t.word == "-" else t for t in tokens[colon + 1 : last]]
    listed = listed[listed[0].word == "," if listed else 0 :]
    return (*tokens[:at], *listed, *tokens[noun + 1 : colon], *tokens[last:])


def _names_thing(words: tuple[str, ...], at: int) -> bool:
    match = default_lexicon().at(words, at)
    return match is not None and any(sense.part is Part.KIND for sense in match.senses)


def _only_verb(words: tuple[str, ...], at: int) -> bool:
    match = default_lexicon().at(words, at)
    return match is None or all(sense.part is Part.ACTION for sense in match.senses)


_ANEW = phrases(table("beginning anew"))


def sentences_apart(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The words with a full stop before each clause that follows a noun without one."""
    words = tuple(token.word for token in tokens)
    found: list[Token] = []
    for at, token in enumerate(tokens):
        commands = any(
            Form.BASE in verb.forms and (after := words[at + verb.length : at + verb.length + 1])
            and (after[0] in ARTICLES | {"it", "them"} or after[0] in NUMBERS
                 or (*after,) in PREPOSITION_WORDS
                 or (_names_thing(words, at + verb.length) and _only_verb(words, at)))
            for verb in verbs_at(words, at)
        )  # fmt: skip
        ends = any(
            (match := default_lexicon().at(words, k)) is not None and _names_thing(words, k)
            and k + match.length in (at, at - (words[at - 1] in ("door", "doors")))
            for k in range(max(0, at - 4), at)
        )  # fmt: skip
        anew = any(words[at : at + len(said)] == said for said in _ANEW)
        if (commands or anew) and ends and words[at - 1] != "can":
            found.append(Token(".", token.start, token.start))
        found.append(token)
    return tuple(found)
