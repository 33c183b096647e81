"""Checks of a reading: whether it can be satisfied, and accounts for all words of its text."""

from __future__ import annotations

from collections import Counter

from planner.language.clause_words import SHALL_BE, TO_DO
from planner.language.drafts import Act, Do, Noun, Way, nouns_within
from planner.language.english import (
    ARTICLES,
    BEFORE_THAT,
    FILLERS,
    FIRST,
    FOR_SOMEBODY,
    NUMBERS,
    PREPOSITION_WORDS,
    THE,
    THEN,
    phrases,
    table,
    words,
)
from planner.language.goal_form import (
    Description,
    Goal,
    Leave,
    Make,
    Move,
    Never,
    Place,
    Prepare,
    Tell,
)
from planner.language.lexicon import (
    Actor,
    Amount,
    Part,
    Relation,
    Sense,
    Spot,
    built_in,
    can_be,
    plural_of,
    too_big,
)
from planner.language.modifiers import opposite
from planner.language.ordering import Order, same
from planner.language.places import BY_SIDE, is_furniture, is_room
from planner.language.reading import STOPS, AlreadyTrue, AskReason, Refused, Source
from planner.language.verbs import verbs_at


def check(source: Source, order: Order) -> None:
    """Checks all requests.

    Raises:
        Refused: with the outcome.
    """
    for mention in order.mentions:
        if mention.taken:
            raise source.ask(AskReason.WHERE, mention.start, mention.end)
    _unused(source, order)
    for do in (*order.requests, *order.throughout):
        _vague(source, do)
        _untempered(source, do)
        if do.heats and not any(do.heats in on.things for on in order.requests):
            raise source.unknown(do.start, do.end)
        _for_another(source, do)
        brings = do.who is Actor.SPEAKER and "bring" in source.words[do.start : do.end]
        if brings and do.act is Act.MOVE and any(w.anchor is Spot.ME for w in do.to):
            # "You bring the chairs and I will bring the table".
            raise source.ask(AskReason.WHERE, do.start, do.end)
        _unmeasured(source, do)
        _unfit(source, do)
        _already(source, do)
    for guard in order.throughout:
        for do in order.requests:
            if _forbids(guard, do):
                raise source.impossible("contradiction", do.start, max(do.end, guard.end))


def _forbids(guard: Do, do: Do) -> bool:
    """Whether a request does what another forbids."""
    if not any(same(a, b) for a in guard.things for b in do.things):
        return False
    if guard.act is Act.LEAVE:
        return do.act is Act.MOVE
    if do.act is Act.MAKE:
        return bool(set(guard.states) & set(do.states))
    return any(
        one.relation is other.relation and _one_place(one.anchor, other.anchor)
        for one in guard.to
        for other in do.to
    )


def _untempered(source: Source, do: Do) -> None:
    """Refuses "slice the heated potato": only what is moved is made hot or cold first."""
    for phrase in (*do.things, *(where.anchor for where in do.to)):
        for noun in nouns_within(phrase):
            if noun.heated is not None:
                raise source.unknown(noun.start, noun.end)


def _unused(source: Source, order: Order) -> None:
    """Refuses what introduces things of which no request speaks."""
    used = {
        id(noun)
        for do in (*order.requests, *order.throughout)
        for phrase in (*do.things, *do.only_if, *do.unless, *do.tools, *(w.anchor for w in do.to))
        for noun in nouns_within(phrase)
    }
    for mention in order.mentions:
        about = [
            id(noun)
            for phrase in (*mention.things, *(w.anchor for w in mention.to))
            for noun in nouns_within(phrase)
        ]
        if mention.told and source.word(mention.start - 1) == "and":
            # "The cup should be on the table and the plate is next to it": the plate as well?
            about = [id(thing) for thing in mention.things if isinstance(thing, Noun)]
        if about and used.isdisjoint(about):
            raise source.unknown(mention.start, mention.end)


def _vague(source: Source, do: Do) -> None:
    for thing in do.things:
        if (
            isinstance(thing, Noun)
            and thing.kind == "thing"
            and not thing.described
            and do.act is Act.MOVE
        ):
            raise source.ask(AskReason.WHAT, thing.start, thing.end)


def _for_another(source: Source, do: Do) -> None:
    """Asks where to bring "a towel for my mother": where she is, or to the speaker."""
    if do.act is not Act.MOVE or not do.taken or any(w.anchor is not Spot.ME for w in do.to):
        return
    if end := source.longest(do.end, FOR_SOMEBODY):
        raise source.ask(AskReason.WHERE, do.start, end)


