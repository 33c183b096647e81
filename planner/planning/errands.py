"""Reads a task by rules: its errands, and the classes of things that words mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from planner.language.goal_form import (
    Anchor,
    Description,
    Find,
    Go,
    Goal,
    Mention,
    Move,
    NounPhrase,
    OneOf,
    Place,
)
from planner.language.interpretation import interpret
from planner.language.lexicon import Relation, Spot
from planner.world.catalogue import default_catalogue, default_word_meanings

# What a task asks for, in words: what to find and where to put it (ETPLAN-2.4).


class Where(StrEnum):
    """How a thing stands to another one, as the relations of ETPLAN-3.1."""

    INSIDE = "inside"
    ON = "on"
    CLOSE = "close to"
    FACING = "facing"


@dataclass(frozen=True, slots=True)
class Sought:
    """One thing, piece of furniture or room that the words name.

    Attributes:
        word: its class in words, such as `apple` or `kitchen table`.
        where: how it stands to `anchor`; None if nothing is said about that.
        anchor: what it stands in relation to; None if nothing is said about that.
    """

    word: str
    where: Where | None = None
    anchor: Sought | None = None

    def __str__(self) -> str:
        """As `apple inside fridge`."""
        if self.where is None or self.anchor is None:
            return self.word
        return f"{self.word} {self.where} {self.anchor}"


@dataclass(frozen=True, slots=True)
class Errand:
    """One part of a task: to find something, and, if it has a `place`, to put it there.

    Attributes:
        target: what to find.
        where: INSIDE or ON `place`; None where the words leave it open, or nothing is to be put.
        place: where to put it; None = it only has to be found.
    """

    target: Sought
    where: Where | None = None
    place: Sought | None = None


# Which classes of things a word of a task means: by its spelling, then by the catalogue.

_NO_LETTER = re.compile(r"[^0-9a-z]+")


@lru_cache(maxsize=4096)
def spelled(word: str) -> str:
    """The letters and digits of a word, so that `Living room` and `livingroom` are the same."""
    return _NO_LETTER.sub("", word.casefold())


@lru_cache(maxsize=4096)
def meant(word: str) -> frozenset[str]:
    """The spellings of all classes that a word means.

    A class of the catalogue, or a word that it does not know, means itself; other words what the
    catalogue says, such as `sofa` a couch, and then also what is spelled like them.
    """
    own = spelled(word)
    if own in _catalogued():
        return frozenset({own})
    found = default_word_meanings().find(word)
    if found is None:
        return frozenset({own, *_singulars(own)})
    classes = found.objects | found.furniture | found.rooms
    return frozenset({own, *map(spelled, classes)})


def is_meant(class_name: str, word: str) -> bool:
    """Whether an entity of a class is what a word means."""
    return spelled(class_name) in meant(word)


def is_room_word(word: str) -> bool:
    """Whether a word means a kind of room, as far as the catalogue knows."""
    return not meant(word).isdisjoint(_room_classes())


@lru_cache
def _catalogued() -> frozenset[str]:
    catalogue = default_catalogue()
    names = (*catalogue.objects, *catalogue.furniture, *catalogue.rooms)
    return frozenset(spelled(name) for name in names)


@lru_cache
def _room_classes() -> frozenset[str]:
    return frozenset(spelled(name) for name in default_catalogue().rooms)


def _singulars(word: str) -> frozenset[str]:
    endings = (("ies", "y"), ("es", ""), ("s", ""))
    return frozenset(word.removesuffix(e) + new for e, new in endings if word.endswith(e))


# Reads the wording of tasks whose nouns nobody has listed, by verbs and prepositions alone.
#
# `planner.language` reads the catalogue's words; the graphs of other simulators have classes such
# as `dishwashingliquid`, and relations such as facing, that it does not know.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MOVING = _words(
    "put place move carry take set transport store bring pour drop leave stack load transfer "
    "deposit return nest tuck relocate deliver"
)
_FINDING = _words(
    "find locate where look search go walk give get fetch show spot reach close approach "
    "navigate head track see hand pass seek discover"
)
# "And stop next to it" adds nothing.
_STAYING = frozenset({"stop", "stand", "stay", "wait", "halt"})
_VERBS = _MOVING | _FINDING | _STAYING
_FILLER = _words(
    "the a an this that some any my your our its which who is are be please can could would you i "
    "we me us for to now there where's both together them standing located lying placed sitting "
    "currently kept want need like up down out over of let lets hey robot have"
)
_PRONOUNS = frozenset({"it", "them", "both", "these", "those"})
# Phrases of a relation, the longest first; those that say where to begin with a direction.
_RELATIONS: tuple[tuple[tuple[str, ...], Where, bool], ...] = (
    (("on", "top", "of"), Where.ON, False),
    (("close", "to"), Where.CLOSE, False),
    (("next", "to"), Where.CLOSE, False),
    (("turned", "to"), Where.FACING, False),
    (("inside", "of"), Where.INSIDE, False),
    (("facing",), Where.FACING, False),
    (("faces",), Where.FACING, False),
    (("inside",), Where.INSIDE, False),
    (("within",), Where.INSIDE, False),
    (("into",), Where.INSIDE, True),
    (("onto",), Where.ON, True),
    (("near",), Where.CLOSE, False),
    (("beside",), Where.CLOSE, False),
    (("by",), Where.CLOSE, False),
    (("from",), Where.INSIDE, False),
    (("in",), Where.INSIDE, False),
    (("on",), Where.ON, False),
)
# "With what is in it" asks for nothing more: what lies in a thing comes along.
_CONTENTS = re.compile(
    r",?\s*\b(?:together |along )?(?:with|and|including) "
    r"(?:its contents?|(?:what|whatever|all|everything|anything)"
    r"(?:'s| that's|(?: that| which)? is)? (?:in|inside|within|on) (?:it|them))\b,?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w'-]+|[.;:,!?]")
_ENDS = frozenset(".;:!?")


@dataclass(frozen=True, slots=True)
class _Link:
    """A relation between two noun phrases; `towards` where it says where something goes."""

    where: Where
    towards: bool


def read_phrases(text: str) -> tuple[Errand, ...]:
    """The parts of a task; empty if no verb of it is known.

    Pronouns mean what was last spoken of: after something was put somewhere, that place.
    """
    errands: list[Errand] = []
    for verb, words in _clauses(text):
        if verb in _MOVING:
            errands = [*_merged(errands, words)]
        elif verb not in _STAYING:
            found = _sought(_parts(words))
            if found is not None:
                errands.append(Errand(found))
    return tuple(errands)


def without_contents(text: str) -> str:
    """The text without words that only say that what is in or on a thing comes along."""
    return _CONTENTS.sub("", text)


def _clauses(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each verb with the words up to the next verb."""
    verb, starts = "", True
    words: list[str] = []
    for word in _WORD.findall(text.casefold()):
        known = word in _VERBS and not (verb and word == "close")
        if known and (starts or not verb):
            if verb:
                yield verb, words
            verb, words, starts = word, [], False
        elif word in _ENDS or word in ("then", "and", "afterwards", "before", "after", ","):
            starts = True
            words.append("," if word in _ENDS or word != "and" else word)
        else:
            starts = starts and word in _FILLER
            words.append(word)
    if verb:
        yield verb, words


