"""Reads questions about what is where: "how many cups are in the kitchen?"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from planner.language.drafts import Noun, Way, Where
from planner.language.english import (
    FILLERS,
    GENERIC,
    GENERIC_ONE,
    NUMBERS,
    THE,
    combined,
    phrases,
    table,
    words,
)
from planner.language.lexicon import (
    BY_HEIGHT,
    BY_SIDE,
    GENERIC_KINDS,
    Part,
    Relation,
    Sense,
    default_lexicon,
)
from planner.language.modifiers import opposite
from planner.language.places import is_room
from planner.language.reading import STOPS, Refused, Source, Token, tokens_of
from planner.language.statements import Statements
from planner.language.verbs import verbs_at

# What a question asks for, in words of the catalogue and not yet in known things.


class QuestionSort(StrEnum):
    """WHERE things are, WHAT is at a place, HOW_MANY there are, what CHANGED.

    WHETHER something is so or there, WHICH is the biggest, what LOOK things have, what was DONE.
    """

    WHERE = "where"
    WHAT = "what"
    HOW_MANY = "how many"
    CHANGED = "changed"
    WHETHER = "whether"
    WHICH = "which"
    LOOK = "look"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class AskedPlace:
    """A place that a question names.

    Attributes:
        relation: None for what somebody holds.
        words: as they were said, without an article; an entity's name such as `table_3` as it is.
        kind: of the catalogue; empty for an entity's name.
        room: the kind of room that it is said to be in; empty if none.
    """

    relation: Relation | None
    words: str
    kind: str = ""
    room: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    Attributes:
        words: what is asked for: nouns in the singular, adjectives, names, unknown words; empty
            for anything.
        kind: of the catalogue, that the last noun names; empty if unknown.
        place: where; None for anywhere.
        since_s: the time since which changes are asked for; None for all.
        last_s: how far back they are asked for, instead.
        states: of WHETHER: what the things are asked to be; of any: "not" is taken into account.
        among: states and looks that say which things are meant.
        pick: of WHICH: the superlative; of LOOK: `color` or `material`.
        position: what is told from its like by height or side, such as "top shelf"; "" = nothing.
    """

    sort: QuestionSort
    words: tuple[str, ...] = ()
    kind: str = ""
    place: AskedPlace | None = None
    since_s: float | None = None
    last_s: float | None = None
    states: tuple[str, ...] = ()
    among: tuple[str, ...] = ()
    pick: str = ""
    position: str = ""


_SUPERLATIVES = words(table("superlatives"))
_LOOKS = {"color": "color", "colour": "color", "material": "material"}
_ASKING_DONE = phrases(table("asking done"))
_BE = phrases("is|are|was|were|if|whether|is not|are not")
_EXISTING = phrases(table("existing more"))
_STARTS = words("where what which who when is are was were do does did have has how whose am")
_PERSONS = words(
    "person persons people man men woman women boy boys girl girls somebody someone anybody "
    "everybody wearing who whom whose"
)
_INVERTED = words("is are was were do does did have has am when")
_INDIRECT = words("tell show remind let can could know wonder")
_POLITE = FILLERS | phrases(table("polite"))
_WHERE = phrases(table("where"))
_WHAT = phrases(table("what"))
_HOW_MANY = phrases("how many|the number of|what number of|count|how much")
_LINKS = words(table("links"))
_ANY = words("a an any some all every of please") | THE
_UNITS = {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0,
          "hour": 3600.0}  # fmt: skip
_IN_THE_HOUSE = combined("in the house") | phrases(
    "anywhere|in total|altogether|at all|in all|overall"
)
_NEWS = words("new happened news")


def asks(text: str) -> bool:
    """Whether a text asks for something that a memory may know, and is one sentence."""
    tokens = tokens_of(text)
    said = tuple(token.word for token in tokens)
    source = Source(text, tokens, default_lexicon())
    i = 0
    told: set[str] = set()
    while end := source.longest(i, _POLITE) or (source.word(i) == "," and i + 1):
        told.update(said[i:end])
        i = end
    listed = "list" in told or source.word(i) == "count" or source.starts(i, "any idea")
    indirect = bool(told & _INDIRECT)
    begins = source.word(i) in _STARTS or (indirect and source.word(i) in ("if", "whether"))
    ended = said[-1:] == ("?",) or indirect or source.word(i) in _STARTS - _INVERTED
    stops = [word for word in said[i:-1] if word in STOPS | {","}]
    # People are in no memory yet, and "where is it, then bring it" asks for more.
    beyond = _PERSONS & set(said) or any(
        word in ("and", "then") and any(True for _ in verbs_at(said, at + 1))
        for at, word in enumerate(said)
    )
    room = "room" in said and source.longest(i, _EXISTING)
    if stops or beyond or room or not (listed or (begins and ended)):
        return False
    question = read_question(text)
    plain = question.sort is QuestionSort.WHERE
    if source.word(i) in ("what", "which", "how"):
        # "What time is it?", "how are you?"
        return not plain or bool(question.kind)
    if source.word(i) in _INVERTED - {"when"}:
        # "Is it raining?", "does it fit?"
        return not plain or bool(source.longest(i, _EXISTING | (_WHERE - phrases("is|are"))))
    return source.word(i) != "when" or bool(source.longest(i, _WHERE))


