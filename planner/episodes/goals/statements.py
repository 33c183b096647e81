"""What the grammar of goals reads an instruction into: statements about things and places."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.episodes.wording import Noun


class Relation(StrEnum):
    """Where things shall be with respect to a place; TO leaves it to the kind of place."""

    ON = "on"
    IN = "in"
    TO = "to"


class Amount(StrEnum):
    """How many of what a noun names are meant."""

    THE = "the"
    ANY = "any"
    SOME = "some"
    ALL = "all"
    BARE = "bare"


@dataclass(frozen=True, slots=True)
class Phrase:
    """Some objects: "two cups" is number 2, "all the cups" is ALL, "a cup" is ANY."""

    noun: Noun
    amount: Amount
    number: int | None = None


@dataclass(frozen=True, slots=True)
class RoomPhrase:
    """A room by its class; `other` excludes the one that the things are in."""

    noun: Noun
    other: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A piece of furniture or a room.

    Attributes:
        furniture: None for a room or a floor.
        rooms: the rooms it may be in, as said; empty where nothing is said.
        other: not where the things are now.
        same: where the things are now.
        plural: several pieces may serve at once.
        definite: "the table": the same one wherever it is named again.
        holder: the things that single it out, as in "the table that has the laptop".
        floor: a floor instead of furniture.
    """

    furniture: Noun | None = None
    rooms: tuple[RoomPhrase, ...] = ()
    other: bool = False
    same: bool = False
    plural: bool = False
    definite: bool = False
    holder: tuple[Phrase, ...] = ()
    floor: bool = False


@dataclass(frozen=True, slots=True)
class Things:
    """What is spoken of: phrases, or what was spoken of before (`again`), or all (`vague`).

    `single` says that only one thing was spoken of before: "it".
    """

    phrases: tuple[Phrase, ...] = ()
    again: bool = False
    single: bool = False
    vague: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """Things shall be at a place, or stay there (`keep`), in a step of the instruction.

    Attributes:
        origin: where the things are said to be; narrows what is meant.
        destination: None if only `beside` or `together` is said.
        beside: the things to be next to.
        together: next to each other.
    """

    step: int
    things: Things
    origin: Place | None = None
    destination: Place | None = None
    relation: Relation = Relation.TO
    keep: bool = False
    together: bool = False
    beside: Things | None = None


@dataclass(frozen=True, slots=True)
class Occasion:
    """A sentence without a goal of its own; its room is meant where later ones name none.

    `here` says that the room is one where things lie: what is tidied, not what is prepared.
    """

    rooms: tuple[RoomPhrase, ...]
    nouns: tuple[Noun, ...] = ()
    here: bool = False


Statement = Move | Occasion
