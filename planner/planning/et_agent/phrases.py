"""Reads the wording of tasks whose nouns nobody has listed, by verbs and prepositions alone.

`planner.language` reads the catalogue's words; the graphs of other simulators have classes such as
`dishwashingliquid`, and relations such as facing, that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.planning.et_agent.errand import Errand, Sought, Where
from planner.planning.et_agent.words import is_room_word


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
