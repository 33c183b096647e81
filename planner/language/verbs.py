"""The verbs of instructions, their inflection, and what each asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from planner.language.english import Words, phrase_tables, table, words


class Frame(StrEnum):
    """What follows a verb and what it asks for.

    PUT needs a place, also one without motion; CARRY a place of arrival; FETCH comes to the speaker
    if no place is named; PICK only takes something, for what is said next. VAGUE has no measure of
    success.
    """

    PUT = "put"
    CARRY = "carry"
    FETCH = "fetch"
    PICK = "pick"
    GIVE = "give"
    TRASH = "trash"
    BIN = "bin"
    AWAY = "away"
    CLEAR = "clear"
    UNLOAD = "unload"
    LOAD = "load"
    MAKE = "make"
    FILL = "fill"
    EMPTY = "empty"
    POUR = "pour"
    SWITCH = "switch"
    CAUSE = "cause"
    KEEP = "keep"
    FIND = "find"
    GO = "go"
    LEAVE = "leave"
    TOUCH = "touch"
    SET_TABLE = "set table"
    TIDY = "tidy"
    BREW = "brew"
    STACK = "stack"
    SWAP = "swap"
    HANDLE = "handle"
    VAGUE = "vague"
    CHECK = "check"
    HEAT = "heat"
    COOL = "cool"
    MEET = "meet"
    TELL = "tell"
    ANSWER = "answer"
    EXAMINE = "examine"
    FOLLOW = "follow"
    GUIDE = "guide"


class Form(StrEnum):
    """Inflections."""

    BASE = "base"
    THIRD = "third"
    ING = "ing"
    PAST = "past"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb in a frame; `state` is the word of the form for what MAKE reaches.

    `particles` may stand behind the verb or behind the object without changing it.
    """

    base: str
    frame: Frame
    state: str = ""
    particles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Found:
    """A verb in a text: which, in which inflections, and how many words of it."""

    verb: Verb
    forms: frozenset[Form]
    length: int


# Base forms by frame; a particle that belongs to the verb follows it.
_FRAMES = {Frame(name): bases for name, bases in phrase_tables().verbs.items()}
_STATES = phrase_tables().verbs_of_states
_PARTICLES = frozenset({"up", "down", "over", "out", "back", "off", "away", "around", "on", "in"})
_IRREGULAR: Mapping[str, tuple[str, ...]] = {
    entry.partition(":")[0]: tuple(entry.partition(":")[2].split("/"))
    for entry in words(table("irregular"))
}
_VOWELS = frozenset("aeiou")
# Longer verbs are only words of the vocabulary.
_MAX_WORDS = 3


def _doubles(word: str) -> bool:
    """Whether an ending doubles the last letter: "putting", "popped"."""
    last = word[-3:]
    return (
        word == "transfer" or word == "bin"
        or (len(word) <= 4 and len(last) == 3 and last[1] in _VOWELS and last[0] not in _VOWELS
            and last[2] not in _VOWELS | frozenset("wxy"))
    )  # fmt: skip


def inflected(word: str) -> Iterator[tuple[str, Form]]:
    """A verb of one word in all of its forms."""
    yield word, Form.BASE
    yield word + ("es" if word.endswith(("s", "sh", "ch", "x", "o", "z")) else "s"), Form.THIRD
    stem = word + word[-1] if _doubles(word) else word
    if word.endswith("e") and word not in ("be", "see"):
        yield word[:-1] + "ing", Form.ING
    else:
        yield stem + "ing", Form.ING
    if word in _IRREGULAR:
        for past in _IRREGULAR[word]:
            yield past, Form.PAST
    elif word.endswith("e"):
        yield word + "d", Form.PAST
    elif word.endswith("y") and word[-2] not in _VOWELS:
        yield word[:-1] + "ied", Form.PAST
    else:
        yield stem + "ed", Form.PAST
    if word.endswith("y") and word[-2] not in _VOWELS:
        yield word[:-1] + "ies", Form.THIRD


@lru_cache(maxsize=1)
def _table() -> dict[Words, list[tuple[Verb, Form]]]:
    verbs = [Verb(base, frame) for frame, bases in _FRAMES.items() for base in bases.split("|")]
    verbs += [
        Verb(base, Frame.MAKE, state)
        for state, bases in _STATES.items()
        for base in bases.split("|")
    ]
    found: dict[Words, list[tuple[Verb, Form]]] = {}
    for verb in verbs:
        words = verb.base.split()
        # "Go and get" bends its last verb, "pick up" its first word.
        head = (
            len(words) - 1
            if words[0] == "go" and words[-1] in ("get", "fetch", "grab", "find")
            else 0
        )
        for bent, form in inflected(words[head]):
            key = (*words[:head], bent, *words[head + 1 :])
            found.setdefault(key, []).append((verb, form))
    return found


def state_of_split(base: str, particle: str) -> str:
    """What a verb reaches whose particle stands behind the object: "shut it down"; or empty."""
    for verb, _ in _table().get((base, particle), ()):
        if verb.frame is Frame.MAKE:
            return verb.state
    return ""


@lru_cache(maxsize=1)
def verb_words() -> frozenset[str]:
    """Every word of every form of every verb."""
    return frozenset(word for phrase in _table() for word in phrase)


@lru_cache(maxsize=1)
def _found() -> tuple[dict[Words, tuple[Found, ...]], dict[str, tuple[int, ...]]]:
    """The verbs of each phrase, and how long phrases are by first word, the longest first."""
    found: dict[Words, tuple[Found, ...]] = {}
    lengths: dict[str, set[int]] = {}
    for phrase, bent in _table().items():
        if len(phrase) > _MAX_WORDS:
            continue
        several: dict[Verb, set[Form]] = {}
        for verb, form in bent:
            several.setdefault(verb, set()).add(form)
        found[phrase] = tuple(
            Found(verb, frozenset(forms), len(phrase)) for verb, forms in several.items()
        )
        lengths.setdefault(phrase[0], set()).add(len(phrase))
    return found, {word: tuple(sorted(some, reverse=True)) for word, some in lengths.items()}


def verbs_at(words: Words, start: int) -> Iterator[Found]:
    """The verbs that begin at a word, the longest first."""
    found, lengths = _found()
    if 0 <= start < len(words):
        for length in lengths.get(words[start], ()):
            yield from found.get(words[start : start + length], ())