def _unmeasured(source: Source, do: Do) -> None:
    """Asks what a clean room is: rooms have no states."""
    for thing in do.things:
        if do.act is Act.MAKE and isinstance(thing, Noun) and is_room(thing):
            raise source.ask(AskReason.DONE, do.start, do.end)


def _unfit(source: Source, do: Do) -> None:
    nouns = [thing for thing in do.things if isinstance(thing, Noun)]
    if do.act is Act.MAKE and not set(map(opposite, do.states)).isdisjoint(do.states):
        raise source.impossible("contradiction", do.start, do.end)
    if do.act is Act.MAKE:
        for noun in nouns:
            if not all(can_be(noun.kind, state) for state in do.states):
                raise source.impossible("unfit", do.start, do.end)
    for where in do.to if do.act is Act.MOVE else ():
        if where.relation in (Relation.IN, Relation.ON_TOP) and isinstance(where.anchor, Noun):
            for noun in nouns:
                on_object = where.relation is Relation.IN or not is_furniture(where.anchor)
                if (
                    on_object
                    and where.anchor.kind != "floor"
                    and too_big(noun.kind, where.anchor.kind, inside=where.relation is Relation.IN)
                ):
                    raise source.impossible("unfit", do.start, do.end)
        if isinstance(where.anchor, Noun) and any(same(where.anchor, noun) for noun in nouns):
            raise source.impossible("contradiction", do.start, do.end)
    if do.act is Act.MOVE and any(is_room(n) or built_in(n.kind) for n in nouns):
        # "Take the cups from the table and the sink to the kitchen".
        raise source.ask(AskReason.WHICH, do.start, do.end)


def _already(source: Source, do: Do) -> None:
    """Refuses what the description of the things says already."""
    nouns = [thing for thing in do.things if isinstance(thing, Noun)]
    if not nouns:
        return
    if do.act is Act.MAKE:
        so = all(state in noun.states for noun in nouns for state in do.states)
    elif do.act is Act.MOVE and do.to and do.arrangement is None:
        so = all(
            any(
                (w.relation is to.relation or Relation.AT in (w.relation, to.relation))
                and w.way is not Way.FROM and _one_place(w.anchor, to.anchor)
                for w in noun.where
            )
            for noun in nouns for to in do.to
        )  # fmt: skip
    else:
        so = False
    if so:
        raise Refused(AlreadyTrue(words=(source.quote(do.start, do.end),)))


def _one_place(one: object, other: object) -> bool:
    return (
        isinstance(one, Noun) and isinstance(other, Noun)
        and (same(one, other) or (one.definite and other.definite and one.kind == other.kind
                                  and not other.described))
        and other.count is not Amount.SOME
    )  # fmt: skip


# What holds of every right reading, however its sentence is built.
#
# A rule that reads a new construction wrongly seldom leaves a word without a trace, which is what
# `accounting.py` looks for. More often an order word orders nothing, or one thing has two places.

_ORDER = words(table("order"))
# "The first", "next to", "once more", "after all".
_NOT_BEHIND = {"last": "the one", "first": "the one", "next": "the one", "before": "was were"}
_NOT_AHEAD = {"next": "to", "once": "more again", "after": "all"}
_WAITING = frozenset({"have", "get", "are", "can", "find", "come"})
_AGAIN = _ORDER | {"back", "return", "again"}


def conserve(source: Source, order: Order, passed: frozenset[int]) -> None:
    """Checks what the words must have become, whichever rules read them.

    Args:
        source: the words.
        order: what they were read as.
        passed: positions of words that ask for nothing.

    Raises:
        Refused: naming an order word that orders nothing, or asking where or which.
    """
    requests = sorted(order.requests, key=lambda do: do.start)
    _ordered(source, order, requests, passed)
    _conservation_one_place(source, requests)
    for do in requests:
        _listed(source, do)


def _ordered(source: Source, order: Order, requests: list[Do], passed: frozenset[int]) -> None:
    """An order word stands between, before or behind requests of different steps."""
    if len(requests) < 2:
        return
    for at in range(source.size):
        if source.word(at) not in _ORDER or at in passed or not _says_when(source, at):
            continue
        if any(noun.start <= at < noun.end for do in requests for noun in _nouns(do)):
            # "Whichever mug you find first".
            continue
        if len(near := _near(requests, at, source.word(at))) > 1 and (
            len({order.step_of(do) for do in near}) < 2
        ):
            raise source.unknown(at, at + 1)


