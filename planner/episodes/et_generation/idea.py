"""One combination of a house's things that fits a template, before words and plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from planner.episodes.et_generation.categories import Category
from planner.episodes.et_generation.house_facts import HouseFacts
from planner.world.episode import ROBOT, Triple

RelationWord = Literal["CLOSE", "INSIDE", "ON", "FACING"]


@dataclass(frozen=True, slots=True)
class Link:
    """A relation, ON, INSIDE, CLOSE or FACING, to an entity or room by name."""

    relation: RelationWord
    name: str


@dataclass(frozen=True, slots=True)
class Idea:
    """Who is what; names are entities of the house, which the reference plan uses.

    Attributes:
        target: A, to find or to bring.
        second: A2, to bring as well.
        source: how A stands at the start: to B.
        nest: where A goes first: into B.
        place: where everything goes: on or into C.
        room: D, where C is.
    """

    category: Category
    target: str
    second: str = ""
    source: Link | None = None
    nest: Link | None = None
    place: Link | None = None
    room: str = ""

    @property
    def letters(self) -> dict[str, str]:
        """The entities by their letters, as the criteria have them."""
        named = {"A": self.target, "A2": self.second}
        named["B"] = self.source.name if self.source else self.nest.name if self.nest else ""
        named["C"] = self.place.name if self.place else ""
        named["D"] = self.room
        return {letter: name for letter, name in named.items() if name}

    def variables(self, facts: HouseFacts) -> dict[str, tuple[str, ...]]:
        """What each letter may stand for: all of its class, the plan's own first."""
        return {
            letter: (name, *(n for n in facts.of_class[facts.class_of(name)] if n != name))
            for letter, name in self.letters.items()
        }

    def intermediate(self) -> Iterator[Triple]:
        """What has to hold on the way (ETPLAN-4.3)."""
        if self.source is not None:
            if self.place is not None:
                yield ("CLOSE", ROBOT, "A")
            yield (self.source.relation, "A", "B")
        if self.nest is not None:
            yield from (("CLOSE", ROBOT, "A"), ("CLOSE", ROBOT, "B"))
            yield (self.nest.relation, "A", "B")

    def success(self) -> Iterator[Triple]:
        """What has to hold at the end (ETPLAN-4.3)."""
        if self.place is None:
            yield ("CLOSE", ROBOT, "A")
            return
        relation = self.place.relation
        if self.nest is not None:
            yield ("CLOSE", ROBOT, "C")
            yield (relation, "B", "C")
            yield (self.nest.relation, "A", "B")
            return
        if self.source is None:
            yield ("CLOSE", ROBOT, "A")
            if self.second:
                yield ("CLOSE", ROBOT, "A2")
        yield ("CLOSE", ROBOT, "C")
        if self.room:
            yield ("INSIDE", "C", "D")
        yield (relation, "A", "C")
        if self.second:
            yield (relation, "A2", "C")
