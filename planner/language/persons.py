"""People by name, clothes, posture and gesture, and where they are."""

from __future__ import annotations

from planner.language.drafts import Noun, Way, Where
from planner.language.english import ARTICLES, NUMBERS, THE, phrases, products, table, words
from planner.language.lexicon import PERSON, Amount, Part, Relation
from planner.language.places import Places, grouped, is_room
from planner.world.shapes import Color

_ONE = words("person human guest visitor somebody someone anybody anyone")
_SEVERAL = words("people persons humans guests visitors")
_UNNAMED = words("somebody someone anybody anyone")
_NO_NAME = words(table("english")) | ARTICLES | THE | words(table("pronouns")) | words("me us i")
# Fewer words than these may all have capitals for other reasons.
_TITLE = 5
_GIVEN_NAMES = words(table("given names"))
_SIDES = ("left", "right")
_HANDS = "their|his|her|the|a|an|"
_TRAITS = {
    phrase: trait
    for trait, said in {
        "sitting": phrases("sitting|sitting down|seated|sits"),
        "standing": phrases("standing|standing up|stands"),
        "lying": phrases("lying|lying down|laying|lies"),
        "waving": phrases("waving|waves"),
        **{
            f"raising {side} arm": products(
                "raising|raises|lifting|lifts|holding up|holds up", _HANDS, side, "arm|hand"
            )
            | products("with", _HANDS, side, "arm|hand", "raised|up|in the air")
            for side in _SIDES
        },
        **{
            f"pointing {side}": products("pointing|points", "to|at|towards|", "their|the|", side)
            for side in _SIDES
        },
    }.items()
    for phrase in said
}
_TRAIT_WORDS = frozenset(_TRAITS)
_BEFORE_TRAITS = products("who|that|which|", "is|are|'s", "currently|") | phrases("who|that")
_WEARING = products(
    "who|that|", "is|are|", "wearing|dressed in|clothed in|wears|wear"
) | phrases("in|with")  # fmt: skip
_CALLED = products("who is|that is|", "named|called|by the name of") | phrases("whose name is")
_GARMENTS = {
    tuple(said.split()): garment
    for garment, several in {
        "t-shirt": "t shirt|tshirt|tee shirt|t shirts|tshirts",
        "trousers": "trousers|pants",
        "jeans": "jeans",
        "sweater": "sweater|sweaters|jumper|jumpers|pullover|pullovers",
        **{
            name: f"{name}|{plural}"
            for name, plural in (
                ("shirt", "shirts"), ("blouse", "blouses"), ("coat", "coats"),
                ("jacket", "jackets"), ("dress", "dresses"), ("skirt", "skirts"),
            )
        },
    }.items()
    for said in several.split("|")
}  # fmt: skip
_GARMENT_WORDS = frozenset(_GARMENTS)
_COLORS = {color.value: color.value for color in Color} | {"grey": "gray", "violet": "purple"}


class Persons(Places):
    """Reads people, which no noun phrase of things contains."""

    def person(self, at: int) -> tuple[Noun, int] | None:
        """A person, or several, with all that describes them: "the waving person at the sink"."""
        found = self._named(at) or self._unnamed(at)
        if found is None:
            return None
        noun, i = found
        while end := self._trait(i, noun) or self._somewhere(i, noun):
            i = end
        noun.end = i
        return noun, i

    def place(self, at: int) -> tuple[list[Where], int] | None:
        """One place; a person is one that things are brought to or taken from."""
        source = self._source
        i = source.starts(at, "to", "over to", "back to", "from")
        found = self.person(i) if i else None
        if found is None:
            return super().place(at)
        way = Way.FROM if source.word(at) == "from" else Way.TO
        return [Where(Relation.AT, found[0], way, at, found[1])], found[1]

    def _named(self, at: int) -> tuple[Noun, int] | None:
        """A name: a word with a capital that is no thing's, or one that many people have."""
        source, end = self._source, at
        while end < at + 2 and self._is_name(end):
            end += 1
        if end == at:
            return None
        name = source.quote(at, end)
        name = name.title() if name.islower() else name
        return Noun(PERSON, at, end, definite=True, name=name), end

    def _is_name(self, at: int) -> bool:
        source = self._source
        word = source.word(at)
        if not word.isalpha() or word in _NO_NAME or source.word(at + 1) == "'s":
            return False
        match = source.match(at)
        if match and any(sense.part is Part.KIND for sense in match.senses):
            return False
        written = source.quote(at, at + 1)
        # "Greet Kim." is no title.
        shouted = source.text.isupper() or (source.text.istitle() and source.size > _TITLE)
        return (written[0].isupper() and not shouted) or word in _GIVEN_NAMES

    def _unnamed(self, at: int) -> tuple[Noun, int] | None:
        """A determiner, what is seen of people, and a word for them."""
        source, i = self._source, at
        det = source.word(i) if source.word(i) in THE | words("a an any all some") else ""
        i += bool(det)
        number = NUMBERS.get(source.word(i), 0)
        i += bool(number)
        traits: list[str] = []
        while end := source.longest(i, _TRAIT_WORDS):
            traits.append(_TRAITS[source.words[i:end]])
            i = end
        word = source.word(i)
        if word not in _ONE | _SEVERAL or (word in _UNNAMED and det) or self._noun_ahead(i + 1):
            # "The guest room" is no guest.
            return None
        noun = Noun(PERSON, at, i + 1, plural=word in _SEVERAL, states=traits)
        noun.count = number or (Amount.ALL if noun.plural else 1)
        noun.definite = det in THE and noun.count is not Amount.ALL
        return noun, i + 1

    def _trait(self, at: int, noun: Noun) -> int:
        """Reads what is said of people: posture, gesture, clothes or name; 0 if nothing is."""
        source = self._source
        if (end := source.longest(at, _CALLED)) and (found := self._named(end)):
            noun.name = found[0].name
            return found[1]
        if (end := source.longest(at, _WEARING)) and (after := self._clothes(end, noun)):
            return after
        i = source.longest(at, _BEFORE_TRAITS) or at
        if end := source.longest(i, _TRAIT_WORDS):
            noun.states.append(_TRAITS[source.words[i:end]])
            return end
        both = source.word(at) == "and" and source.longest(at + 1, _TRAIT_WORDS)
        return self._trait(at + 1, noun) if both else 0

    def _clothes(self, at: int, noun: Noun) -> int:
        """Reads "a red shirt and a coat"; 0 if that is nothing to wear."""
        source = self._source
        i = at + (source.word(at) in words("a an the"))
        color = _COLORS.get(source.word(i), "")
        end = source.longest(i + bool(color), _GARMENT_WORDS)
        if not end:
            return 0
        garment = _GARMENTS[source.words[i + bool(color) : end]]
        noun.wears.append(f"{color} {garment}".strip())
        return (source.word(end) == "and" and self._clothes(end + 1, noun)) or end

    def _somewhere(self, at: int, noun: Noun) -> int:
        """Reads where people are: "in the kitchen", "from the sink"; 0 if nothing says it."""
        i = self._source.longest(at, _BEFORE_TRAITS) or at
        found = super().place(i)
        if found is None or found[0][0].way is Way.TO or noun.where:
            return 0
        if not all(isinstance(where.anchor, Noun) for where in found[0]):
            return 0
        for where in found[0]:
            if isinstance(where.anchor, Noun) and is_room(where.anchor):
                where.relation = Relation.IN
        noun.where += grouped(found[0], unsure=True)
        return found[1]
