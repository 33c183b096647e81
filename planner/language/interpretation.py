"""An instruction becomes a goal or a reason why not; short answers to questions about it."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pydantic import ValidationError

from planner.language.accounting import Accounting
from planner.language.checks import check, conserve
from planner.language.discourse import Discourse
from planner.language.doubts import doubt
from planner.language.drafts import Act, Do, Emission, Noun, Way, Where
from planner.language.english import (
    NUMBERS,
    PICK_WORDS,
    PICKS,
    PRIVATE_ADJECTIVES,
    THE,
    phrases,
    table,
    words,
)
from planner.language.goal_form import Description, Form, Goal, Place
from planner.language.lexicon import Actor, Amount, Relation, default_lexicon, includes
from planner.language.noun_phrases import listed_first, sentences_apart, with_verbs
from planner.language.nouns import describe
from planner.language.places import grouped, is_furniture, is_room
from planner.language.reading import (
    STOPS,
    Ask,
    AskReason,
    NoCommand,
    NoCommandReason,
    NotUnderstood,
    Reading,
    Refused,
    Source,
    Token,
    tokens_of,
)
from planner.language.remarks import known, no_command, rejoined, respelled, reworded
from planner.language.repairs import repaired, without_hesitation
from planner.language.text import Text

_ASKING = frozenset({"where", "what", "who", "why", "whose"})
_ASKED = frozenset({("did",), ("is",), ("are",), ("was",), ("were",), ("have",), ("has",), ("do",)})


def interpret(text: str) -> Reading:
    """The meaning of an instruction.

    It asks or refuses rather than guesses: every word must be covered by some rule.
    """
    return interpret_all(text)[0]


def interpret_all(text: str, *, sure: bool = False) -> tuple[Reading, tuple[str, ...]]:
    """The meaning of an instruction, and the words of a goal's text that ask for nothing.

    `sure`: what may be a statement ("the cup in the sink") is known to be an instruction.
    """
    raw = without_hesitation(tokens_of(text))
    if screened := no_command(text, raw):
        return screened, ()
    tokens = listed_first(reworded(rejoined(_once(tuple(_spelled(token) for token in raw)))))
    found = _found(text, tokens, sure)
    parted = sentences_apart(tokens) if isinstance(found[0], NotUnderstood) else tokens
    again = _found(text, parted, sure) if parted != tokens else found
    return again if isinstance(again[0], Goal) else found


def _once(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The words without an article or preposition that is written twice: "to the the table"."""
    small = THE | {"a", "an", "to", "in", "on", "of", "and"}
    pairs = zip(("", *(token.word for token in tokens)), tokens, strict=False)
    return tuple(token for before, token in pairs if not (token.word == before and before in small))


def _found(text: str, tokens: tuple[Token, ...], sure: bool) -> tuple[Reading, tuple[str, ...]]:
    try:
        return _read(text, tokens, sure)
    except Refused as refused:
        return _reason_of(refused, text, tokens), ()


def _reason_of(refused: Refused, text: str, tokens: tuple[Token, ...]) -> Reading:
    """The outcome of a text that reading ended in."""
    if isinstance(refused.reading, Ask) and _asks_where(tokens):
        return NoCommand(reason=NoCommandReason.QUESTION)
    unknown = [
        t for before, t in itertools.pairwise(tokens)
        if t.is_word and not known(t.word) and before.word in THE
    ]  # fmt: skip
    if unknown and isinstance(refused.reading, Ask) and _is_pronoun(refused.reading):
        # "My wazzle is on the bed, bring it to me".
        return NotUnderstood(words=tuple(text[t.start : t.end] for t in unknown))
    return refused.reading


def _is_pronoun(ask: Ask) -> bool:
    return ask.reason is AskReason.WHAT and {word.lower() for word in ask.words} <= {"it", "them"}


