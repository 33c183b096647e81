"""The closed word classes of the form of a goal, and which words of the catalogue it accepts."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from typing import Annotated

from pydantic import AfterValidator

from planner.world.catalogue import word_key
from planner.world.states import default_states
from planner.world.word_meanings import default_word_meanings

# Nouns that stand for no class: any object, any furniture, any room, the floor of a room.
GENERIC_KINDS = frozenset({"thing", "furniture", "room", "floor"})
# Not a state of the catalogue, but of whatever has a door, drawer or lid.
JOINT_STATES = ("open", "closed")


class Amount(StrEnum):
    """A count that is not a number: every one, more than none, at least three."""

    ALL = "all"
    SOME = "some"
    FEW = "few"


class Bound(StrEnum):
    """How a count is meant."""

    EXACTLY = "exactly"
    AT_LEAST = "at_least"
    AT_MOST = "at_most"


class Relation(StrEnum):
    """Where something is relative to an anchor; AT leaves it to the kind of anchor."""

    ON_TOP = "on_top"
    IN = "in"
    AT = "at"
    NEXT_TO = "next_to"
    UNDER = "under"
    BEHIND = "behind"
    IN_FRONT_OF = "in_front_of"
    LEFT_OF = "left_of"
    RIGHT_OF = "right_of"


class Spot(StrEnum):
    """Places that are not described.

    ME is the speaker, HERE where the speaker is, BACK where the things were before the
    instruction, USUAL where such things belong, ELSEWHERE anywhere but where they are.
    """

    ME = "me"
    HERE = "here"
    BACK = "back"
    USUAL = "usual"
    ELSEWHERE = "elsewhere"


class Size(StrEnum):
    """Sizes, relative to others of the kind."""

    BIG = "big"
    SMALL = "small"
    TALL = "tall"
    SHORT = "short"


class Pick(StrEnum):
    """Which one of several, by comparison; distances are from the speaker or a given anchor."""

    NEAREST = "nearest"
    FARTHEST = "farthest"
    BIGGEST = "biggest"
    SMALLEST = "smallest"
    LEFTMOST = "leftmost"
    RIGHTMOST = "rightmost"


class Arrangement(StrEnum):
    """How things of one request are placed relative to each other."""

    TOGETHER = "together"
    APART = "apart"
    STACKED = "stacked"


class Actor(StrEnum):
    """Who shall do it."""

    ROBOT = "robot"
    SPEAKER = "speaker"


class Occasion(StrEnum):
    """A purpose that stands for several requests."""

    SET_TABLE = "set_table"
    TIDY = "tidy"
    MAKE_COFFEE = "make_coffee"
    MAKE_TEA = "make_tea"


@cache
def _known_kind(word: str) -> str:
    if word in GENERIC_KINDS:
        return word
    found = default_word_meanings().find(word) if default_word_meanings().knows(word) else None
    if word != word_key(word) or found is None:
        raise ValueError(f"unknown kind {word!r}; expected a singular word of the catalogue")
    if not (found.objects or found.furniture or found.rooms):
        raise ValueError(f"{word!r} is not a kind of object, furniture or room")
    if room := _leading_room(word):
        raise ValueError(f"{word!r}: expected the room {room!r} as a place of its own (in)")
    return word


def _leading_room(word: str) -> str:
    """The room that a piece of furniture is named after: `kitchen` in "kitchen counter"."""
    meanings = default_word_meanings()
    for cut, letter in enumerate(word):
        room = meanings.find(word[:cut]) if letter == " " else None
        piece = meanings.find(word[cut + 1 :])
        if room and room.rooms and piece and piece.furniture:
            return word[:cut]
    return ""


def _known_state(word: str) -> str:
    known = (*default_states().by_word(), *JOINT_STATES)
    if word not in known:
        raise ValueError(f"unknown state {word!r}; expected one of {', '.join(known)}")
    return word


Kind = Annotated[str, AfterValidator(_known_kind)]
"""A noun in the singular: a name, alias or group of the catalogue, a word of words.yaml for
classes, or a generic kind. The noun stays as said ("sofa", "mug"): what it covers is the
catalogue's answer."""
StateWord = Annotated[str, AfterValidator(_known_state)]
"""A word of states.yaml ("dirty", "powered on", "filled with water"), "open" or "closed"."""