def _merged(errands: list[Errand], words: Sequence[str]) -> Iterator[Errand]:
    parts = _parts(words, moved=True)
    nouns = [part for part in parts if isinstance(part, str)]
    split = _destination(parts)
    link = None if split is None else parts[split]
    if split is None or not isinstance(link, _Link) or not nouns:
        yield from errands
        return
    where, place = link.where, _sought(parts[split + 1 :])
    sources = parts[:split]
    if sources and isinstance(sources[0], str) and set(sources[0].split()) <= _PRONOUNS:
        meant = errands[-1] if errands else None
        if meant is None or place is None:
            yield from errands
        elif meant.place is not None:
            # "It" is what something was just put into.
            yield from errands
            yield Errand(Sought(meant.place.word), where, place)
        else:
            loose = [each for each in errands if each.place is None]
            yield from (each for each in errands if each.place is not None)
            yield from (Errand(each.target, where, place) for each in loose)
        return
    yield from errands
    if place is None:
        return
    for target in _several(sources):
        again = errands[-1].place if errands else None
        named = Sought(target.word) if again is not None and again.word == target.word else target
        yield Errand(named, where, place)


def _destination(parts: Sequence[str | _Link]) -> int | None:
    """The index of the relation that says where things go."""
    links = [i for i, part in enumerate(parts) if isinstance(part, _Link)]
    towards = [i for i in links if _towards(parts[i])]
    if towards:
        return towards[0]
    # A room at the end says where the place is, unless nothing else does.
    inner = [i for i in links if not _names_room(parts, i)]
    return inner[-1] if inner else (links[0] if links else None)