def _asks_where(tokens: tuple[Token, ...]) -> bool:
    """Whether a text is one question: "where did I leave my glasses?"."""
    said = tuple(token.word for token in tokens)
    marks = [word for word in said if word in STOPS]
    return said[0] in _ASKING and said[1:2] in _ASKED and marks == ["?"]


def spelled(text: str) -> tuple[Token, ...]:
    """The words and marks of a text, with misspelled words corrected where only one is near."""
    return tuple(_spelled(token) for token in tokens_of(text))


def _spelled(token: Token) -> Token:
    word = respelled(token.word) if token.is_word else token.word
    return token if word == token.word else Token(word, token.start, token.end)


def _read(text: str, tokens: tuple[Token, ...], sure: bool) -> tuple[Reading, tuple[str, ...]]:
    source = repaired(with_verbs(Source(text, tokens, default_lexicon())))
    reader = Text(source)
    failed = reader.read()
    if failed is not None:
        return _failed(source, reader, failed), ()
    order = reader.order
    order.finish()
    if not order.steps and not order.throughout:
        return reader.nothing(), ()
    if all(do.who is Actor.SPEAKER for do in (*order.requests, *order.throughout)):
        return NoCommand(reason=NoCommandReason.CHAT), ()
    check(source, order)
    try:
        goal = Emission().goal(order.steps, order.throughout)
    except ValidationError:
        # What the form cannot say is not done.
        return NotUnderstood(words=(text.strip(),)), ()
    Accounting(reader.source, goal, reader.passed, reader.remarks).check()
    conserve(reader.source, order, reader.passed)
    doubt(reader.source, order, sure=sure)
    return goal, reader.outside()


def _failed(source: Source, reader: Text, failed: int) -> Reading:
    """The outcome of a text that no rule covers from a position on."""
    text = source.text
    unknown = [t for t in source.tokens if t.is_word and not known(t.word)]
    vague = [t for t in source.tokens if t.word in ("wherever", "somewhere", "someplace")]
    if vague:
        return Ask(words=(text[vague[0].start : vague[0].end],), reason=AskReason.WHERE)
    if reader.is_question(failed):
        return NoCommand(reason=NoCommandReason.QUESTION)
    if unknown:
        return NotUnderstood(words=tuple(text[t.start : t.end] for t in unknown))
    return NotUnderstood(words=(source.quote(culprit := reader.culprit(failed), culprit + 1),))


def suggestions(reading: Reading) -> dict[str, tuple[str, ...]]:
    """Known words that are spelled like those that were not understood."""
    if not isinstance(reading, NotUnderstood):
        return {}
    words = {word for phrase in reading.words for word in phrase.lower().split() if not known(word)}
    found = {word: default_lexicon().near(word) for word in sorted(words)}
    return {word: near for word, near in found.items() if near}


# What a short answer to a question about an instruction means: "the kitchen one", "both".

_YES = phrases(table("yes"))
_NO = phrases(table("no"))
_ANY = phrases(table("any"))
_ALL = phrases(table("all"))
_ORDINALS = {word: k for k, word in enumerate(["first", "second", "third", "fourth", "fifth"], 1)}
_ORDINALS |= {"former": 1, "latter": -1, "last": -1}
_OPENINGS = phrases(table("openings"))
_CLOSINGS = words(table("closings"))


class AnswerSort(StrEnum):
    """How an answer decides a question.

    THINGS: these things; PLACES: there; ALL, ANY: of those asked about; OPTION: by its number in
    the question; YES; NO: none, or do not do it; INSTRUCTION: a new one in place of the old;
    UNCLEAR: none of these, so ask again.
    """

    THINGS = "things"
    PLACES = "places"
    ALL = "all"
    ANY = "any"
    OPTION = "option"
    YES = "yes"
    NO = "no"
    INSTRUCTION = "instruction"
    UNCLEAR = "unclear"


