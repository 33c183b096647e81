"""Persons, and relative clauses, participles and other words that follow a noun closely."""

from __future__ import annotations

from planner.language.drafts import Noun, Phrase, Pronoun, Way, Where, fresh
from planner.language.english import (
    ARTICLES,
    LENGTHS,
    LIQUIDS,
    NUMBERS,
    PREPOSITIONS,
    THE,
    combined,
    meanings,
    phrase_tables,
    phrases,
    products,
    table,
    words,
)
from planner.language.lexicon import PERSON, Amount, Part, Pick, Relation, is_hollow, is_stacked
from planner.language.places import CLAUSE_ENDS, Places, grouped, is_furniture, is_room
from planner.language.reading import AskReason, Source
from planner.world.shapes import Color

# People by name, clothes, posture and gesture, and where they are.

_ONE = words("person human guest visitor somebody someone anybody anyone")
_SEVERAL = words("people persons humans guests visitors")
_UNNAMED = words("somebody someone anybody anyone")
_NO_NAME = words(table("english")) | ARTICLES | THE | words(table("pronouns")) | words("me us i")
# Fewer words than these may all have capitals for other reasons.
_TITLE = 5
_GIVEN_NAMES = words(table("given names"))
_SIDES = ("left", "right")
_HANDS = "their|his|her|the|a|an|"
_TRAITS = meanings("traits")
_TRAIT_WORDS = frozenset(_TRAITS)
_BEFORE_TRAITS = products("who|that|which|", "is|are|'s", "currently|") | phrases("who|that")
_WEARING = products(
    "who|that|", "is|are|", "wearing|dressed in|clothed in|wears|wear"
) | phrases("in|with")  # fmt: skip
_CALLED = products("who is|that is|", "named|called|by the name of") | phrases("whose name is")
_GARMENTS = meanings("garments")
_GARMENT_WORDS = frozenset(_GARMENTS)
_COLORS = {color.value: color.value for color in Color} | {"grey": "gray", "violet": "purple"}


class Persons(Places):
    """Reads people, which no noun phrase of things contains."""

    def person(self, at: int) -> tuple[Noun, int] | None:
        """A person, or several, with all that describes them: "the waving person at the sink"."""
        if (found := self._named(at) or self._unnamed(at)) is None:
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
        if (found := self.person(i) if i else None) is None:
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
        if not (end := source.longest(i + bool(color), _GARMENT_WORDS)):
            return 0
        garment = _GARMENTS[source.words[i + bool(color) : end]]
        noun.wears.append(f"{color} {garment}".strip())
        return (source.word(end) == "and" and self._clothes(end + 1, noun)) or end

    def _somewhere(self, at: int, noun: Noun) -> int:
        """Reads where people are: "in the kitchen", "from the sink"; 0 if nothing says it."""
        i = self._source.longest(at, _BEFORE_TRAITS) or at
        if (found := super().place(i)) is None or found[0][0].way is Way.TO or noun.where:
            return 0
        if not all(isinstance(where.anchor, Noun) for where in found[0]):
            return 0
        for where in found[0]:
            if isinstance(where.anchor, Noun) and is_room(where.anchor):
                where.relation = Relation.IN
        noun.where += grouped(found[0], unsure=True)
        return found[1]


_ADVERBS = words(table("adverbs"))
_POSITIONS = words(table("positions"))
_SUBJECTS = words(table("subjects"))
_LEFT = words(table("left"))
_OWNED = frozenset({"bought", "borrowed", "wore", "like", "love", "ordered", "wear", "use", "got"})
_BE = frozenset({"is", "are", "was", "were", "should", "must", "needs", "goes"})
_HOLDING = phrases(table("holding"))
VESSELS = words(
    "pot pan bowl plate cup mug box basket tray saucepan skillet bucket crate container glass jar"
)
_INSIDE_IT = phrases("in it|on it|inside it|in them|on them|inside|on top|on top of it")
_CUTTING = words("slice cut chop dice")
_NOT = frozenset({"not", "never", "without", "if"})
_NEEDS = {"washing": "dirty", "cleaning": "dirty", "dusting": "dusty", "watering": "unwatered"}
EXCEPT = phrases(table("except"))
_ON_SIDES = [(phrases(said), Pick(pick)) for pick, said in phrase_tables().sides.items()]
_IN_CORNER = combined("in the corner")
_LINKING = words("is are 's was were lie lies stand stands sit sits has have")
_HAVING = words("have has had just already always can will last usually may might")
_ABOUT = words("lying standing around behind out sitting first")


