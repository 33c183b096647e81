"""Reads questions about what is where: "how many cups are in the kitchen?"."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.language.drafts import Noun, Way
from planner.language.english import FILLERS, GENERIC, GENERIC_ONE, NUMBERS, THE, phrases, words
from planner.language.lexicon import GENERIC_KINDS, Part, Relation, Sense, default_lexicon
from planner.language.places import is_room
from planner.language.reading import STOPS, Refused, Source, tokens_of
from planner.language.statements import Statements

# What a question asks for, in words of the catalogue and not yet in known things.


class QuestionSort(StrEnum):
    """WHERE things are, WHAT is at a place, HOW_MANY there are, what CHANGED."""

    WHERE = "where"
    WHAT = "what"
    HOW_MANY = "how many"
    CHANGED = "changed"


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
    """

    sort: QuestionSort
    words: tuple[str, ...] = ()
    kind: str = ""
    place: AskedPlace | None = None
    since_s: float | None = None
    last_s: float | None = None


_POLITE = FILLERS | phrases(
    "tell me|show me|let me know|i want to know|do you know|can you tell me|could you tell me|and"
    "|do you remember|remind me|i wonder|what about|i am looking for|i would like to know|list"
    "|can you see|can you find|can you show me|could you find"
)
_WHERE = phrases(
    "where is|where are|where was|where were|where did i put|where did i leave|where did you put"
    "|where did you see|where can i find|where do i find|where have you seen|where has"
    "|where do we keep|where|is there|are there|do you see|have you seen|did you see|find|locate"
    "|which is|who has|who holds|do we have|have we got|is|are"
)
_WHAT = phrases(
    "what is|what are|what things are|what objects are|what items are|what do you see|what lies"
    "|what can you see|what do we have|what have we got|what|which|who is|who|everything|anything"
    "|all|every|things|objects"
)
_HOW_MANY = phrases("how many|the number of|what number of|count|how much")
_LINKS = words("is are was were there do does you see we have that which now currently still lying")
_ANY = words("a an any some all every of please") | THE
_UNITS = {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0,
          "hour": 3600.0}  # fmt: skip
_NEWS = words("new happened news")


def read_question(text: str) -> Question:
    """What a text asks for; only words ask where the things are that these fit."""
    tokens = tokens_of(text)
    return _Questions(Source(text, tokens, default_lexicon())).question()


class _Questions(Statements):
    """Reads one question."""

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
        if end := source.longest(i, _HOW_MANY):
            return self._about(QuestionSort.HOW_MANY, end)
        if (end := source.longest(i, _WHAT)) or listing:
            found = self._about(QuestionSort.WHAT, end or i)
            if found.place is not None:
                return found
        return Question(QuestionSort.WHERE, *self._words(source.longest(i, _WHERE) or i))

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
        anchor = wheres[0].anchor if wheres else None
        if not self._ended(end) or not isinstance(anchor, Noun) or wheres[0].way is Way.FROM:
            return None
        rooms = [w.anchor for w in (*anchor.where, *wheres[1:])]
        room = next((n.kind for n in rooms if isinstance(n, Noun) and is_room(n)), "")
        said = source.words[anchor.start : anchor.end]
        spoken = " ".join(word for word in said if word not in _ANY)
        return AskedPlace(wheres[0].relation, spoken, anchor.kind, room)

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
