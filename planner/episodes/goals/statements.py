"""What the grammar parses an instruction into: statements about things and places."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.episodes.wording import Noun


class Relation(StrEnum):
    """Where things should be relative to a place; TO leaves it to the kind of place."""

    ON = "on"
    IN = "in"
    TO = "to"


class Amount(StrEnum):
    """How many of the things named by a noun are meant."""

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
    """A room by its class; `other` excludes the one where the things are."""

    noun: Noun
    other: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A piece of furniture or a room.

    Attributes:
        furniture: None for a room or a floor.
        rooms: the rooms it may be in, as stated; empty if nothing is stated.
        other: excludes where the things are now.
        same: where the things are now.
        plural: several pieces may be used at once.
        definite: "the table": the same one each time it is named.
        holder: the things that identify it, as in "the table that has the laptop".
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
    """Things referred to: by phrases, by pronoun (`again`), or all of them (`vague`).

    `single`: the pronoun refers to only one thing ("it").
    """

    phrases: tuple[Phrase, ...] = ()
    again: bool = False
    single: bool = False
    vague: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """Things should be at a place, or stay there (`keep`), in a step of the instruction.

    Attributes:
        origin: where the things are said to be; narrows down which are meant.
        destination: None if only `beside` or `together` is given.
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
    """A sentence without a goal of its own; its room applies if later sentences name none.

    `here`: the room is where the things are (tidying up), not where they go (preparing).
    """

    rooms: tuple[RoomPhrase, ...]
    nouns: tuple[Noun, ...] = ()
    here: bool = False


Statement = Move | Occasion