class Modified(Persons):
    """Reads noun phrases with what follows them closely."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._described: dict[int, tuple[Phrase, int] | None] = {}

    def described(self, at: int) -> tuple[Phrase, int] | None:
        """A noun phrase with relative clauses and participles.

        Several rules try the same word; each gets a copy of what was read the first time.
        """
        if at not in self._described:
            self._described[at] = self._read(at)
        found = self._described[at]
        return found and (fresh(found[0]), found[1])

    def _read(self, at: int) -> tuple[Phrase, int] | None:
        if (found := self.phrase(at)) is None:
            return None
        phrase, i = found
        if isinstance(phrase, Pronoun) and phrase.word in ("those", "these"):
            noun = Noun("", at, i, plural=True, count=Amount.ALL)
            after = self._after(i, noun)
            return (noun, after) if after > i else found
        if not isinstance(phrase, Noun):
            return found
        end = self._after(i, phrase)
        phrase.end = end
        several = self._source.starts(at, "any of") and phrase.count is Amount.ALL
        if several and end == i and not _NOT & set(self._source.words[:at]):
            # "Put any of the candles on the shelf": one, or all that there are.
            raise self._source.ask(AskReason.WHICH, at, end)
        return phrase, end

    def _after(self, at: int, noun: Noun) -> int:
        i = at
        while True:
            end = (
                self._of_room(i, noun) or self._with(i, noun) or self._relative(i, noun)
                or self._participle(i, noun) or self._apposition(i, noun)
            )  # fmt: skip
            if not end:
                return i
            i = end

    def _apposition(self, at: int, noun: Noun) -> int:
        """Reads ", the one on the table," and "on the left"."""
        source = self._source
        if noun.definite and is_furniture(noun) and (end := source.longest(at, _IN_CORNER)):
            # If several such pieces are known, it is asked which one.
            return end
        for side_words, pick in _ON_SIDES:
            end = source.longest(at, side_words)
            side = source.word(end) in ("of", "side", "hand") or self._noun_ahead(end)
            if end and not side and noun.pick in (None, pick):
                noun.pick = pick
                return end
        end = source.starts(at, ", the one", ", the ones")
        wheres, after = self.located(end) if end else ([], at)
        if end and not wheres and (one := self.place(end)) and one[0][0].way is Way.FROM:
            # ", the ones from the sideboard,".
            wheres, after = one
        if not wheres:
            return 0
        noun.where += grouped(wheres, unsure=True)
        return after + (source.word(after) == ",")

    def _of_room(self, at: int, noun: Noun) -> int:
        """Reads "The floor of the living room", "the lamp of the hall", "one of mine"."""
        if end := self._source.starts(at, "of mine", "of ours", "of yours"):
            return end
        if not noun.kind or self._source.word(at) != "of":
            return 0
        found = self.noun(at + 1)
        if found and found[0].definite and is_stacked(noun.kind) and is_furniture(found[0]):
            # "The (top) drawer of the dresser".
            noun.where.append(Where(Relation.AT, found[0], Way.STATIC, at, found[1]))
            return found[1]
        if found is None or not (noun.kind == "floor" or (found[0].definite and is_room(found[0]))):
            return 0
        room, end = found
        noun.where.append(self._in_room(room.kind, at, end))
        return end

    def _with(self, at: int, noun: Noun) -> int:
        """Reads "With the apples in it", "where the apples are"."""
        source = self._source
        if source.word(at) == "where" and is_furniture(noun) and (what := self.noun(at + 1)):
            ends = source.word(what[1] + 1) in CLAUSE_ENDS
            if source.word(what[1]) in ("is", "are", "sits", "stands") and ends:
                noun.holding.append(what[0])
                return what[1] + 1
        if not (i := source.longest(at, _HOLDING)) or source.word(i) in ("it", "them"):
            return 0
        if (found := self.noun(i)) is None:
            return 0
        inner, end = found
        more = self.noun(end + 1) if source.word(end) == "and" else None
        if more and source.starts(more[1], "in it", "on it", "inside it", "in them", "on them"):
            # "The pan with an egg and a spoon in it".
            noun.holding.append(inner)
            inner, end = more
        after = source.longest(end, _INSIDE_IT)
        if after and is_room(noun) and source.word(end) == "on":
            # "Take the tray to the kitchen with everything on it".
            return 0
        placed = any(p[-1] == source.word(noun.start - 1) for p in PREPOSITIONS)
        held = inner.definite or source.word(inner.start) == "the"
        within = source.word(end).startswith("in") or is_hollow(noun.kind)
        if (after and placed and not held and within) or (
            more and not after and source.word(at) == "containing"
        ):
            # "Put the cup in the sink with a fork in it", "a pot containing a fork and a knife".
            raise source.ask(AskReason.WHICH, at, after or (more[1] if more else end))
        if inner.kind.endswith("knife") and _CUTTING & set(source.words[:at]) and not after:
            # "Slice the pear on the table with the knife".
            return 0
        if not after and source.word(at) == "with":
            # "On the table with the vase"; not "set the table with the plates".
            # "A pot with a potato slice to the sink"; not "... with a knife and a fork".
            vessel = noun.kind in VESSELS and not held and inner.kind not in LIQUIDS and (
                self._source.word(end) in CLAUSE_ENDS or self.place(end) is not None
            )  # fmt: skip
            joined = self._source.word(end) in ("and", ",")
            if (not vessel or joined) and not (
                placed and (is_furniture(noun) or is_room(noun)) and held
            ):
                return 0
        noun.holding.append(inner)
        return after or end

    def _relative(self, at: int, noun: Noun) -> int:
        source = self._source
        if source.word(at) == "," and source.word(at + 1) == "which":
            end = self._relative(at + 1, noun)
            return end + (source.word(end) == ",") if end else 0
        i = at + (source.word(at) in ("that", "which", "who"))
        word = source.word(i)
        if word in _SUBJECTS:
            return self._left_behind(i + 1, noun)
        generic = noun.kind == "thing" and noun.count is Amount.ALL and i == at
        loose = source.word(noun.start) in ("whatever", "whichever") and word in ("is", "are")
        if i == at and not loose and not (generic and word in ("'s", "is", "are", "you", "i")):
            return 0
        if source.starts(i, "need", "needs") and (state := _NEEDS.get(source.word(i + 1))):
            noun.states.append(state)
            return i + 2
        if word not in _LINKING:
            return 0
        singular = word in ("is", "'s", "was", "lies", "stands", "sits", "has")
        if word in ("are", "were", "lie", "stand", "sit", "have") and noun.count == 1:
            return 0
        if singular and noun.plural and noun.kind != "thing":
            return 0
        if source.word(i + 1) == "been":
            i += 1
        elif word in ("has", "have"):
            return 0
        known = len(noun.states)
        end = self._predicate(i + 1, noun, negated=False)
        end = source.longest(end, LENGTHS) or end
        if len(noun.states) > known:
            noun.clause = (at, end)
        return end

    def _predicate(self, at: int, noun: Noun, *, negated: bool) -> int:
        """States and places after "that is"."""
        source = self._source
        i = at
        if source.word(i) == "not":
            negated, i = True, i + 1
        while source.word(i) in _ADVERBS - _POSITIONS and not source.starts(i, "next to"):
            i += 1
        if source.word(i) in _POSITIONS:
            return self._participle(i, noun)
        if end := self._state_word(i, noun, negated=negated):
            if source.word(end) == "and":
                end = self._state_word(end + 1, noun, negated=negated) or end
            wheres, after = self.located(end)
            if wheres:
                noun.where += grouped(wheres, unsure=True)
            return after
        if negated:
            return self._is_none_of(i, noun)
        wheres, end = self.located(i)
        if not wheres:
            return 0
        noun.where += grouped(wheres, unsure=True)
        return end

    def _is_none_of(self, at: int, noun: Noun) -> int:
        """Reads "(a fruit that is not) a pear or an apple"; 0 if that is no thing."""
        if (found := self.noun(at)) is None or not found[0].kind or found[0].definite:
            return 0
        found[0].count = Amount.ALL
        noun.but.append(found[0])
        more = self._is_none_of(found[1] + 1, noun) if self._source.word(found[1]) == "or" else 0
        return more or found[1]

    def _state_word(self, at: int, noun: Noun, *, negated: bool) -> int:
        source = self._source
        word = source.word(at)
        if word in ("on", "off") and self.place(at) is None:
            noun.states.append("powered on" if (word == "on") is not negated else "powered off")
            return at + 1
        match = source.match(at)
        for sense in match.senses if match else ():
            if sense.part is Part.STATE:
                state = opposite(sense.word) if negated else sense.word
                if not state or match is None:
                    return 0
                noun.states.append(state)
                return at + match.length
            if sense.part is Part.COLOR and match is not None and not negated:
                noun.color = Color(sense.word)
                return at + match.length
        return 0

    def _participle(self, at: int, noun: Noun) -> int:
        """Reads "Lying on the floor"."""
        source = self._source
        if source.word(at) not in _POSITIONS:
            return 0
        if source.word(at) == "put" and at == noun.end and is_furniture(noun):
            # "Open the microwave put in the knife" lacks a full stop.
            return 0
        i = at + 1
        while source.word(i) in _ADVERBS | {"behind", "out"} and not self.place(i):
            i += 1
        wheres, end = self.located(i)
        if not wheres:
            return i if source.word(i - 1) in ("around", "about") else 0
        noun.where += grouped(wheres, unsure=True)
        return end

    def _left_behind(self, at: int, noun: Noun) -> int:
        """Reads "(The phone) I left in the kitchen", "you can find on the shelf"."""
        source = self._source
        i = at
        while source.word(i) in _HAVING:
            i += 1
        going_on = source.word(i) in ("was", "were", "am", "are") and (
            source.word(i + 1).endswith("ing") and source.word(i + 1) not in _POSITIONS
        )
        if going_on or source.word(i) in _OWNED:
            # "The novel I was reading": which one that is nobody else knows.
            i += 1 + going_on
            return i if source.word(i) in CLAUSE_ENDS | _BE or self.place(i) else 0
        if source.word(i) not in _LEFT:
            return 0
        i += 1
        while source.word(i) in _ABOUT:
            i += 1
        wheres, end = self.located(i)
        if wheres:
            noun.where += grouped(wheres, unsure=True)
            return end
        return i if source.word(i - 1) in ("find", "see", "first") else 0


_OPPOSITES = {
    "open": "closed", "clean": "dirty", "filled": "empty", "powered on": "powered off",
    "dusted": "dusty", "cooked": "uncooked", "sliced": "unsliced", "toasted": "untoasted",
    "watered": "unwatered", "boiled": "unboiled",
}  # fmt: skip
_OPPOSITES |= {other: state for state, other in _OPPOSITES.items()}


def opposite(state: str) -> str:
    """The word for the other value of a state; empty if it has none."""
    return _OPPOSITES.get(state, "")
