"""What agents of `expert` can do next, the skill calls of a job, and two loads at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.planning.expert.facts import Facts, Spot
from planner.planning.expert.notes import Look, Notes
from planner.planning.expert.search import Sought
from planner.world.skill import SkillCall, SkillName
from planner.world.states import Needs, state_skill
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


# The next skill call of a job, given the belief and where the agent stands.


class Steps:
    """Turns jobs into calls; stateless, so a lost step is simply repeated."""

    def __init__(self, facts: Facts, notes: Notes, distance: Callable[[str, str], float]) -> None:
        """`distance` gives metres from an agent to a place."""
        self._facts, self._notes, self._distance = facts, notes, distance

    def next_call(self, agent: str, job: Job) -> SkillCall:
        """The next call of an agent for a job."""
        if job.skill == SkillName.PLACE:
            return self._move(agent, job)
        if job.beside is not None:
            return self._with_hand(agent, job, job.beside)
        if _needs(job.skill).near:
            return self._near_place(agent, job)
        return self._change(agent, job)

    def look(self, agent: str, look: Look) -> SkillCall:
        """The next call of an agent in order to see a place."""
        if look.inside and self._is_shut(look.furniture):
            return self._near(agent, look.furniture) or _call(SkillName.OPEN, look.furniture)
        return _call(SkillName.EXPLORE_FURNITURE, look.furniture)

    def as_it_is(self, look: Look) -> Look:
        """The look that results: it includes the inside if that is open."""
        piece = self._facts.layout.furniture_by_name.get(look.furniture)
        opens = piece is not None and bool(piece.joints) and not self._is_shut(look.furniture)
        return Look(look.furniture, inside=look.inside or opens)

    def to_open(self, job: Job) -> str | None:
        """The closed furniture into which a job brings its thing, if any."""
        spot = job.spot
        if spot is not None and self._facts.is_thing(spot[1]):
            spot = self._facts.base_spot(spot[1])
        if spot is None or spot[0] is not Relation.WITHIN or not self._is_shut(spot[1]):
            return None
        return spot[1]

    def put_down(self, agent: str, thing: str, furniture: str) -> SkillCall:
        """The next call to free a hand."""
        near = self._near(agent, furniture)
        return near or _place(thing, Relation.ON, furniture, None)

    def _near(self, agent: str, target: str) -> SkillCall | None:
        """The walk to a target, or None if the agent already stands there."""
        if self._notes.at.get(agent) == target:
            return None
        return _call(SkillName.NAVIGATE, target)

    def _is_shut(self, furniture: str) -> bool:
        return furniture in self._notes.shut or self._facts.is_closed(furniture)

    def holds(self, agent: str, thing: str) -> bool:
        """Whether an agent has a thing in a hand."""
        return thing in self._facts.held_by(agent)

    def _fetch(self, agent: str, thing: str) -> SkillCall | None:
        """The next call to get a thing into the hand; None once it is there."""
        if self.holds(agent, thing):
            return None
        return self.come_near(agent, thing) or _call(SkillName.PICK, thing)

    def come_near(self, agent: str, thing: str) -> SkillCall | None:
        """The next call to get within reach of a thing; None once it is."""
        spot = self._facts.base_spot(thing)
        if spot is not None and spot[0] is Relation.WITHIN:
            self._notes.inside_of[thing] = spot[1]
            if self._is_shut(spot[1]):
                return self._near(agent, spot[1]) or _call(SkillName.OPEN, spot[1])
        # If the thing is hard to reach, approach the furniture's front every other time.
        aside = spot is not None and self._notes.detours[thing] % 2 == 1
        return self._near(agent, spot[1] if spot is not None and aside else thing)

    def _move(self, agent: str, job: Job) -> SkillCall:
        if job.spot is None:
            return self._fetch(agent, job.thing) or _call(SkillName.WAIT)
        relation, furniture = job.spot
        shut = self.to_open(job)
        open_it = None if shut is None else self._near(agent, shut) or _call(SkillName.OPEN, shut)
        # With one hand left, open before picking.
        opens_first = open_it if self._facts.free_hands(agent) == 1 else None
        fetch = opens_first or self._fetch(agent, job.thing) or open_it
        if fetch:
            return fetch
        reference = job.beside
        # Long furniture is not within reach as a whole, so stand at the neighbour.
        near = self._near(agent, reference or furniture)
        return near or _place(job.thing, relation, furniture, reference)

    def _change(self, agent: str, job: Job) -> SkillCall:
        name = job.thing
        if self.holds(agent, job.thing):
            return _call(job.skill, name)
        return self.come_near(agent, job.thing) or _call(job.skill, name)

    def _near_place(self, agent: str, job: Job) -> SkillCall:
        name = job.thing
        if not self._facts.is_thing(job.thing):
            return self._near(agent, name) or _call(job.skill, name)
        fetch = self._fetch(agent, job.thing)
        if fetch is not None:
            return fetch
        place = job.spot[1] if job.spot is not None else self._place_near(agent, job)
        return self._near(agent, place) or _call(job.skill, name)

    def _place_near(self, agent: str, job: Job) -> str:
        """The nearest furniture that the skill needs nearby; the next one if it is unreachable."""
        need = _needs(job.skill).near[0]
        places = sorted(
            (self._distance(agent, piece.name), piece.name)
            for piece in self._facts.layout.furniture
            if need.is_kind(piece.class_name, piece.affordances)
        )
        at = self._notes.at.get(agent)
        if any(name == at for _, name in places):
            return str(at)
        return places[self._notes.detours[job.thing] // 2 % len(places)][1]

    def _with_hand(self, agent: str, job: Job, target: str) -> SkillCall:
        fetch = self._fetch(agent, job.thing)
        return fetch or self.come_near(agent, target) or _call(job.skill, target)


def _needs(skill: str) -> Needs:
    found = state_skill(skill)
    return found.needs if found is not None else Needs()


def _call(name: str, *arguments: str) -> SkillCall:
    return SkillCall(name, arguments)


def _place(thing: str, relation: Relation, furniture: str, reference: str | None) -> SkillCall:
    constraint = "next_to" if reference is not None else None
    arguments = (thing, relation.value, furniture, constraint, reference)
    return SkillCall(SkillName.PLACE, arguments)


# Two loads at once: which to put down first, and what to take along on the way.

# Walking that taking something along must save.
MIN_SAVING_M = 1.0


class Loads:
    """The loads of agents with more than one hand."""

    def __init__(self, facts: Facts, steps: Steps, distance: Callable[[str, str], float]) -> None:
        """`distance` gives metres of walking between named entities."""
        self._facts, self._steps, self._distance = facts, steps, distance

    def nearest(self, agent: str, jobs: Sequence[Job]) -> Job:
        """Of the jobs for what an agent holds, the next: what waits for another thing is last.

        Jobs for one thing keep their order.
        """
        firsts = {job.thing: job for job in reversed(jobs)}

        def rank(job: Job) -> tuple[bool, float, str]:
            target = job.spot[1] if job.spot is not None else job.beside or agent
            return job.after in firsts, self._distance(agent, target), job.thing

        return min(firsts.values(), key=rank)

    def on_the_way(self, agent: str, job: Job, others: Iterable[Job]) -> Job | None:
        """The job whose thing an agent fetches before it goes on with a load; None for none.

        It must save walking.
        """
        if self._facts.free_hands(agent) < 1 or not self._is_settled(job) or job.spot is None:
            return None
        savings = [
            (self._saving_m(agent, job.spot[1], other, other.spot[1]), other)
            for other in others
            if other.spot is not None and self._is_settled(other)
        ]
        most, best = max(savings, key=lambda pair: pair[0], default=(0.0, None))
        return best if most >= MIN_SAVING_M else None

    def _is_settled(self, job: Job) -> bool:
        """Whether a thing can go where it belongs with both hands full, whatever else moves.

        Opening needs a free hand, and the place of a thing that goes next to another one is open
        until that one is down.
        """
        return job.after is None and self._steps.to_open(job) is None

    def _saving_m(self, agent: str, end: str, other: Job, other_end: str) -> float:
        """The walking saved by fetching another thing first, instead of afterwards."""
        far = self._distance
        fetch, beyond = far(agent, other.thing), far(other.thing, other_end)
        together = fetch + far(end, other_end) + min(far(other.thing, end), beyond)
        return far(agent, end) + far(end, other.thing) + beyond - together