MAX_WORDS = 40
_FIXED = {AnswerSort.YES: _YES, AnswerSort.NO: _NO, AnswerSort.ANY: _ANY, AnswerSort.ALL: _ALL}


@dataclass(frozen=True, slots=True)
class Answer:
    """What an answer means.

    Attributes:
        things: for THINGS, ALL and ANY what was asked about, as the answer says: `{the: cup,
            in: {the: kitchen}}` for "the kitchen one".
        places: for PLACES.
        option: for OPTION, from 1; -1 is the last.
        goal: the instruction as the answer completes it, where words alone decide that.
    """

    sort: AnswerSort
    things: Description | None = None
    places: tuple[Place, ...] = ()
    option: int | None = None
    goal: Goal | None = None


def read_answer(instruction: str, ask: Ask, text: str) -> Answer:
    """Reads an answer to a question that the instruction led to."""
    tokens = spelled(text)
    if not 0 < len(tokens) <= MAX_WORDS:
        return Answer(AnswerSort.UNCLEAR)
    reader = _Reader(Source(text, tokens, default_lexicon()))
    asked = _Asked(instruction, ask)
    said = tuple(token.word for token in tokens if token.is_word)
    sort = fixed_answer(said)
    if sort is AnswerSort.YES and ask.reason is AskReason.MEANT:
        meant = interpret_all(instruction, sure=True)[0]
        return Answer(sort, goal=meant if isinstance(meant, Goal) else None)
    if sort:
        things = asked.amount(sort)
        goal = asked.goal_with(things) or (asked.completed(text) if things is None else None)
        return Answer(sort, things, goal=goal)
    if count := NUMBERS.get(said[0]) if said[1:] in (("of", "them"), ("of", "those")) else None:
        things = asked.amount(AnswerSort.ANY, count)
        return Answer(AnswerSort.ANY, things, goal=asked.goal_with(things))
    if option := _option(said):
        return Answer(AnswerSort.OPTION, option=option)
    try:
        noun, wheres = reader.things(), reader.wheres()
        if ask.reason is AskReason.DONE:
            pass
        elif ask.reason is AskReason.WHERE:
            if places := asked.places(noun, wheres):
                short = f"the {text}" if noun is not None and noun.bare else text
                return Answer(AnswerSort.PLACES, places=places, goal=asked.completed(short, places))
        elif things := asked.narrowed(noun, wheres):
            goal = asked.goal_with(things) or asked.completed(text)
            return Answer(AnswerSort.THINGS, things, goal=goal)
    except (Refused, ValidationError):
        pass
    whole = interpret(text)
    goal = whole if isinstance(whole, Goal) else asked.completed(text)
    goal = None if goal == interpret(instruction) else goal
    return Answer(AnswerSort.INSTRUCTION if goal else AnswerSort.UNCLEAR, goal=goal)


def fixed_answer(said: tuple[str, ...]) -> AnswerSort | None:
    """Whether an answer is yes, no, any or all; None if it says more."""
    closed = said[:-1] if said[-1:] and said[-1] in _CLOSINGS else said
    return next((sort for sort, texts in _FIXED.items() if said in texts or closed in texts), None)


def _option(said: tuple[str, ...]) -> int | None:
    """Reads "the first one", "number two", "2"."""
    rest = tuple(word for word in said if word not in ("the", "one", "number", "option"))
    if len(rest) != 1:
        return None
    (word,) = rest
    if word in _ORDINALS:
        return _ORDINALS[word]
    if word.isdecimal() and len(word) < 3:
        return int(word)
    return NUMBERS.get(word) if "number" in said or "option" in said else None