def _near(requests: list[Do], at: int, word: str) -> list[Do]:
    """The requests that an order word can order: around it, or all after "first"."""
    ahead = [do for do in requests if do.start >= at]
    around = [do for do in requests if do.start < at <= do.end]
    behind = [do for do in requests if do.end < at]
    if around or not ahead:
        return [*behind[-1 if around else -2 :], *around, *ahead[:1]]
    return [*behind[-1:], *(ahead if word == "first" else ahead[:2])]


def _says_when(source: Source, at: int) -> bool:
    word = source.word(at)
    if source.longest(at, FILLERS):
        return False
    if word == "when" and source.word(at + 1) == "you" and source.word(at + 2) in _WAITING:
        # "When you have a second".
        return False
    return (
        source.word(at - 1) not in _NOT_BEHIND.get(word, "").split()
        and source.word(at + 1) not in _NOT_AHEAD.get(word, "").split()
    )


def _nouns(do: Do) -> list[Noun]:
    return [noun for thing in do.things for noun in nouns_within(thing)]


def _conservation_one_place(source: Source, requests: list[Do]) -> None:
    """A thing is not moved again, or given a state again, unless a word says so."""
    placed: dict[int, Do] = {}
    made: dict[tuple[int, str], Do] = {}
    for do in requests:
        for thing in do.things:
            if do.act is Act.MOVE and do.who is None and _supported(do):
                if _unexplained(source, placed.get(id(thing)), do):
                    raise source.ask(AskReason.WHERE, do.start, do.end)
                placed[id(thing)] = do
            if do.act is not Act.MAKE:
                continue
            # "Take it to the sink, wash it, and put it on the shelf".
            placed.pop(id(thing), None)
            for state in do.states:
                if _unexplained(source, made.get((id(thing), state)), do):
                    raise source.ask(AskReason.WHICH, do.start, do.end)
                made[id(thing), state] = do


def _supported(do: Do) -> bool:
    """Whether a request says what a thing is in or on, and not only what it is next to."""
    return not do.tempers and any(where.relation not in BY_SIDE for where in do.to)


def _unexplained(source: Source, first: Do | None, again: Do) -> bool:
    if first is None or again.arrangement is not None:
        # "Bring them to the table and stack them on the counter".
        return False
    end = again.end
    while source.word(end) and source.word(end) not in STOPS:
        end += 1
    if _AGAIN & set(source.words[first.start : end]):
        return False
    rooms = [where.anchor for where in first.to]
    if all(any(to.anchor is room for room in rooms) for to in again.to):
        # Said twice.
        return False
    within = [where.anchor for to in again.to if isinstance(to.anchor, Noun)
              for where in to.anchor.where]  # fmt: skip
    # "Bring them to the office and put the cups on the table": on the one in the office.
    return not (rooms and all(any(room is one for one in within) for room in rooms))


def _listed(source: Source, do: Do) -> None:
    """Of "the puzzle and the game on the table", moved elsewhere: which are on the table?"""
    nouns = [thing for thing in do.things if isinstance(thing, Noun)]
    if do.act is not Act.MOVE or not do.to or len(nouns) < 2:
        return
    last = nouns[-1]
    if any(noun.where for noun in nouns[:-1]):
        return
    for where in last.where:
        behind = where.way is Way.STATIC and where.start >= last.end
        if behind and any(to.start >= where.end and to.way is Way.STATIC for to in do.to):
            raise source.ask(AskReason.WHICH, where.start, where.end)


# Checks that a goal accounts for the words of the text it was read from.
#
# Reading rules may pass over words. A noun, colour, number, quantifier, negation, condition or
# order word that left no trace in the goal was not understood, so it is named instead of being
# ignored.

