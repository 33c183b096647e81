"""What a question asks for, in words of the catalogue and not yet in known things."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.language.words import Relation


class QuestionSort(StrEnum):
    """WHERE things are, WHAT is at a place, HOW_MANY there are, what CHANGED."""

    WHERE = "where"
    WHAT = "what"
    HOW_MANY = "how many"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class AskedPlace:
    """A place that a question names.

    Attributes:
        relation: None for what somebody holds.
        words: as they were said, without an article; an entity's name such as `table_3` as it is.
        kind: of the catalogue; empty for an entity's name.
        room: the kind of room that it is said to be in; empty if none.
    """

    relation: Relation | None
    words: str
    kind: str = ""
    room: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    Attributes:
        words: what is asked for: nouns in the singular, adjectives, names, unknown words; empty
            for anything.
        kind: of the catalogue, that the last noun names; empty if unknown.
        place: where; None for anywhere.
        since_s: the time since which changes are asked for; None for all.
        last_s: how far back they are asked for, instead.
    """

    sort: QuestionSort
    words: tuple[str, ...] = ()
    kind: str = ""
    place: AskedPlace | None = None
    since_s: float | None = None
    last_s: float | None = None
