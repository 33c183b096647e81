"""The next skill call of a job, given the belief and where the agent stands."""

from __future__ import annotations

from collections.abc import Callable

from planner.planning.expert.facts import Facts
from planner.planning.expert.job import Job
from planner.planning.expert.notes import Look, Notes
from planner.world.skill import SkillCall, SkillName
from planner.world.state_skills import Needs, state_skill
from planner.world.vocabulary import Relation


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

    def come_near(self, agent: str, thing: str) -> SkillCall | None:
        """The next call of an agent in order to see a thing from near; None once it is there."""
        return self._reach(agent, thing)

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
        return self._reach(agent, thing) or _call(SkillName.PICK, thing)

    def _reach(self, agent: str, thing: str) -> SkillCall | None:
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
        return self._reach(agent, job.thing) or _call(job.skill, name)

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
        return fetch or self._reach(agent, target) or _call(job.skill, target)


def _needs(skill: str) -> Needs:
    found = state_skill(skill)
    return found.needs if found is not None else Needs()


def _call(name: str, *arguments: str) -> SkillCall:
    return SkillCall(name, arguments)


def _place(thing: str, relation: Relation, furniture: str, reference: str | None) -> SkillCall:
    constraint = "next_to" if reference is not None else None
    arguments = (thing, relation.value, furniture, constraint, reference)
    return SkillCall(SkillName.PLACE, arguments)