_NEGATIVE = words("not never no without none nothing neither nor except unless excluding")
_HARMLESS = (
    phrases(table("harmless"))
    | FILLERS | TO_DO | SHALL_BE
)  # fmt: skip
_ORDERED = (THEN | FIRST | BEFORE_THAT) - phrases("next|last|second|third|later|to start")
# Exclamations, unless what is done to somebody or something follows.
_CALLS = phrases("wait|wake up|listen|love|hurry")
_CONDITIONAL = words("if unless provided")
_RESTRICTING = words("other others remaining else rest")
_DISTRIBUTIVE = words("each every")
_UNSUPPORTED = words(table("unsupported"))
# Adjectives that only praise or blame, unless the other stands beside them.
_CONTRASTS = {"old": "new", "new": "old"}
_OBLIGING = words("should must ought shall please never except unless instead")
_WISHING = words("want wants prefer")
_RELATIONS = {
    "under": Relation.UNDER, "underneath": Relation.UNDER, "beneath": Relation.UNDER,
    "below": Relation.UNDER, "behind": Relation.BEHIND, "beside": Relation.NEXT_TO,
    "between": Relation.NEXT_TO, "alongside": Relation.NEXT_TO,
}  # fmt: skip
_SPEAKER = phrases("i will|i am going to|i shall|let me|while i|my job is|my part is")
_ACCOUNTING_ORDER = words("before after once")
# How a state may be said that the goal has the opposite of: "must not be on".
_OPPOSITE_WORDS = {
    "powered off": "on", "powered on": "off", "closed": "open", "open": "closed",
    "clean": "dirty", "dusted": "dusty", "filled": "empty",
}  # fmt: skip
_IDLE = words("can light thing things play room side top way place one home house hand time spot")


