"""Checks that a goal accounts for the words of the text it was read from.

Reading rules may pass over words. A noun, colour, number, quantifier, negation, condition or order
word that left no trace in the goal was not understood, so it is named instead of being ignored.
"""

from __future__ import annotations

from collections import Counter

from planner.language.english import (
    ARTICLES,
    BEFORE_THAT,
    FILLERS,
    FIRST,
    FOR_SOMEBODY,
    NUMBERS,
    PREPOSITION_WORDS,
    SHALL_BE,
    THE,
    THEN,
    TO_DO,
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
from planner.language.lexicon import Actor, Amount, Part, Relation, Sense, Spot, plural_of
from planner.language.modifiers import opposite
from planner.language.reading import Source
from planner.language.verbs import verbs_at

_NEGATIVE = words("not never no without none nothing neither nor except unless excluding")
_HARMLESS = phrases(table("harmless")) | FILLERS | TO_DO | SHALL_BE
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
_RELATIONS = {"behind": Relation.BEHIND}
_RELATIONS |= dict.fromkeys(words("under underneath beneath below"), Relation.UNDER)
_RELATIONS |= dict.fromkeys(words("beside between alongside"), Relation.NEXT_TO)
_SPEAKER = phrases("i will|i am going to|i shall|let me|while i|my job is|my part is")
_ORDER = words("before after once")
_LOOKING = words("examine inspect look view")
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
        bare = source.word(at - 1) not in THE | ARTICLES and source.word(at + 1).endswith("s")
        if (other := _CONTRASTS.get(word)) and (other in source.words or bare):
            # "Put new books on the shelf"; "the old hats in the bin, the new ones on the bed".
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
            # "Examine the pen under a lamp": next to it, when it is on.
            lit = word == "under" and "powered on" in self._states and _LOOKING & {*source.words}
            return bool(lit) or any(place.relation is relation for place in self._places)
        if word in _ORDER:
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
