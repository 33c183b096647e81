"""Derives jobs from open propositions: what to move where, and which states to change."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable

from planner.evaluation.task import Predicate
from planner.planning.expert.changes import Changes
from planner.planning.expert.choice import Cost, Progress, excludes, things_for
from planner.planning.expert.facts import PLACING, Facts, Spot, Subgoal, fulfils, spots_of
from planner.planning.expert.job import Job, Work
from planner.planning.expert.notes import Notes
from planner.world.catalogue import default_catalogue
from planner.world.receptacle import parts_beside
from planner.world.skill import SkillName
from planner.world.vocabulary import Relation

# The cost of opening a door, or of reaching the floor, in metres of walking.
OPENING_COST_M = 4.0
FLOOR_COST_M = 6.0
UNLIKELY_COST_M = 1.5
CROWDED_COST_M = 3.0
# On surfaces smaller than this, things are put down one at a time.
TIGHT_M2 = 0.35


class JobMaker:
    """Makes the jobs for one decision."""

    def __init__(
        self,
        subgoals: tuple[Subgoal, ...],
        progress: Progress,
        facts: Facts,
        notes: Notes,
        cost: Cost,
        able: Callable[[str], bool],
    ) -> None:
        """Takes narrowed subgoals; `able` says whether any agent of the task has a skill."""
        self._subgoals, self._progress = subgoals, progress
        self._facts, self._notes, self._cost = facts, notes, cost
        firsts = frozenset(n for w in progress.goal.subgoals for n in w.first)
        self._changes = Changes(facts, notes, cost, able, firsts)
        self._able = able
        self._open = progress.open_subgoals()
        self._jobs: list[Job] = []
        self._closing: list[Job] = []
        self._missing: dict[str, None] = {}
        self._stuck: dict[int, str] = {}
        self._placing: dict[str, list[Subgoal]] = defaultdict(list)
        self._neighbours: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self._promised: dict[Spot, int] = defaultdict(int)

    def make(self) -> Work:
        """Everything that could be done now, state changes before moves of the same thing."""
        for subgoal in self._open:
            if subgoal.state is not None:
                self._change(subgoal, *subgoal.state)
            elif subgoal.opens is not None:
                self._open_or_close(subgoal, opens=subgoal.opens)
            elif subgoal.predicate in PLACING:
                for thing in self._things(subgoal):
                    self._placing[thing].append(subgoal)
        for subgoal in self._open:
            if subgoal.predicate is Predicate.IS_NEXT_TO:
                self._next_to(subgoal)
            elif subgoal.predicate is Predicate.IS_CLUSTERED:
                self._clustered(subgoal)
        changes = self._changes
        for thing, holder in list(self._notes.making_room.items()):
            if self._facts.holder(thing) is not None:
                self._put_elsewhere(thing, holder)
        for thing in dict.fromkeys((*self._placing, *self._neighbours)):
            if thing not in changes.in_use:
                self._move(thing)
        changes.slice_or_search(self._missing)
        changes.settle()
        self._jobs[:0] = changes.jobs
        if not self._jobs and not changes.missing:
            # Anything else may need it open.
            self._jobs = self._closing
        stuck = changes.stuck | self._stuck
        return Work(self._largest_first(), list(changes.missing), stuck, changes.sought)

    def _largest_first(self) -> list[Job]:
        """Sorts by size where space is scarce: the largest thing would not fit later."""
        largest: dict[Spot, tuple[float, str]] = {}
        for job in self._jobs:
            if job.spot is not None and self._is_tight(job.spot):
                width, depth, _ = self._facts.size_m(job.thing)
                largest[job.spot] = max(
                    largest.get(job.spot, (0.0, "")), (width * depth, job.thing)
                )
        return [j for j in self._jobs if j.spot not in largest or largest[j.spot][1] == j.thing]

    def _is_tight(self, spot: Spot) -> bool:
        if self._facts.is_thing(spot[1]):
            return True
        piece = self._facts.layout.furniture_by_name.get(spot[1])
        if piece is None or spot[0] is not Relation.ON:
            return False
        return sum(s.size[0] * s.size[1] for s in piece.surfaces) < TIGHT_M2

    def _things(self, subgoal: Subgoal) -> list[str]:
        chosen, missing = things_for(
            subgoal, self._facts, self._progress, self._notes, self._cost, self._taken(subgoal)
        )
        self._missing.update(dict.fromkeys(missing))
        usable = []
        for thing in chosen:
            if self._notes.unusable(thing, SkillName.PICK, SkillName.NAVIGATE):
                self._stuck[subgoal.index] = self._notes.why.get(thing, f"{thing} cannot be taken")
            else:
                usable.append(thing)
        return usable

    def _taken(self, subgoal: Subgoal) -> set[str]:
        """Things that other subgoals need, or have, where this one cannot have them."""
        if len(subgoal.first) == subgoal.number:
            return set()
        found = {
            thing
            for thing, others in self._placing.items()
            if any(excludes(subgoal, other, self._facts) for other in others)
        }
        for other in self._progress.kept():
            if other.index == subgoal.index or other.predicate not in PLACING:
                continue
            serving = {thing for thing, _ in self._facts.pairs(other)}
            if len(serving) <= other.number and excludes(subgoal, other, self._facts):
                found |= serving
        return found

    def _change(self, subgoal: Subgoal, state: str, value: bool) -> None:
        chosen, missing = things_for(subgoal, self._facts, self._progress, self._notes, self._cost)
        self._missing.update(dict.fromkeys(missing))
        for thing in chosen:
            self._changes.change(thing, state, subgoal.index, value=value)

    def _open_or_close(self, subgoal: Subgoal, *, opens: bool) -> None:
        skill = SkillName.OPEN if opens else SkillName.CLOSE
        chosen, missing = things_for(subgoal, self._facts, self._progress, self._notes, self._cost)
        self._missing.update(dict.fromkeys(missing))
        for thing in chosen:
            if not self._able(skill):
                self._stuck[subgoal.index] = f"no agent here has the skill {skill} for {thing}"
            elif self._notes.unusable(thing, skill, SkillName.NAVIGATE, SkillName.PICK):
                self._stuck[subgoal.index] = self._notes.why.get(thing, f"{skill} failed")
            else:
                jobs = self._jobs if opens else self._closing
                jobs.append(Job(thing, skill, subgoal.index))

    # ---- neighbours ---------------------------------------------------------------------

    def _next_to(self, subgoal: Subgoal) -> None:
        facts = self._facts
        # A thing that is about to be moved has no neighbour yet.
        served = {
            a for a, b in facts.pairs(subgoal) if a not in self._placing and b not in self._placing
        }
        lacking = subgoal.number - len(served)
        firsts = [n for n in subgoal.first if facts.known(n) and n not in served]
        seconds = [n for n in subgoal.second if facts.known(n)]
        pairs = [(a, b) for a in firsts for b in seconds if a != b]
        if len({a for a, _ in pairs}) < lacking:
            unknown = [n for n in (*subgoal.first, *subgoal.second) if not facts.known(n)]
            self._missing.update(dict.fromkeys(unknown))
        pairs.sort(key=lambda ab: self._pair_cost(*ab))
        for a, b in pairs:
            if lacking <= 0:
                return
            if a in served:
                continue
            served.add(a)
            lacking -= 1
            self._join(a, b, subgoal.index)

    def _pair_cost(self, a: str, b: str) -> tuple[float, str, str]:
        moving = (a in self._placing) + (b in self._placing)
        return (self._cost(a, b) - 100.0 * moving, a, b)

    def _join(self, a: str, b: str, subgoal: int) -> None:
        """Moves one of the two to the other: the one already being moved, or else the first."""
        movable_a, movable_b = self._facts.is_thing(a), self._facts.is_thing(b)
        if movable_a and (a in self._placing or b not in self._placing):
            self._neighbours[a].append((b, subgoal))
        stays = b not in self._placing
        if movable_b and (not stays or self._notes.unusable(a, SkillName.PICK)):
            self._neighbours[b].append((a, subgoal))

    def _clustered(self, subgoal: Subgoal) -> None:
        near = {a for a, _ in self._facts.pairs(subgoal)}
        members: list[str] = []
        for names in subgoal.lists:
            known = [n for n in names if self._facts.known(n) and n not in members]
            if not known:
                self._missing.update(dict.fromkeys(names))
                continue
            members.append(min(known, key=lambda n: (n not in near, names.index(n))))
        if not members:
            return
        anchor = next((m for m in members if m in near), members[0])
        for member in members:
            if member != anchor and member not in near:
                self._join(member, anchor, subgoal.index)

    # ---- places -------------------------------------------------------------------------

    def _move(self, thing: str) -> None:
        subgoals = self._placing.get(thing, [])
        index = subgoals[0].index if subgoals else self._neighbours[thing][0][1]
        if self._notes.unusable(thing, SkillName.PICK):
            self._stuck[index] = self._notes.why.get(thing, f"{thing} cannot be taken")
            return
        spots = self._settled(self._spots(thing, subgoals))
        if spots is not None and not spots:
            return
        reference, pending = self._reference(thing, spots)
        if reference is not None:
            spots = self._spots_beside(reference, spots, self._within_m(thing, reference))
        elif pending is not None:
            shared = self._spots(pending, self._placing[pending])
            if spots is None or shared is None:
                spots = spots if shared is None else shared
            else:
                spots = [spot for spot in spots if spot in shared] or spots
        usable = [
            spot
            for spot in spots or []
            if not self._notes.is_bad_spot(thing, spot)
            and (spot[1].startswith("floor_") or self._facts.free_fraction(thing, *spot) > 0)
        ]
        if not usable and not self._make_room(thing, spots or []):
            last = self._notes.why.get(thing, "nothing there has room for it")
            self._stuck[index] = f"{thing} cannot be put where it shall be: {last}"
        if not usable:
            return
        spot = self._choose(thing, usable, pending)
        self._notes.choice[thing] = spot
        self._promised[spot] += 1
        # On the rim of a basin everything is next to it.
        beside = None if reference == spot[1] else reference
        self._jobs.append(Job(thing, SkillName.PLACE, index, spot, beside=beside, after=pending))

    def _make_room(self, thing: str, spots: list[Spot]) -> bool:
        """Takes something that the goal does not name from a place that is full.

        Returns:
            False if there is nothing like that, or the place is not right for other reasons.
        """
        facts, notes = self._facts, self._notes
        for relation, holder in spots:
            crowded = holder in notes.full or facts.free_fraction(thing, relation, holder) == 0
            if not crowded or not facts.fits_alone(thing, relation, holder):
                continue
            in_the_way = [
                node.name
                for node in facts.belief.inside(holder)
                if node.relation is relation
                and node.name not in self._progress.goal.names
                and node.name not in self._changes.in_use
                and not facts.belief.inside(node.name)
                and not notes.unusable(node.name, SkillName.PICK, SkillName.NAVIGATE)
            ]
            for name in sorted(in_the_way, key=lambda n: (-math.prod(facts.size_m(n)[:2]), n)):
                if self._put_elsewhere(name, holder):
                    return True
        return False

    def _put_elsewhere(self, thing: str, holder: str) -> bool:
        """Brings a thing that is, or was, on a full holder to the nearest other furniture."""
        spots = [
            (Relation.ON, piece.name)
            for piece in self._facts.layout.furniture
            if piece.name != holder
            and piece.name not in self._notes.full
            and self._facts.free_fraction(thing, Relation.ON, piece.name) > 0
            and not self._notes.is_bad_spot(thing, (Relation.ON, piece.name))
        ]
        if not spots:
            return False
        spot = min(spots, key=lambda spot: (self._spot_cost(thing, spot), spot[1]))
        self._notes.making_room[thing] = holder
        self._jobs.append(Job(thing, SkillName.PLACE, -1, spot))
        return True

    def _settled(self, spots: list[Spot] | None) -> list[Spot] | None:
        """The spots except those in or on things that must be found or put down first."""
        if spots is None:
            return None
        facts, found = self._facts, []
        for spot in spots:
            holder = spot[1]
            if not facts.is_thing(holder):
                found.append(spot)
            elif not facts.known(holder):
                self._missing[holder] = None
            elif holder not in self._placing and facts.base_spot(holder) is not None:
                found.append(spot)
        return found

    def _choose(self, thing: str, spots: list[Spot], pending: str | None) -> Spot:
        with_partner = self._notes.choice.get(pending) if pending is not None else None
        if with_partner in spots:
            return with_partner
        kept = self._notes.choice.get(thing)
        if kept in spots:
            return kept
        return min(spots, key=lambda spot: (self._spot_cost(thing, spot), spot[1]))

    def _spot_cost(self, thing: str, spot: Spot) -> float:
        relation, furniture = spot
        cost = self._cost(thing, furniture)
        if furniture.startswith("floor_"):
            return cost + FLOOR_COST_M
        if relation is Relation.WITHIN and self._facts.is_closed(furniture):
            cost += OPENING_COST_M
        if self._facts.free_fraction(thing, relation, furniture) < 0.4:
            cost += CROWDED_COST_M
        cost += CROWDED_COST_M / 2 * self._promised[spot]
        return cost + (0.0 if self._is_usual(thing, relation, furniture) else UNLIKELY_COST_M)

    def _is_usual(self, thing: str, relation: Relation, furniture: str) -> bool:
        node = self._facts.node(thing)
        cls = default_catalogue().objects.get(node.class_name if node is not None else "")
        piece = self._facts.layout.furniture_by_name.get(furniture)
        return piece is None or (
            cls is not None
            and any(p.furniture == piece.class_name and p.relation is relation for p in cls.places)
        )

    def _spots(self, thing: str, subgoals: list[Subgoal]) -> list[Spot] | None:
        """The spots that satisfy all subgoals of a thing; None if nothing restricts it."""
        bound = [w for w in self._progress.kept() if w.predicate in PLACING and thing in w.first]
        bound = [w for w in bound if any(a == thing for a, _ in self._facts.pairs(w))]
        spots: list[Spot] | None = None
        # Any spot in a room satisfies that room's subgoal, even one missing from its own list.
        for subgoal in sorted(
            (*subgoals, *bound), key=lambda w: w.predicate is Predicate.IS_IN_ROOM
        ):
            if spots is None:
                spots = spots_of(subgoal, self._facts)
            else:
                # Subgoals that exclude each other are satisfied one after the other.
                spots = [spot for spot in spots if fulfils(spot, subgoal, self._facts)] or spots
        return spots

    def _reference(self, thing: str, spots: list[Spot] | None) -> tuple[str | None, str | None]:
        """The neighbour to place next to, or the neighbour that must be put down first."""
        pending = None
        for neighbour, _ in self._neighbours.get(thing, ()):
            if not self._facts.is_thing(neighbour):
                return neighbour, None
            spot = self._facts.spot(neighbour)
            settled = neighbour not in self._placing and spot is not None
            fits = spots is None or spot in spots
            if settled and fits:
                return neighbour, None
            if neighbour in self._placing:
                pending = neighbour
        return None, pending

    def _within_m(self, thing: str, reference: str) -> float:
        """The largest gap that the subgoals of a thing and its neighbour allow."""
        indices = {i for name, i in self._neighbours[thing] if name == reference}
        return min(w.within_m for w in self._subgoals if w.index in indices)

    def _spots_beside(
        self, reference: str, spots: list[Spot] | None, within_m: float
    ) -> list[Spot]:
        """The spots where a thing can be next to its neighbour; all if there is none."""
        facts = self._facts
        if facts.is_thing(reference):
            spot = facts.spot(reference)
            return [spot] if spot is not None else []
        piece = facts.layout.furniture_by_name.get(reference)
        if piece is None:
            return []
        if spots is None:
            spots = [(Relation.ON, name) for name in facts.surfaces_of(piece.room)]
        near = [
            (relation, name)
            for relation, name in spots
            if name == f"floor_{piece.room}"
            or (
                (other := facts.layout.furniture_by_name.get(name)) is not None
                and (name != reference or piece.faucet is not None)
                and parts_beside(other, relation, piece, within_m)
            )
        ]
        # If only the neighbour is out of reach, any other spot still gets the placement right.
        return near or spots