class _Reader(Text):
    """Reads things or places that are a whole answer."""

    def things(self) -> Noun | None:
        """Things; without a kind if it is left out: "the red one", "dirty"."""
        for at in self._starts():
            found = self.described(at)
            if found is not None and isinstance(found[0], Noun):
                wheres, end = self.located(found[1])
                if self._ends_at(end):
                    if found[0].bare and not found[0].plural:
                        # "Kitchen" is short for "the kitchen".
                        found[0].definite = True
                    found[0].where += grouped(wheres, unsure=True)
                    return found[0]
            noun = Noun("", at, at, definite=True)
            i = self._elliptic(at + (self._source.word(at) in THE), noun)
            if noun.described and self._ends_at(i):
                return noun
        return None

    def _elliptic(self, at: int, noun: Noun) -> int:
        """Reads "red", "the biggest", "on the left", "that I used": the noun is left out."""
        i = at
        if picked := self._source.longest(i, PICK_WORDS):
            noun.pick = PICKS[self._source.words[i:picked]]
            i = picked
        while (sense := self._adjective(i)) and (match := self._source.match(i)):
            describe(noun, sense)
            i += match.length
        return self._after(i, noun)

    def wheres(self) -> list[Where]:
        """Places; empty if the answer is none."""
        for at in self._starts():
            found, end = self.places(at)
            if found and self._ends_at(end):
                return grouped(found, unsure=True)
        return []

    def _starts(self) -> Iterator[int]:
        """Where the answer itself may begin, after "I mean" and the like."""
        end = 0
        while True:
            yield end
            comma = self._source.word(end) == ","
            after = self._source.longest(end, _OPENINGS) or (end + 1 if comma else 0)
            if not after:
                return
            end = after

    def _ends_at(self, at: int) -> bool:
        ends = STOPS | _CLOSINGS | {","}
        return all(word in ends for word in self._source.words[at:])


class _Asked:
    """What was asked about, and what an answer makes of it."""

    def __init__(self, instruction: str, ask: Ask) -> None:
        self._instruction, self._ask = instruction, ask
        words = ask.words[0]
        about = words
        if words in PRIVATE_ADJECTIVES:
            # "My favourite cup" is one of the cups.
            self._instruction = instruction.replace(f"{words} ", "", 1)
            about = f"the {instruction.partition(words)[2]}"
        self._base = _first_noun(about)

    def amount(self, sort: AnswerSort, count: int = 0) -> Description | None:
        """All or any of what was asked about; yes and no have no things."""
        if sort not in (AnswerSort.ALL, AnswerSort.ANY) or self._base is None:
            return None
        noun = copy.copy(self._base)
        noun.definite = False
        if sort is AnswerSort.ALL:
            noun.count = Amount.ALL
        elif count or noun.count is Amount.ALL:
            noun.count = count or 1
        return _written(noun)

    @staticmethod
    def places(noun: Noun | None, wheres: list[Where]) -> tuple[Place, ...]:
        """Where to: the places of the answer, or the place that it names."""
        if noun is not None and noun.kind:
            wheres = [_at(Relation.AT, noun, Way.TO)]
        about = Do(Act.MOVE, [], 0, 0, wheres)
        Discourse(Source("", (), default_lexicon())).accept(about)
        return Emission().places(about.to)

    def narrowed(self, noun: Noun | None, wheres: list[Where]) -> Description | None:
        """What was asked about with what the answer adds; None if that is nothing."""
        base = self._base
        if noun is None and not wheres:
            return None
        if base is None:
            return _written(noun) if noun and noun.kind else None
        if noun is not None and (not noun.kind or _overlap(base.kind, noun.kind)):
            found = _merged(base, noun)
        elif noun is not None and not (is_furniture(noun) or is_room(noun)):
            found = noun
        else:
            found = copy.copy(base)
            anchor = wheres or [_at(Relation.AT, noun, Way.STATIC)] if noun else wheres
            found.where = [*base.where, *anchor]
        things = _written(found)
        return None if things == _written(base) else things

    def goal_with(self, things: Description | None) -> Goal | None:
        """The goal of the instruction with other things for those asked about."""
        plain = interpret(self._instruction)
        if things is None or self._base is None or not isinstance(plain, Goal):
            return None
        old = _dumped(plain)
        new = _replaced(old, _dumped(_written(self._base)), _dumped(things))
        return Goal.model_validate(new) if new != old else None

    def completed(self, text: str, places: tuple[Place, ...] = ()) -> Goal | None:
        """The goal of the instruction with the answer's words in it, and things at its places."""
        anchors = [place.anchor for place in places]
        for whole in self._with_answer(text.strip().rstrip(".!")):
            found = interpret(whole)
            if isinstance(found, Goal) and all(anchor in found.phrases() for anchor in anchors):
                return found
        return None

    def _with_answer(self, answer: str) -> Iterator[str]:
        words = self._ask.words[0]
        whole = words[0].isupper() or words == self._instruction.strip(" .!?")
        if self._ask.reason is AskReason.DONE or whole:
            # The words are a whole clause: "Move the lamp".
            yield f"{self._instruction} {answer}"
            for to in ("", "to ", "in "):
                yield f"{self._instruction.rstrip('.!?')} {to}{answer}"
                yield f"{self._instruction} Put it {to}{answer}."
                yield f"{self._instruction} Put them {to}{answer}."
            return
        for found in re.finditer(rf"\b{re.escape(words)}\b", self._instruction):
            head, tail = self._instruction[: found.start()], self._instruction[found.end() :]
            if words in answer:
                # "The apples in the bowl", of "put the apples in the bowl on the counter".
                yield f"{head}that are {words}{tail}"
                yield f"{head}that is {words}{tail}"
            yield f"{head}{answer}{tail}"
            if words.partition(" ")[2] in answer:
                yield f"{head}{words} that is{tail}"
            for to in ("to ", "in "):
                yield f"{head}{to}{answer}{tail}"


