"""Assigns jobs to agents: by ability, by what they hold, by walking distance."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.parts.calls import SKILLS
from planner.planning.expert.facts import Facts, Spot, planar_m
from planner.planning.expert.job import Job, Loads, Steps, Work
from planner.planning.expert.notes import Look, Notes
from planner.planning.expert.search import Likelihood, Search, Sought, sought_words
from planner.planning.planner import Context
from planner.planning.walking import FAR_M, WalkMap
from planner.world.belief import score_of
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import Relation, floor_name

# Walking that it is worth to leave a job to an agent with fewer abilities, while there are jobs
# that only this one can do.
SPECIALIST_COST_M = 30.0
# Walking that it is worth not to use the same furniture at the same time.
SHARED_FURNITURE_COST_M = 2.0
# Bonus for continuing a job already begun, larger than differences in distance.
CONTINUE_BONUS_M = 20.0
# Other agents closer than this to a target may be obstructing it.
OBSTRUCTION_M = 2.5
# After being blocked this often in a row, assume that the other agent cannot get away.
MAX_BLOCKED = 2


class Distances:
    """Walking distances between agents, things and places, by belief."""

    def __init__(self, facts: Facts, walks: WalkMap) -> None:
        self._facts, self._walks = facts, walks
        self._known: dict[tuple[str, str], float] = {}

    def __call__(self, start: str, end: str) -> float:
        """From one named entity to another, metres; `FAR_M` if one has no known location."""
        key = (start, end)
        if key not in self._known:
            self._known[key] = self._measure(start, end)
        return self._known[key]

    def from_agent(self, agent: str) -> Callable[[str], float]:
        """From an agent to furniture and floors by name."""
        if not self._has_place(agent):
            return lambda _: FAR_M
        x, y, _ = self._facts.position_m(agent)
        return self._walks.distances_m((x, y))

    def _measure(self, start: str, end: str) -> float:
        facts = self._facts
        if not (self._has_place(start) and self._has_place(end)):
            return FAR_M
        x, y, _ = facts.position_m(start)
        spot = facts.base_spot(end) if facts.is_thing(end) else None
        place = end if not facts.is_thing(end) else spot[1] if spot is not None else None
        if place is None:
            return planar_m(facts.position_m(start), facts.position_m(end))
        return self._walks.distance_m((x, y), place)

    def _has_place(self, name: str) -> bool:
        return not self._facts.is_thing(name) or self._facts.node(name) is not None


class Team:
    """Assigns the work of one decision to the idle agents."""

    def __init__(
        self,
        context: Context,
        facts: Facts,
        notes: Notes,
        jobs: dict[str, Job],
        distance: Distances,
        likelihood: Likelihood,
        avoid: set[tuple[str, Spot]],
    ) -> None:
        """`jobs` holds the job of each busy agent; assigned jobs are added to it.

        Nothing is put down at the spots in `avoid`, where it would satisfy something too early.
        """
        self._context, self._facts, self._notes = context, facts, notes
        self._jobs, self._distance, self._likelihood = jobs, distance, likelihood
        self._avoid = avoid
        self._steps = Steps(facts, notes, distance)
        self._loads = Loads(facts, self._steps, distance)
        self._idle = list(context.idle)
        self._retreats: set[str] = set()
        self.calls: dict[str, SkillCall] = {}
        self.story: list[str] = []

    def able(self, agent: str, skill: str) -> bool:
        """Whether an agent's body has the abilities that a skill needs."""
        part = SKILLS.find(skill)
        capabilities = self._context.capabilities.get(agent)
        return bool(part and capabilities and part.abilities <= capabilities.primitives)

    def _may_do(self, agent: str, job: Job) -> bool:
        """Whether an agent can do a job and has not failed at it too often."""
        name = job.thing
        failed = self._notes.cannot(agent, name, SkillName.NAVIGATE, SkillName.PICK, job.skill)
        return self.able(agent, job.skill) and not failed and not self._failed_spot(agent, job)

    def _failed_spot(self, agent: str, job: Job) -> bool:
        name = job.thing
        return job.spot is not None and (agent, name, job.spot) in self._notes.bad_spots

    def assign(self, work: Work) -> None:
        """Fills `calls` as long as there is something to do."""
        for agent in list(self._idle):
            if not self._goes_on_freeing_hand(agent):
                self._go_on_with_load(agent, work)
        self._share_out(work)
        self._look_closer(work)
        if work.missing:
            self._search(work.missing, work.sought)
        for agent in list(self._idle):
            self._free_hand(agent, work)
        self._make_way()

    # ---- what is in a hand --------------------------------------------------------------

    def _go_on_with_load(self, agent: str, work: Work) -> None:
        held = self._facts.held_by(agent)
        if not held:
            return
        jobs = [j for thing in held for j in work.jobs if j.thing == thing]
        mine = [j for j in jobs if self.able(agent, j.skill) and not self._failed_spot(agent, j)]
        if mine:
            job = self._loads.nearest(agent, mine)
            self._give(agent, self._second_load(agent, job, work) or job)
        elif jobs:
            # Another agent may be able to finish what this one cannot.
            self.put_down(agent, jobs[0].thing)

    def _second_load(self, agent: str, job: Job, work: Work) -> Job | None:
        """A job to fetch for before going on with a load, if it is not a job for another agent."""
        jobs = [j for j in self._unclaimed(work) if self._may_do(agent, j)]
        begun = [j for j in jobs if j.thing == self._notes.doing.get(agent)]
        enough = len(jobs) >= len(self._context.task.agents)
        return self._loads.on_the_way(agent, job, jobs if enough else begun)

    def _free_hand(self, agent: str, work: Work) -> None:
        """Makes an agent put down an unneeded load, if it has something else to do."""
        held = self._facts.held_by(agent)
        if not held:
            return
        waiting = [j for j in self._unclaimed(work) if self._may_do(agent, j)]
        if waiting:
            self.put_down(agent, held[0])

    def _frees_hand_for(self, agent: str, call: SkillCall) -> bool:
        """Puts something down first if a call needs a free hand and there is none."""
        if call.name != SkillName.OPEN or self._facts.free_hands(agent) > 0:
            return False
        # Where nothing can be put down on what is opened, this takes more than one call.
        self._notes.freeing[agent] = self._facts.held_by(agent)[0]
        return self._goes_on_freeing_hand(agent)

    def _goes_on_freeing_hand(self, agent: str) -> bool:
        """Continues to put down what was in the way of opening something."""
        held = self._notes.freeing.get(agent)
        if held in self._facts.held_by(agent) and held and self.put_down(agent, held):
            return True
        self._notes.freeing.pop(agent, None)
        return False

    def put_down(self, agent: str, held: str) -> bool:
        """Starts freeing a hand; False if there is no place left for the load."""
        spot = self._nearest_surface(agent, held)
        if spot is None:
            return False
        self.calls[agent] = self._steps.put_down(agent, held, spot)
        self.story.append(f"{agent}: put {held} down on {spot}")
        if agent in self._idle:
            self._idle.remove(agent)
        return True

    def _nearest_surface(self, agent: str, held: str) -> str | None:
        facts = self._facts
        at = self._notes.at.get(agent)
        names = [p.name for p in facts.layout.furniture if p.surfaces]
        names += [f"floor_{room.name}" for room in facts.layout.rooms]
        usable = [
            name
            for name in names
            if (held, (Relation.ON, name)) not in self._avoid
            and (agent, held, (Relation.ON, name)) not in self._notes.bad_spots
            and facts.free_fraction(held, Relation.ON, name) > 0
        ]
        # Use the floor only if nothing else is near.
        return min(
            usable,
            key=lambda n: (
                n != at,
                self._distance(agent, n) + (10.0 if n.startswith("floor_") else 0.0),
                n,
            ),
            default=None,
        )

    # ---- jobs ---------------------------------------------------------------------------

    def _unclaimed(self, work: Work) -> list[Job]:
        taken = {job.thing for job in self._jobs.values()}
        taken |= {j.beside for j in self._jobs.values() if j.skill != SkillName.PLACE and j.beside}
        held = {name for agent in self._context.task.agents for name in self._facts.held_by(agent)}
        return [job for job in work.jobs if job.thing not in taken and job.thing not in held]

    def _share_out(self, work: Work) -> None:
        while True:
            open_jobs = self._unclaimed(work)
            free = [a for a in self._idle if not self._facts.held_by(a)]
            pairs = [
                (self._cost(agent, job, open_jobs), i, agent, job)
                for agent in free
                for i, job in enumerate(open_jobs)
                if self._may_do(agent, job)
            ]
            if not pairs:
                return
            _, _, agent, job = min(pairs, key=lambda pair: pair[:3])
            if not self._give(agent, job):
                return

    def _cost(self, agent: str, job: Job, jobs: list[Job]) -> float:
        cost = self._distance(agent, job.thing)
        if job.spot is not None:
            cost += 0.5 * self._distance(job.thing, job.spot[1])
        spot = self._facts.spot(job.thing)
        here = spot[1] if spot is not None else job.thing
        if any(self._notes.at.get(a) == here for a in self._context.running if a != agent):
            cost += SHARED_FURNITURE_COST_M
        if self._notes.doing.get(agent) == job.thing:
            cost -= CONTINUE_BONUS_M
        others = [a for a in self._context.task.agents if a != agent]
        special = [
            j
            for j in jobs
            if self.able(agent, j.skill) and not all(self.able(a, j.skill) for a in others)
        ]
        if others and special and job not in special:
            cost += SPECIALIST_COST_M
        return cost

    def _give(self, agent: str, job: Job) -> bool:
        """Continues an agent's job; it waits while the neighbour is being put down."""
        self._idle.remove(agent)
        self._jobs[agent] = job
        self._notes.doing[agent] = job.thing
        if job.after is not None and self._is_placing(job.after, agent):
            self.story.append(f"{agent}: wait until {job.after} is down")
            return True
        target = job.thing
        if job.spot is not None and self._steps.holds(agent, job.thing):
            target = job.spot[1]
        call = self._step_back(agent, target) or self._steps.next_call(agent, job)
        if self._frees_hand_for(agent, call):
            return True
        self.calls[agent] = call
        self.story.append(f"{agent}: {job}: {call}")
        return True

    def _is_placing(self, thing: str, but: str) -> bool:
        name = thing
        going = {**self._context.running, **self.calls}
        return any(
            agent != but and call.name == SkillName.PLACE and call.arguments[0] == name
            for agent, call in going.items()
        )

    def _step_back(self, agent: str, target: str) -> SkillCall | None:
        """Makes way for an agent that cannot get out, after being blocked repeatedly.

        If two block each other, only one steps back: the agent named first waits longer.
        """
        agents = self._context.task.agents
        max_blocked = MAX_BLOCKED + len(agents) - 1 - agents.index(agent)
        if self._notes.blocked[agent] < max_blocked or len(agents) < 2:
            return None
        room = self._room_away_from(agent, target)
        if room is None:
            return None
        self._notes.blocked[agent] = 0
        self._retreats.add(room)
        return SkillCall(SkillName.NAVIGATE, (room,))

    def _room_away_from(self, agent: str, target: str) -> str | None:
        """The nearest room away from a target, preferably one that no nearby agent heads for."""
        facts = self._facts
        here = facts.position_m(target)
        mine = facts.position_m(agent)
        near = [
            other
            for other in self._context.task.agents
            if other != agent and planar_m(facts.position_m(other), mine) < OBSTRUCTION_M
        ]

        def cost(room: str) -> tuple[bool, float]:
            own = self._distance(agent, room)
            return (any(self._distance(other, room) < own for other in near), own)

        rooms = [room.name for room in facts.layout.rooms if room.name not in self._retreats]
        away = [name for name in rooms if planar_m(facts.position_m(name), here) > OBSTRUCTION_M]
        return min(away, key=cost, default=None)

    def _make_way(self) -> None:
        """Sends idle agents away from places where they may obstruct others."""
        facts = self._facts
        for agent in list(self._idle):
            for who, target in self._notes.obstructed:
                if who == agent or not facts.known(target):
                    continue
                gap = planar_m(facts.position_m(agent), facts.position_m(target))
                room = self._room_away_from(agent, target) if gap <= OBSTRUCTION_M else None
                if room is None:
                    continue
                self._idle.remove(agent)
                self._notes.doing.pop(agent, None)
                self.calls[agent] = SkillCall(SkillName.NAVIGATE, (room,))
                self.story.append(f"{agent}: make way at {target}: {self.calls[agent]}")
                break
        self._notes.obstructed.clear()

    # ---- looking for things -------------------------------------------------------------

    def _look_closer(self, work: Work) -> None:
        """Sends agents up to known things that may be what is missing, each to the nearest."""
        left = [name for name in work.closer if name not in self._approached()]
        for agent in list(self._idle):
            if not left:
                return
            name = min(left, key=lambda n: (self._distance(agent, n), n))
            left.remove(name)
            call = self._steps.come_near(agent, name)
            if call is None:
                self._notes.looked_closer.add(name)
                continue
            self._notes.doing.pop(agent, None)
            self._idle.remove(agent)
            call = self._step_back(agent, name) or call
            if self._frees_hand_for(agent, call):
                continue
            self.calls[agent] = call
            maybe = self._context.belief.nodes[name].maybe
            meant = [m for m in work.missing if score_of(maybe, m.rpartition("_")[0])]
            words = sought_words(meant, work.sought)
            self.story.append(f"{agent}: see from near whether {name} is {words}: {call}")

    def _approached(self) -> set[str | None]:
        """What other agents are walking up to."""
        return {call.arguments[0] for call in self._context.running.values() if call.arguments}

    def _search(self, missing: list[str], sought: Mapping[str, Sought]) -> None:
        if not self._idle:
            return
        search = Search(self._facts, self._notes, missing, self._likelihood, sought)
        words = sought_words(missing, sought)
        for agent in list(self._idle):
            taken = {look.furniture for a, look in self._notes.searching.items() if a != agent}
            look = self._kept_look(agent, search) or search.best(
                agent, self._distance.from_agent(agent), taken
            )
            if look is None:
                continue
            look = self._steps.as_it_is(look)
            self._notes.searching[agent] = look
            self._notes.doing.pop(agent, None)
            self._idle.remove(agent)
            call = self._step_back(agent, look.furniture) or self._steps.look(agent, look)
            if self._frees_hand_for(agent, call):
                continue
            self.calls[agent] = call
            floors = {floor_name(room.name): room.name for room in self._facts.layout.rooms}
            at = f"{'inside' if look.inside else 'at'} {look.furniture}"
            where = f"in {floors[look.furniture]}" if look.furniture in floors else at
            hinted = any(self._likelihood.is_hinted(n.rpartition("_")[0], look) for n in missing)
            why = " (as the instruction says)" if hinted else ""
            self.story.append(f"{agent}: look for {words} {where}{why}: {call}")

    def _kept_look(self, agent: str, search: Search) -> Look | None:
        look = self._notes.searching.get(agent)
        return look if look is not None and search.is_left(look) else None