def _towards(part: str | _Link) -> bool:
    return isinstance(part, _Link) and part.towards


def _names_room(parts: Sequence[str | _Link], link: int) -> bool:
    after = parts[link + 1] if link + 1 < len(parts) else ""
    return isinstance(after, str) and is_room_word(after)


def _parts(words: Sequence[str], *, moved: bool = False) -> list[str | _Link]:
    """Noun phrases and the relations between them; the words of a phrase without articles.

    `moved`: whether something goes somewhere, so that "to" says where.
    """
    parts: list[str | _Link] = []
    noun: list[str] = []

    def end_noun() -> None:
        while noun and noun[-1] in (",", "and", "of"):
            noun.pop()
        while noun and noun[0] in (",", "and"):
            noun.pop(0)
        if noun:
            parts.append(" ".join(noun))
        noun.clear()

    index = 0
    while index < len(words):
        link = next(
            (r for r in _RELATIONS if tuple(words[index : index + len(r[0])]) == r[0]), None
        )
        if link is not None and (noun or parts):
            end_noun()
            if not (parts and isinstance(parts[-1], _Link)):
                parts.append(_Link(link[1], link[2]))
            index += len(link[0])
            continue
        word = words[index]
        # "To the table" says where, but not whether on or in it.
        if word == "to" and noun and moved:
            end_noun()
            parts.append(_Link(Where.ON, towards=True))
        elif word not in _FILLER or word in _PRONOUNS or (word == "of" and noun):
            # "Of" belongs to names such as "chest of drawers".
            noun.append(word)
        elif word == "can" and (noun or words[:index][-1:] in (["a"], ["the"])):
            # A watering can; in "can you" nothing comes before it.
            noun.append(word)
        index += 1
    end_noun()
    while parts and isinstance(parts[-1], _Link):
        parts.pop()
    return parts


def _several(parts: Sequence[str | _Link]) -> list[Sought]:
    """The things of a list, each with what is said about it."""
    lists: list[list[str | _Link]] = [[]]
    for part in parts:
        if isinstance(part, _Link):
            lists[-1].append(part)
            continue
        first, *more = re.split(r"\s*(?:,|\band\b)\s*", part)
        lists[-1].append(first)
        lists += [[each] for each in more if each]
    return [found for each in lists if (found := _sought(each)) is not None]


def _sought(parts: Sequence[str | _Link]) -> Sought | None:
    """A noun phrase with its relations, each of which is about the phrase before it."""
    if not parts or not isinstance(parts[0], str):
        return None
    word = parts[0].split(",")[0].strip()
    if len(parts) > 2 and isinstance(parts[1], _Link):
        anchor = _sought(parts[2:])
        if anchor is not None:
            return Sought(word, parts[1].where, anchor)
    return Sought(word) if word else None


