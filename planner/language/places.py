"""Prepositional phrases: the words that say where, and what each phrase belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from planner.language.drafts import Either, Noun, Phrase, PlaceWhere, Pronoun, Way, Where
from planner.language.english import (
    PREPOSITION_WORDS,
    PREPOSITIONS,
    THE,
    combined,
    meant,
    phrase_tables,
    phrases,
    table,
    words,
)
from planner.language.lexicon import (
    BY_HEIGHT,
    Amount,
    Arrangement,
    Relation,
    Spot,
    goes_inside,
    resting_relations,
)
from planner.language.noun_phrases import NounPhrases
from planner.language.reading import STOPS, AskReason
from planner.world.catalogue import default_word_meanings

# The words that say where: spots, arrangements, "there", and what stands before prepositions.

BEFORE_PREPOSITION = words(table("before preposition"))
SPOT_WORDS = {said: Spot(spot) for said, spot in meant(phrase_tables().spots).items()}
ARRANGEMENTS = {said: Arrangement(how) for said, how in meant(phrase_tables().arrangements).items()}
THERE = {said: Relation(relation) for said, relation in meant(phrase_tables().there).items()}
SPOT_PHRASES = frozenset(SPOT_WORDS)
ARRANGEMENT_WORDS = frozenset(ARRANGEMENTS)
THERE_WORDS = frozenset(THERE)
CLAUSE_ENDS = STOPS | {"", ",", "and", "then", "before"}
# They say nothing of where something is or goes.
ANYWHERE_AT_ALL = phrases(table("in any place"))
FROM_HERE = phrases(table("from here"))
ANOTHER_ONE = combined("another one")
_SAME_PLACE = phrases(table("same place"))
TRASH = frozenset({"trash", "garbage", "rubbish", "waste"})
SIDES = (Relation.LEFT_OF, Relation.RIGHT_OF, Relation.BEHIND, Relation.IN_FRONT_OF)
LEFT_RIGHT = (Relation.LEFT_OF, Relation.RIGHT_OF)
BY_SIDE = (Relation.NEXT_TO, Relation.UNDER, Relation.BEHIND, Relation.IN_FRONT_OF,
            Relation.LEFT_OF, Relation.RIGHT_OF)  # fmt: skip
# On it or beside it, if it is furniture.
ON_A_SIDE = (
    "on the left of", "on the right of", "on the left side", "on the right side",
    "on the left hand side", "on the right hand side",
)  # fmt: skip
_FITTING = words("better nice safe suitable good appropriate sensible dry")
_STANDING = words("is are was were stands lies sits")


class Places(NounPhrases):
    """Reads where something is, goes to, or comes from."""

    def described(self, at: int) -> tuple[Phrase, int] | None:
        """A noun phrase with what follows it closely; what reads that overrides this."""
        return self.phrase(at)

    def arrangement(self, at: int) -> tuple[Arrangement, int] | None:
        """How things lie relative to each other."""
        at += self._source.word(at) in ("neatly", "nicely", "closely")
        end = self._source.longest(at, ARRANGEMENT_WORDS)
        if not end and self._source.word(at - 1) == "them":
            # "Place them close by on the counter".
            end = self._source.starts(at, "close by") * (self._source.word(at + 2) in ("on", "in"))
            return (Arrangement.TOGETHER, end) if end else None
        if not end or (self._source.word(end - 1) == "apart" and self._source.word(end) == "from"):
            return None
        return ARRANGEMENTS[self._source.words[at:end]], end

    def located(self, at: int) -> tuple[list[Where], int]:
        """Where something is: a place without motion, with those that belong to it."""
        found: list[Where] = []
        i = at
        while one := self.place(i):
            if one[0][0].way is not Way.STATIC or (
                found and belongs(found[-1], one[0][0]) is False
            ):
                break
            found += one[0]
            i = one[1]
        return found, i

    def places(self, at: int) -> tuple[list[Where], int]:
        """All places that follow each other from a word on, also after single commas."""
        found: list[Where] = []
        i, leaving = at, False
        while True:
            if end := self._source.longest(i, FROM_HERE):
                i, leaving = end, True
                continue
            comma = bool(found) and self._source.word(i) == ","
            if self.arrangement(i + comma):
                break
            if end := self._source.longest(i, ANYWHERE_AT_ALL):
                i = end
                continue
            out_of = found and found[-1].way is Way.FROM and self._source.word(i) == "and"
            one = self.place(i + comma + bool(out_of))
            if one is None or (out_of and one[0][0].way is Way.FROM):
                break
            one[0][0].comma = comma
            found += one[0]
            i = one[1]
        to = found[0].anchor if leaving and found else None
        if isinstance(to, Noun) and is_furniture(to):
            to.elsewhere = True
        return found, i

    def place(self, at: int) -> tuple[list[Where], int] | None:
        """One place; two for "between x and y"."""
        source = self._source
        word = source.word(at)
        away_from = source.starts(at, "away from")
        if not away_from and (end := source.longest(at, SPOT_PHRASES)):
            spot = SPOT_WORDS[source.words[at:end]]
            return [Where(Relation.AT, spot, Way.TO, at, end)], end
        if found := self._place_where(at):
            return found
        if word == "wherever" and self.noun(at + 1):
            return None
        if word in ("somewhere", "anywhere", "wherever", "someplace"):
            if source.longest(at + 1, PREPOSITION_WORDS) or source.longest(at, PREPOSITION_WORDS):
                return self._preposition(at + 1) or self._preposition(at)
            end = at + 1
            while source.word(end) in _FITTING:
                end += 1
            raise source.ask(AskReason.WHERE, at, end)
        return self._between(at) or self._preposition(at) or self._there(at)

    def _place_where(self, at: int) -> tuple[list[Where], int] | None:
        """Reads "Where the laptop is"."""
        source = self._source
        i = at + (source.word(at) == "to")
        if same := source.longest(i, _SAME_PLACE):
            if (found := self.phrase(same)) is None or isinstance(found[0], Pronoun):
                return None
            return [Where(Relation.AT, PlaceWhere(found[0]), Way.TO, at, found[1])], found[1]
        if source.word(i) not in ("where", "wherever"):
            return None
        if (found := self.phrase(i + 1)) is None or source.word(found[1]) not in _STANDING:
            return None
        anchor = PlaceWhere(found[0])
        end = found[1] + 1
        if source.word(end) in ("now", "currently", "standing", "lying"):
            end += 1
        return [Where(Relation.AT, anchor, Way.TO, at, end)], end

    def _there(self, at: int) -> tuple[list[Where], int] | None:
        end = self._source.longest(at, THERE_WORDS)
        if not end and (beside := self._source.starts(at, "close by", "nearby")):
            after = self._source.word(beside)
            ends = after in CLAUSE_ENDS or self._source.longest(beside, PREPOSITION_WORDS)
            return (
                ([Where(Relation.NEXT_TO, None, Way.STATIC, at, beside)], beside) if ends else None
            )
        if not end and self._source.word(at) == "in" and self._source.word(at + 1) in CLAUSE_ENDS:
            return [Where(Relation.IN, None, Way.STATIC, at, at + 1)], at + 1
        if not end and self._source.word(at) == "back":
            return [Where(Relation.AT, Spot.BACK, Way.TO, at, at + 1)], at + 1
        if not end:
            return None
        relation = THERE[self._source.words[at:end]]
        way = Way.FROM if self._source.word(at) == "from" else Way.STATIC
        return [Where(relation, None, way, at, end)], end

    def _between(self, at: int) -> tuple[list[Where], int] | None:
        source = self._source
        if not (i := source.starts(at, "in between", "between")):
            return None
        if (first := self.described(i)) is None:
            return None
        noun, i = first
        wheres = [Where(Relation.NEXT_TO, noun, Way.STATIC, at, i)]
        if source.word(i) == "and":
            if (second := self.described(i + 1)) is None:
                return None
            wheres.append(Where(Relation.NEXT_TO, second[0], Way.STATIC, i, second[1], comma=True))
            return wheres, second[1]
        if isinstance(noun, Noun) and noun.count is Amount.ALL and source.word(noun.start) in THE:
            # "Between the sinks": there are two.
            noun.count, noun.definite = 2, True
        return (wheres, i) if isinstance(noun, Noun) and noun.count == 2 else None

    def _preposition(self, at: int) -> tuple[list[Where], int] | None:
        source = self._source
        i = at
        back = False
        while source.word(i) in BEFORE_PREPOSITION and not source.longest(i, PREPOSITION_WORDS):
            back = back or source.word(i) == "back"
            i += 1
        if not (end := source.longest(i, PREPOSITION_WORDS)):
            return None
        relation, way = PREPOSITIONS[source.words[i:end]]
        end_of_words = end
        if (found := self._anchor(end)) is None:
            return None
        anchor, end = found
        if isinstance(anchor, Noun) and (
            (relation in LEFT_RIGHT and is_room(anchor))
            or (anchor.plural and source.word(i + 2) in ("middle", "center"))
        ):
            # "The sink on the left side of the room", "in the middle of the sinks".
            return None
        if (
            isinstance(anchor, Noun)
            and source.word(end) == "or"
            and source.words[i:end_of_words] == source.words[end + 1 : end + 1 + end_of_words - i]
            and (other := self.noun(end + 1 + end_of_words - i))
        ):
            # "Either on the desk or on the shelf".
            anchor, end = Either([anchor, other[0]], end_of_words, other[1]), other[1]
        spread = source.word(end_of_words - 1) in ("around", "about", "across", "throughout")
        if spread and not (
            isinstance(anchor, Noun) and (is_room(anchor) or anchor.kind == "floor")
        ):
            return None
        if back and way is Way.STATIC:
            way = Way.TO
        if isinstance(anchor, Noun) and anchor.kind in TRASH:
            anchor.kind = "trash can"
        relation = _fitting(relation, way, anchor)
        return [Where(relation, anchor, way, at, end)], end

    def _anchor(self, at: int) -> tuple[Phrase, int] | None:
        source = self._source
        own = source.starts(
            at, "its own", "their own", "a separate", "separate", "a different", "different"
        )
        if own:
            if (found := self.noun(own)) is None:
                return None
            noun, end = found
            noun.count, noun.definite, noun.bare = 1, False, False
            if (
                source.word(own - 1) == "different"
                and source.word(end) != "each"
                and not noun.plural
            ):
                noun.elsewhere = True
            else:
                noun.each = True
            end += source.word(end) == "each"
            return noun, end
        if (first := self.described(at)) is None:
            return None
        anchor, end = first
        if isinstance(anchor, Noun):
            if anchor.bare and anchor.count == 1 and is_furniture(anchor):
                # "Take my book to bed".
                anchor.definite = True
            if after := source.longest(end, ANOTHER_ONE):
                # "To the same table, but a different one than where they are".
                anchor.elsewhere, anchor.definite, end = True, False, after
            elif after := source.starts(end, "of its own", "of their own"):
                anchor.each, end = True, after
            elif source.words[at : at + 1] == ("another",) or source.starts(
                at, "a different", "some other", "a new", "some new"
            ):
                anchor.elsewhere, anchor.other = True, False
            elif source.word(at) == "new" and not anchor.plural:
                anchor.elsewhere = True
            if (
                source.word(end) == "or"
                and (second := self.noun(end + 1))
                and self._is_place(second[0])
            ):
                return Either([anchor, second[0]], at, second[1]), second[1]
        return anchor, end

    def _is_place(self, noun: Noun) -> bool:
        return self._source.word(noun.end) not in ("is", "are") and bool(noun.kind)


def _fitting(relation: Relation, way: Way, anchor: Phrase) -> Relation:
    """Reads "To" a room is in it, "to" the floor on it."""
    if relation is Relation.AT and way is not Way.FROM and isinstance(anchor, Noun):
        if is_room(anchor):
            return Relation.IN
        if anchor.kind == "floor":
            return Relation.ON_TOP
        if way is Way.TO and goes_inside(anchor.kind):
            return Relation.IN
    if relation is Relation.IN and isinstance(anchor, Noun) and anchor.kind == "floor":
        return Relation.ON_TOP
    if relation is Relation.IN and isinstance(anchor, Noun) and is_furniture(anchor):
        # "In the kitchen table", which has no inside.
        tops = resting_relations(anchor.kind) == {Relation.ON_TOP}
        return Relation.ON_TOP if tops else relation
    if relation is Relation.ON_TOP and isinstance(anchor, Noun) and is_room(anchor):
        # "All over the bedroom".
        return Relation.IN
    return relation


def is_room(noun: Noun) -> bool:
    """Whether a noun names a room."""
    found = default_word_meanings().find(noun.kind) if noun.kind else None
    return noun.kind == "room" or bool(found and found.rooms and not found.objects)


def is_furniture(noun: Noun) -> bool:
    """Whether a noun names furniture and no object."""
    found = default_word_meanings().find(noun.kind) if noun.kind else None
    return noun.kind == "furniture" or bool(found and found.furniture and not found.objects)


def belongs(before: Where, after: Where) -> bool | None:
    """Whether a place says where the anchor of the one before it is; None if it may or may not."""
    anchor, other = before.anchor, after.anchor
    if not isinstance(anchor, Noun) or after.way is not Way.STATIC or not isinstance(other, Noun):
        return False
    if is_room(anchor):
        # "In the closet in the bedroom".
        return None if is_room(other) and after.relation is Relation.IN else False
    if is_room(other):
        return after.relation is Relation.IN
    if anchor.kind == "floor" or after.comma:
        return False
    if anchor.pick in BY_HEIGHT and after.relation is Relation.IN and is_furniture(other):
        # "Put the pear on the top shelf in the fridge".
        return True
    if anchor.kind == "shelf" and after.relation is Relation.IN and is_furniture(other):
        # "Put the pear on the shelf in the fridge".
        return None
    if is_furniture(anchor):
        if before.relation in BY_SIDE and after.relation in BY_SIDE and is_furniture(other):
            # "To the left of the couch behind the table".
            return None
        if other.kind == "floor" and after.relation is Relation.ON_TOP:
            # "In the trash can on the floor".
            return None
        return after.relation in BY_SIDE and is_furniture(other)
    return True if before.relation in BY_SIDE else None


def grouped(wheres: Sequence[Where], *, unsure: bool) -> list[Where]:
    """The places that stand for themselves; the others are added to the anchors before them.

    `unsure` is what becomes of a place that may or may not belong to the one before it.
    """
    found: list[Where] = []
    last: Where | None = None
    for where in wheres:
        if last is not None:
            sure = belongs(last, where)
            if (unsure if sure is None else sure) and isinstance(last.anchor, Noun):
                if where not in last.anchor.where:
                    last.anchor.where.append(where)
                if is_furniture(last.anchor) and isinstance(where.anchor, Noun):
                    # "The couch in the living room that has the cushions".
                    last.anchor.holding += where.anchor.holding
                    where.anchor.holding = []
                last.end = found[-1].end = where.end
                last = where
                continue
        found.append(where)
        last = where
    return found


def all_of(anchor: object) -> bool:
    """Whether an anchor is every one of a kind."""
    return isinstance(anchor, Noun) and anchor.count is Amount.ALL and anchor.each
