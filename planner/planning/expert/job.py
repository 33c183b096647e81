"""What the agents of `expert` can do next."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planner.planning.expert.facts import Spot
from planner.planning.expert.sought import Sought
from planner.world.skill import SkillName
from planner.world.state_skills import state_skill
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
            return self._change
        near = f" next to {self.beside or self.after}" if self.beside or self.after else ""
        return f"bring {self.thing} {_WORD[self.spot[0]]} {self.spot[1]}{near}"

    @property
    def _change(self) -> str:
        """A change of states: "power on lamp_0", "slice bread_0 with knife_0"."""
        verb = _CAPITAL.sub(" ", self.skill).lower()
        if self.beside is None:
            return f"{verb} {self.thing}"
        skill = state_skill(self.skill)
        if skill is not None and skill.copies:
            return f"{verb} what is in {self.thing} into {self.beside}"
        return f"{verb} {self.beside} with {self.thing}"


_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = {Relation.ON: "onto", Relation.WITHIN: "into", Relation.HELD: "to"}


@dataclass(frozen=True, slots=True)
class Work:
    """What can be done now, what has to be found first, and what seems impossible.

    Attributes:
        missing: names of the goal, or names `CLASS_...`.
        stuck: for each subgoal why nothing can be done.
        sought: more about some of the missing.
        closer: known things of other classes that may be what is missing, to be looked at first.
    """

    jobs: list[Job]
    missing: list[str]
    stuck: dict[int, str]
    sought: Mapping[str, Sought] = field(default_factory=dict)
    closer: Sequence[str] = ()
