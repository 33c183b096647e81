"""What the agents of `expert` can do next."""

from __future__ import annotations

from dataclasses import dataclass

from planner.planning.expert.facts import Spot
from planner.world.skill import SkillName
from planner.world.vocabulary import Relation


@dataclass(frozen=True, slots=True)
class Job:
    """One thing for one agent to do with one object.

    Attributes:
        thing: the goal's name of the object, or of furniture whose state changes.
        skill: Place to move it to `spot`, otherwise the skill that changes its state, or that of
            `beside` with the object in the hand.
        beside: what to put it next to, if that is already in place.
        after: the thing that is being brought next to this one and must be put down first.
        subgoal: the proposition that it serves; -1 for moving something out of the way.
    """

    thing: str
    skill: str
    subgoal: int
    spot: Spot | None = None
    beside: str | None = None
    after: str | None = None

    def __str__(self) -> str:
        if self.skill != SkillName.PLACE or self.spot is None:
            return f"{self.skill} {self.thing}"
        near = f" next to {self.beside or self.after}" if self.beside or self.after else ""
        return f"bring {self.thing} {_WORD[self.spot[0]]} {self.spot[1]}{near}"


_WORD = {Relation.ON: "onto", Relation.WITHIN: "into", Relation.HELD: "to"}


@dataclass(frozen=True, slots=True)
class Work:
    """What can be done now, what has to be found first, and what seems impossible."""

    jobs: list[Job]
    missing: list[str]
    stuck: dict[int, str]