class Accounting:
    """Compares the words of a text with a goal.

    Args:
        source: the words.
        goal: what they were read as.
        passed: positions of words that ask for nothing, such as reasons.
        remarks: those of them that were passed over.
    """

    def __init__(
        self, source: Source, goal: Goal, passed: frozenset[int], remarks: frozenset[int]
    ) -> None:
        self._source = source
        self._passed = passed
        self._remarks = remarks
        self._requests = goal.requests
        self._steps = goal.steps
        found = tuple(goal.phrases())
        self._described = [it for it in found if isinstance(it, Description)]
        self._places: list[Place] = [p for it in self._described for p in it.where]
        self._states = {state for it in self._described for state in it.states}
        for request in self._requests:
            if isinstance(request, Move | Never):
                self._places += request.to
            if isinstance(request, Make | Never):
                self._states |= set(request.states)
        self._kinds = {it.kind for it in self._described}
        self._kind_words = {word for kind in self._kinds for word in kind.split()}
        self._kind_words |= {plural_of(word) for word in self._kind_words}
        self._kind_words |= {word for state in self._states for word in state.split()}
        self._kind_words |= {
            word
            for it in self._described
            for worn in it.wears
            for name in (worn, plural_of(worn))
            for word in name.replace("-", " ").split()
        }
        self._looks = {
            str(look) for it in self._described for look in (it.color, it.material, it.size) if look
        }

    def check(self) -> None:
        """Compares everything.

        Raises:
            Refused: naming the first words that the goal ignores.
        """
        source, i = self._source, 0
        self._check_remarks()
        for place in (p for it in self._described for p in it.where):
            if place.anchor in (Spot.USUAL, Spot.BACK, Spot.ELSEWHERE):
                # "..., that is where it belongs" describes nothing.
                raise source.unknown(0, source.size)
        numbers = Counter(
            it.count for it in self._described if isinstance(it.count, int)
        ) + Counter(r.people for r in self._requests if isinstance(r, Prepare) and r.people)
        while i < source.size:
            if i in self._passed or not source.tokens[i].is_word:
                i += 1
                continue
            if end := source.longest(i, _ORDERED):
                if not self._ordered():
                    raise source.unknown(i, end)
                i = end
                continue
            end = source.longest(i, _CALLS)
            if end and (source.word(end) in ARTICLES or source.longest(end, FOR_SOMEBODY)):
                raise source.unknown(i, end)
            if end := source.longest(i, _HARMLESS):
                i = end
                continue
            match = source.match(i)
            length = match.length if match else 1
            if match and not self._contributes(i, length, match.senses):
                raise source.unknown(i, i + length)
            number = _number(source.word(i))
            if number > 1 and length == 1:
                counts_noun = source.match(i + 1) is not None and source.word(i - 1) != "the"
                if (
                    numbers[number] <= 0
                    if counts_noun
                    else number not in numbers and not self._is_label(i)
                ):
                    raise source.unknown(i, i + 1)
                numbers[number] -= counts_noun
            if length == 1 and not self._means(i):
                raise source.unknown(i, i + 1)
            i += length

    def _check_remarks(self) -> None:
        """Refuses what was passed over although it wishes for or forbids something.

        Raises:
            Refused: naming the words.
        """
        source = self._source
        for at in sorted(self._remarks):
            word = source.word(at)
            binds = word in _OBLIGING or (word in _WISHING and source.word(at + 1) != "to")
            if not binds or source.longest(at, FILLERS) or source.longest(at - 1, FILLERS):
                continue
            start = end = at
            while start - 1 in self._remarks and source.tokens[start - 1].is_word:
                start -= 1
            while end + 1 in self._remarks and source.tokens[end + 1].is_word:
                end += 1
            if any(self._names_thing(k) for k in range(start, end + 1)):
                raise source.unknown(start, end + 1)

    def _names_thing(self, at: int) -> bool:
        return self._source.word(at) not in _IDLE and self._source.names_kind(at)

    def _is_label(self, at: int) -> bool:
        """Whether a number only names a step, or what one is chosen from: "one of the two"."""
        before = self._source.word(at - 1)
        return self._source.word(at + 1) in (")", ".", ":") or before in THE or before == "step"

    def _contributes(self, at: int, length: int, senses: frozenset[Sense]) -> bool:
        """Whether a known phrase is in the goal, is part of a verb, or names nothing here."""
        source = self._source
        brewed = source.word(at + 1) == "of" and source.word(at + 2) in ("tea", "coffee")
        if brewed and any(isinstance(r, Prepare) for r in self._requests):
            return True
        if source.word(at) in _IDLE or any(map(self._has, senses)):
            return True
        surface = set(source.words[at : at + length])
        if surface <= self._kind_words | self._looks:
            return True
        return any(True for k in (at, at - 1, at - 2) if k >= 0 for v in verbs_at(source.words, k)
                   if k + v.length > at)  # fmt: skip

    def _has(self, sense: Sense) -> bool:
        match sense.part:
            case Part.KIND:
                return sense.word in self._kinds or set(sense.word.split()) <= self._kind_words
            case Part.STATE:
                return bool({sense.word, opposite(sense.word)} & self._states)
            case Part.ACTION:
                return True
            case _:
                return sense.word in self._looks or sense.word in self._kind_words

    def _means(self, at: int) -> bool:
        """Whether a function word that restricts what is asked for has left a trace."""
        source = self._source
        word = source.word(at)
        if word == "many" and source.word(at - 1) == "how":
            # "How many" is what is told.
            return any(isinstance(r, Tell) for r in self._requests)
        if word in _UNSUPPORTED:
            return False
        if (other := _CONTRASTS.get(word)) and other in source.words:
            # "The old newspapers in the bin, the new ones on the table".
            return False
        if word in _NEGATIVE:
            return self._negates(at)
        if word in _CONDITIONAL:
            return source.word(at + 1) == "you" or any(
                r.only_if or r.unless for r in self._requests
            )
        if word in _RESTRICTING:
            return (
                source.word(at - 1) == "each"
                or any(it.other_than or it.elsewhere or it.but for it in self._described)
                or any(place.anchor is Spot.ELSEWHERE for place in self._places)
            )
        if word in _DISTRIBUTIVE:
            return source.word(at + 1) == "other" or any(
                it.each or it.count is Amount.ALL or (isinstance(it.count, int) and it.count > 1)
                for it in self._described
            )
        if relation := _RELATIONS.get(word):
            return any(place.relation is relation for place in self._places)
        if word in _ACCOUNTING_ORDER:
            return self._ordered()
        if word == "simultaneously" or source.starts(at, "same time"):
            return len(self._steps) <= 1
        if source.longest(at, _SPEAKER):
            return any(r.who is Actor.SPEAKER for r in self._requests)
        return True

    def _negates(self, at: int) -> bool:
        """Whether the goal forbids, spares or reverses something, or it was only a contrast."""
        source = self._source
        contrast = source.word(at + 1) in THE or source.longest(at + 1, PREPOSITION_WORDS)
        taken_back = source.word(at) == "no" and source.word(at + 1) == ","
        return (
            taken_back
            or (source.word(at) == "not" and bool(contrast))
            or any(isinstance(r, Leave | Never) or r.unless for r in self._requests)
            or any(place.anchor is Spot.ELSEWHERE for place in self._places)
            or any(it.but or it.other_than for it in self._described)
            or any(_OPPOSITE_WORDS.get(state, "") in source.words for state in self._states)
        )

    def _ordered(self) -> bool:
        return len(self._steps) > 1 or sum(map(len, self._steps)) <= 1


def _number(word: str) -> int:
    return int(word[:6]) if word.isdecimal() else NUMBERS.get(word, 0)