def _first_noun(text: str) -> Noun | None:
    source = Source(text, spelled(text), default_lexicon())
    for at in range(source.size):
        try:
            found = Text(source).described(at)
        except Refused:
            continue
        if found is not None and isinstance(found[0], Noun) and found[0].kind:
            return found[0]
    return None


def _overlap(kind: str, other: str) -> bool:
    return includes(kind, other) or includes(other, kind)


def _merged(base: Noun, noun: Noun) -> Noun:
    """An answer's noun with what the question said of it."""
    found = copy.copy(noun)
    found.kind = noun.kind or base.kind
    found.color = noun.color or base.color
    found.material = noun.material or base.material
    found.size, found.pick = noun.size or base.size, noun.pick or base.pick
    found.states = list(dict.fromkeys([*base.states, *noun.states]))
    found.where = [*base.where, *noun.where]
    if not noun.plural and noun.count == 1:
        found.count, found.definite = base.count, base.definite
    return found


def _at(relation: Relation, noun: Noun, way: Way) -> Where:
    """A place at an anchor; in it if that is a room."""
    relation = Relation.IN if is_room(noun) else relation
    return Where(relation, noun, way, noun.start, noun.end)


def _written(noun: Noun) -> Description:
    """A noun by itself as a description."""
    about = Do(Act.MENTION, [copy.deepcopy(noun)], 0, 0)
    Discourse(Source("", (), default_lexicon())).accept(about)
    found = Emission().phrase(about.things[0])
    if not isinstance(found, Description):
        raise Refused(NotUnderstood(words=(noun.kind,)))
    return found


def _dumped(record: Form) -> object:
    return record.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _replaced(node: object, old: object, new: object) -> object:
    """A dumped goal with another description in place of one, under the same label."""
    if isinstance(node, dict):
        label = {key: value for key, value in node.items() if key == "as"}
        if {key: value for key, value in node.items() if key != "as"} == old and isinstance(
            new, dict
        ):
            return new | label
        return {key: _replaced(value, old, new) for key, value in node.items()}
    return [_replaced(item, old, new) for item in node] if isinstance(node, list) else node