_WHERE = {Relation.IN: Where.INSIDE, Relation.ON_TOP: Where.ON, Relation.NEXT_TO: Where.CLOSE}
_SPEAKER = frozenset({Spot.ME, Spot.HERE})


@lru_cache(maxsize=1024)
def read_errands(text: str) -> tuple[Errand, ...]:
    """Reads a task, the same each time; no errands where its words were not understood."""
    text = without_contents(text)
    # "Where is it? Go there" goes to the place that a question names, by the rules of language.
    asks = text.casefold().lstrip().startswith("where")
    return (() if asks else _by_language(text)) or read_phrases(text)


def only_sought(text: str) -> Sought | None:
    """What a task only asks to find; None if it was not understood or asks for more."""
    errands = read_errands(text)
    return errands[0].target if len(errands) == 1 and errands[0].place is None else None


class _CannotError(Exception):
    """The goal form says something that a task of this benchmark does not."""


def _by_language(text: str) -> tuple[Errand, ...]:
    found = interpret(text)
    if not isinstance(found, Goal):
        return ()
    labels: dict[str, Sought] = {}
    errands: list[Errand] = []
    try:
        for step in found.steps:
            for request in step:
                if not _goes_where_it_is(request, errands, labels):
                    errands += _errands(request, labels)
    except _CannotError:
        return ()
    return tuple(_joined(errands))


def _joined(errands: Sequence[Errand]) -> Iterator[Errand]:
    """What is found before it is moved is part of moving it, with what is said about it."""
    moved = {errand.target.word for errand in errands if errand.place is not None}
    found: dict[str, Sought] = {}
    for errand in errands:
        word = errand.target.word
        if errand.place is None and word in moved:
            found[word] = errand.target
        else:
            yield replace(errand, target=found.pop(word, errand.target))


def _goes_where_it_is(
    request: object, errands: Sequence[Errand], labels: dict[str, Sought]
) -> bool:
    """Whether "go there" only means where the thing is that was to be found before."""
    if not isinstance(request, Go) or len(request.to) != 1 or not errands:
        return False
    anchor = errands[-1].target.anchor
    return anchor is not None and _reading_sought(request.to[0].anchor, labels).word == anchor.word


def _errands(request: object, labels: dict[str, Sought]) -> Iterator[Errand]:
    if isinstance(request, Find):
        yield from (Errand(_reading_sought(thing, labels)) for thing in request.things)
    elif isinstance(request, Go) and len(request.to) == 1:
        yield Errand(_reading_sought(request.to[0].anchor, labels))
    elif isinstance(request, Move) and len(request.to) == 1:
        place = request.to[0]
        if place.anchor in _SPEAKER:
            # "Bring me" asks to find it (ETPLAN-2.4).
            yield from (Errand(_reading_sought(thing, labels)) for thing in request.things)
            return
        where = _WHERE.get(place.relation)
        if where is None and place.relation is not Relation.AT:
            raise _CannotError
        things = [_reading_sought(thing, labels) for thing in request.things]
        goes = _reading_sought(place.anchor, labels)
        yield from (Errand(thing, where, goes) for thing in things)
    else:
        raise _CannotError


def _reading_sought(phrase: NounPhrase | Anchor, labels: dict[str, Sought]) -> Sought:
    if isinstance(phrase, Mention):
        known = labels.get(phrase.label)
        if known is None:
            raise _CannotError
        return Sought(known.word)
    if isinstance(phrase, OneOf):
        return _reading_sought(phrase.one_of[0], labels)
    if not isinstance(phrase, Description) or phrase.count != 1:
        raise _CannotError
    made = Sought(str(phrase.kind))
    for place in phrase.where[:1]:
        made = _related(made, place, labels)
    if phrase.label is not None:
        labels[phrase.label] = made
    return made


def _related(made: Sought, place: Place, labels: dict[str, Sought]) -> Sought:
    where = _WHERE.get(place.relation)
    if where is None:
        raise _CannotError
    return Sought(made.word, where, _reading_sought(place.anchor, labels))