def read_question(text: str) -> Question:
    """What a text asks for; only words ask where the things are that these fit."""
    tokens = _without_house(tokens_of(text))
    reader = _Questions(Source(text, tokens, default_lexicon()))
    return replace(reader.question(), position=reader.position)


def _without_house(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The words without "in the house" and the like at their end: that is anywhere."""
    last = next((k for k in range(len(tokens), 0, -1) if tokens[k - 1].is_word), 0)
    said = tuple(token.word for token in tokens[:last])
    for start in range(1, last):
        if said[start:] in _IN_THE_HOUSE and said[:start] not in _WHAT:
            return (*tokens[:start], *tokens[last:])
    return tokens


class _Questions(Statements):
    """Reads one question."""

    position = ""

    def question(self) -> Question:
        """The question of the whole text."""
        source = self._source
        if changes := self._changes():
            return changes
        i = 0
        listing = False
        while end := source.longest(i, _POLITE) or (source.word(i) == "," and i + 1):
            listing = listing or source.word(end - 1) in ("list", "me")
            i = end
        said = source.longest(i, _ASKING_DONE)
        if said and self._ended(said):
            return Question(QuestionSort.DONE)
        if found := self._look(i) or self._picked(i) or self._whether(i):
            return found
        if end := source.longest(i, _HOW_MANY):
            found = self._about(QuestionSort.HOW_MANY, end)
            rooms = source.word(end) in ("rooms", "room")
            return replace(found, kind="room", place=None) if rooms else found
        if (end := source.longest(i, _WHAT)) or listing:
            found = self._about(QuestionSort.WHAT, end or i)
            if found.place is not None:
                return found
        return Question(QuestionSort.WHERE, *self._words(source.longest(i, _WHERE) or i))

    def _look(self, at: int) -> Question | None:
        """Reads "what color is the cup?", "which colour are the towels in the bathroom?"."""
        source = self._source
        i = at + (source.word(at) in ("what", "which"))
        made = source.starts(i, "is", "are")
        pick = _LOOKS.get(source.word(i), "")
        found = self._things(source.starts(i + 1, "is", "are") if pick else made)
        if found is None or i == at:
            return None
        named, end, place = found
        if not pick and not source.starts(end, "made of", "made from"):
            return None
        end = end if pick else end + 2
        place = place or (None if self._ended(end) else self._place_at_end(end))
        return Question(
            QuestionSort.LOOK, *named[:2], place, pick=pick or "material", among=named[2]
        )

    def _picked(self, at: int) -> Question | None:
        """Reads "which is the biggest cup?", "what is the smallest thing on the table?"."""
        source = self._source
        k = next((k for k in range(at, source.size) if source.word(k) in _SUPERLATIVES), None)
        if k is None or source.word(at) not in ("what", "which", "the"):
            return None
        found = self._about(QuestionSort.WHICH, k + 1)
        if self._ended(k + 1) or source.word(k + 1) == "one":
            # "Which cup is the biggest?"
            if (inner := self._things(at + 1)) is None:
                return None
            (named, kind, looks), _, place = inner
            found = Question(found.sort, named, kind, place or found.place, among=looks)
        return replace(found, pick=source.word(k))

    def _whether(self, at: int) -> Question | None:
        """Reads "is the oven off?", "are there cups on the table?", "tell me if the tv is on"."""
        source = self._source
        exists = source.longest(at, _EXISTING)
        start = exists or source.longest(at, _BE)
        if (asked := self._things(start) if start else None) is None:
            return None
        named, i, place = asked
        negated = source.word(start - 1) == "not"
        while source.word(i) in ("is", "are", "all", "still", "now", "already", "currently", "not"):
            negated = negated or source.word(i) == "not"
            i += 1
        states: list[str] = []
        if state := self._state(i):
            states, i = [opposite(state[0]) if negated else state[0]], state[1]
        if not self._ended(i):
            place = self._place_at_end(i)
            i = source.size if place else i
        if not self._ended(i) or not (states or place or exists) or "" in states:
            return None
        return Question(QuestionSort.WHETHER, *named[:2], place, states=(*states,), among=named[2])

    def _things(
        self, at: int
    ) -> tuple[tuple[tuple[str, ...], str, tuple[str, ...]], int, AskedPlace | None] | None:
        """Words, kind and looks of the things that stand at a word, the end, and their place."""
        try:
            found = self.described(at) if at else None
            wheres, end = self.located(found[1]) if found else ([], at)
        except Refused:
            return None
        if found is None or not isinstance(found[0], Noun):
            return None
        if found[0].kind in ("", "room", "floor"):
            return None
        noun = found[0]
        self._note_position(noun)
        looks = tuple(str(it) for it in (*noun.states, noun.color, noun.material) if it)
        place = self._asked_place(wheres, end) if wheres else None
        kind = "" if noun.kind in GENERIC_KINDS else noun.kind
        return (tuple(kind.split()), kind, looks), end, place

    def _about(self, sort: QuestionSort, at: int) -> Question:
        """What is asked for, up to a place at the end."""
        for i in range(at, self._source.size):
            if found := self._place_at_end(i):
                return Question(sort, *self._words(at, i), found)
        return Question(sort, *self._words(at))

    def _place_at_end(self, at: int) -> AskedPlace | None:
        source = self._source
        if (holder := source.starts(at, "held by")) and self._ended(holder + 1):
            return AskedPlace(None, source.word(holder))
        name = source.word(at + 1 + (source.word(at + 1) in THE))
        if "_" in name and self._ended(at + 2 + (source.word(at + 1) in THE)):
            relation = {"on": Relation.ON_TOP, "in": Relation.IN, "inside": Relation.IN,
                        "within": Relation.IN, "at": Relation.AT}.get(source.word(at))  # fmt: skip
            return AskedPlace(relation, name) if relation else None
        try:
            wheres, end = self.located(at)
        except Refused:
            return None
        return self._asked_place(wheres, end) if self._ended(end) else None

    def _asked_place(self, wheres: Sequence[Where], end: int) -> AskedPlace | None:
        """A place that was read up to a word."""
        source = self._source
        anchor = wheres[0].anchor if wheres and end else None
        if not isinstance(anchor, Noun) or wheres[0].way is Way.FROM:
            return None
        self._note_position(anchor)
        rooms = [w.anchor for w in (*anchor.where, *wheres[1:])]
        room = next((n.kind for n in rooms if isinstance(n, Noun) and is_room(n)), "")
        said = source.words[anchor.start : anchor.end]
        spoken = " ".join(word for word in said if word not in _ANY)
        return AskedPlace(wheres[0].relation, spoken, anchor.kind, room)

    def _note_position(self, noun: Noun) -> None:
        if noun.nth or noun.pick in BY_HEIGHT | BY_SIDE:
            said = self._source.words[noun.start : noun.end]
            self.position = " ".join(word for word in said if word not in THE)

    def _ended(self, at: int) -> bool:
        return all(not token.is_word for token in self._source.tokens[at:])

    def _words(self, start: int, end: int | None = None) -> tuple[tuple[str, ...], str]:
        """Names, nouns, adjectives and unknown words; and the kind that the last noun names."""
        source = self._source
        kind = ""
        found: list[str] = []
        i = start
        stop = source.size if end is None else end
        while i < stop:
            match = source.match(i)
            word = source.word(i)
            if match is not None and i + match.length <= stop:
                kinds = sorted((s for s in match.senses if s.part is Part.KIND), key=_order)
                kind = kinds[0].word if kinds else kind
                said = [s.word for s in kinds[:1] if s.plural] or source.words[i : i + match.length]
                found += [part for phrase in said for part in phrase.split()]
                i += match.length
                continue
            if not (word in _ANY | _LINKS | GENERIC | GENERIC_ONE or word in STOPS | {","}):
                found += word.split("_")
            i += 1
        named = tuple(word for word in found if word not in GENERIC_KINDS | {"things"})
        return named, "" if kind in GENERIC_KINDS else kind

    def _changes(self) -> Question | None:
        """Reads "What changed in the last two minutes?"."""
        source = self._source
        said = [w for w in source.words if w.startswith("chang") or w in _NEWS]
        if not said:
            return None
        for i, word in enumerate(source.words):
            if word not in ("since", "last"):
                continue
            negative = source.word(i + 1) in ("-", "--")
            number = source.word(i + 1 + negative)
            amount = float(NUMBERS[number]) if number in NUMBERS else _float(number)
            unit = source.word(i + 1 + negative + (amount is not None))
            unit_s = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s"))
            if word == "last" and unit_s:
                return Question(QuestionSort.CHANGED, last_s=(amount or 1.0) * unit_s)
            if word == "since" and amount is not None:
                sign = -1.0 if negative else 1.0
                return Question(QuestionSort.CHANGED, since_s=sign * amount * (unit_s or 1.0))
        return Question(QuestionSort.CHANGED) if "what" in source.words else None


def _order(sense: Sense) -> tuple[bool, str]:
    return not sense.plural, sense.word


def _float(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
