"""What `expert` remembers while it works: agents' places, searched places, failures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from planner.planning.expert.facts import Facts, Spot
from planner.planning.planner import AgentResult
from planner.world.geometry import Vec3
from planner.world.primitive import operator_refused
from planner.world.skill import SkillCall, SkillCode, SkillName
from planner.world.states import state_skill
from planner.world.vocabulary import Hands, Relation

# Failed attempts at a call before its target is set aside.
MAX_TRIES = 3
# How often everything that was set aside is tried again.
MAX_ROUNDS = 2
# Repeated searches of the whole house, each only if it may show something new.
MAX_SEARCHES = 4
# How often a place is looked at again because a thing is no longer remembered there: a memory that
# sees things that are not there forgets them again and again.
MAX_LOST_AT = 2
# An agent outside the team that moved at least this far may have put something down.
DISTURBED_MIN_M = 0.5
# A walk that timed out counts as blocked this often: enough for each of two agents to step back.
BLOCKED_PER_TIMEOUT = 3
# Failures in one task before it is given up.
MAX_FAILURES = 80

# Codes for which repeating the same call is pointless.
HOPELESS = frozenset({
    SkillCode.UNPARSABLE, SkillCode.UNKNOWN_SKILL, SkillCode.WRONG_ARGUMENTS,
    SkillCode.WRONG_ROLE, SkillCode.NOT_ABLE, SkillCode.NOT_ARTICULATED, SkillCode.NO_AFFORDANCE,
})  # fmt: skip
# Codes that may change once this agent, or another one, stands elsewhere.
OBSTRUCTED = frozenset({
    SkillCode.TOO_FAR, SkillCode.NOT_VISIBLE, SkillCode.UNREACHABLE, SkillCode.BLOCKED,
    SkillCode.TIMED_OUT, SkillCode.NO_PLACEMENT,
})  # fmt: skip
# From another side a surface may have room after all, and a neighbour may have been moved.
_NO_ROOM = frozenset({SkillCode.NO_PLACEMENT, SkillCode.REFERENCE_ELSEWHERE})
# Faults of the world; they say nothing about the call's target.
FAULTS = frozenset({SkillCode.BACKEND_FAULT, SkillCode.NOT_ALLOWED, SkillCode.BUSY})
# This many faults in a row mean that the world is gone.
MAX_FAULTS = 12
_OPENINGS = frozenset({SkillName.OPEN, SkillName.CLOSE})
_WALKING = frozenset({SkillName.NAVIGATE, SkillName.EXPLORE_FURNITURE, SkillName.EXPLORE})


class Look(NamedTuple):
    """A place to look at: the outside or inside of furniture, or a floor."""

    furniture: str
    inside: bool


@dataclass
class Notes:
    """The short-term memory for one task; everything else is read from the belief each time.

    Attributes:
        at: where each agent last walked to, until it walks elsewhere or fails there.
        hands: what each agent holds according to its last result; the memory may have missed it.
        looked: furniture whose outside was looked at.
        looked_by: (agent, furniture) of all looks of the task.
        glanced_into: furniture that was opened, which shows most of its inside.
        looked_into: furniture whose inside was looked at while it was open.
        not_to_open: furniture that must not be opened in order to look into it.
        shut: furniture that turned out to be closed, whatever the belief says.
        beside: pairs that a skill put next to each other, and the furniture they are on.
        choice: the spot chosen for a thing, kept while it can be used.
        holders: for a thing and a skill, where it is or will be put so that the skill can be used.
        freeing: what an agent is putting down in order to open something.
        full: where there was no room at the last attempt.
        making_room: what is in the way there and goes elsewhere, and where it was.
        value: the value chosen for a tie.
        found_in: the room in which each thing of the goal was first seen.
        seen: the goal's things that have been located since the current search of the house began.
        strangers: positions of agents outside the team at that time.
        stirred: whether one of them has moved since.
        unreached: whether a place that nobody could reach counts as looked at since then.
        searching: what each searching agent is about to look at.
        bad_spots: (agent, thing, spot) that did not work.
        bad_things: (agent, thing, skill) that did not work.
        agents: the agents of the task.
        remembered: by the names that a memory made up for things of the goal, their classes in the
            goal and where they were last believed to be.
        lost: classes of things that are no longer remembered there since the current search of the
            house began, and the places that are to be looked at again for them.
        lost_at: how often that was so at a place.
        looked_closer: things and places that an agent walked up to.
        gone: things that were not where they were believed to be, and when that was noticed.
        drawers: furniture in which only drawers open.
        why: the text of the last failure for each thing or furniture.
        inside_of: the furniture that a thing was believed to be inside.
        doing: the thing of each agent's latest job.
        picked: what an agent picked up last and has not put down, by its name of that time.
        detours: how often a thing could not be reached in the usual way.
        obstructed: (agent, target) of failures for which nobody has made way yet.
        placed: how often each placement succeeded; more than a few means that it gets undone.
        unconfirmed: (skill, target) of changes that succeeded, and how often without the memory
            showing their effect.
        blocked: consecutive times that an agent was blocked by another.
        tries: failures of each call since it last succeeded.
    """

    at: dict[str, str] = field(default_factory=dict)
    hands: dict[str, Hands] = field(default_factory=dict)
    looked: set[str] = field(default_factory=set)
    looked_by: set[tuple[str, str]] = field(default_factory=set)
    glanced_into: set[str] = field(default_factory=set)
    looked_into: set[str] = field(default_factory=set)
    not_to_open: frozenset[str] = frozenset()
    shut: set[str] = field(default_factory=set)
    beside: dict[frozenset[str], str] = field(default_factory=dict)
    choice: dict[str, Spot] = field(default_factory=dict)
    holders: dict[tuple[str, str], str] = field(default_factory=dict)
    freeing: dict[str, str] = field(default_factory=dict)
    full: set[str] = field(default_factory=set)
    making_room: dict[str, str] = field(default_factory=dict)
    value: dict[int, str] = field(default_factory=dict)
    found_in: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    strangers: dict[str, Vec3] = field(default_factory=dict)
    stirred: bool = False
    unreached: bool = False
    searching: dict[str, Look] = field(default_factory=dict)
    bad_spots: set[tuple[str, str, Spot]] = field(default_factory=set)
    agents: tuple[str, ...] = ()
    bad_things: set[tuple[str, str, str]] = field(default_factory=set)
    remembered: dict[str, tuple[str, Look]] = field(default_factory=dict)
    lost: dict[str, set[Look]] = field(default_factory=dict)
    lost_at: Counter[tuple[str, Look]] = field(default_factory=Counter)
    looked_closer: set[str] = field(default_factory=set)
    gone: dict[str, float] = field(default_factory=dict)
    drawers: frozenset[str] = frozenset()
    why: dict[str, str] = field(default_factory=dict)
    inside_of: dict[str, str] = field(default_factory=dict)
    doing: dict[str, str] = field(default_factory=dict)
    picked: dict[str, str] = field(default_factory=dict)
    detours: Counter[str] = field(default_factory=Counter)
    obstructed: list[tuple[str, str]] = field(default_factory=list)
    blocked: Counter[str] = field(default_factory=Counter)
    placed: Counter[str] = field(default_factory=Counter)
    unconfirmed: Counter[tuple[str, str]] = field(default_factory=Counter)
    tries: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    faults: int = 0
    last_fault: str = ""
    rounds: int = 1
    search_rounds: int = 1

    def take(self, ended: AgentResult) -> None:
        """Records how a call ended."""
        if ended.result.hands is not None:
            self.hands[ended.agent] = ended.result.hands
        if ended.result.succeeded:
            self.faults = 0
            self._succeeded(ended.agent, ended.call)
        elif ended.result.code is not SkillCode.CANCELED:
            self._failed(ended)

    def _succeeded(self, agent: str, call: SkillCall) -> None:
        target = call.arguments[0] if call.arguments else None
        if target is None:
            return
        self.tries.pop(f"{agent} {call}", None)
        if call.name in _WALKING:
            self.blocked[agent] = 0
            self.at[agent] = target
            self.looked_closer.add(target)
        if call.name == SkillName.EXPLORE_FURNITURE:
            self.looked.add(target)
            self.looked_by.add((agent, target))
            look = self.searching.pop(agent, None)
            self._looked_again(target, inside=False)
            if look == Look(target, inside=True):
                self.looked_into.add(target)
                self._looked_again(target, inside=True)
        elif call.name == SkillName.OPEN:
            self.shut.discard(target)
            self.glanced_into.add(target)
            if target in self.drawers:
                # The drawers were seen from above as they opened; open, they hide one another.
                self.looked_into.add(target)
                self.looked_by.add((agent, target))
                self._looked_again(target, inside=True)
            if self.searching.get(agent) == Look(target, inside=True):
                del self.searching[agent]
        elif call.name == SkillName.CLOSE:
            self.shut.add(target)
        elif call.name == SkillName.PICK:
            self.picked[agent] = target
            self.gone.pop(target, None)
            self._made_room(self.making_room.get(target, ""))
            self.beside = {k: v for k, v in self.beside.items() if target not in k}
        elif call.name == SkillName.PLACE:
            self.picked.pop(agent, None)
            self.choice.pop(target, None)
            self.making_room.pop(target, None)
            furniture, reference = call.arguments[2], call.arguments[4]
            self.placed[str(call)] += 1
            if self.placed[str(call)] > MAX_TRIES:
                self.why[target] = f"{call} succeeded {MAX_TRIES} times and never lasted"
                self._place_failed(self.agents, call, target)
            if furniture is not None and reference is not None:
                self.beside[frozenset((target, reference))] = furniture
        if call.name in _OPENINGS or state_skill(call.name) is not None:
            self._changed(agent, call, target)

    def _looked_again(self, furniture: str, *, inside: bool) -> None:
        for looks in self.lost.values():
            looks.discard(Look(furniture, inside))

    def _made_room(self, holder: str) -> None:
        """Lets things be put where something was taken away."""
        self.full.discard(holder)
        self.bad_spots = {bad for bad in self.bad_spots if bad[2][1] != holder}

    def _changed(self, agent: str, call: SkillCall, target: str) -> None:
        """Counts a change until the memory shows it; sets it aside if that never happens."""
        change = (call.name, target)
        self.unconfirmed[change] += 1
        if self.unconfirmed[change] <= MAX_TRIES:
            return
        # What is needed from closed furniture cannot be picked.
        skill = SkillName.PICK if call.name == SkillName.OPEN else call.name
        for thing in {target, self.doing.get(agent, target)}:
            self.why[thing] = (
                f"{call} succeeded {self.unconfirmed[change]} times, "
                "but the memory does not show its effect"
            )
            self._set_aside(self.agents, skill, target, thing)

    def confirm(self, facts: Facts) -> None:
        """Forgets the changes whose effect the memory shows."""
        for skill, target in list(self.unconfirmed):
            changes = state_skill(skill)
            if changes is None:
                shown = facts.is_closed(target) is (skill == SkillName.CLOSE)
            else:
                shown = all(facts.state(target, s) is value for s, value in changes.sets.items())
            if shown:
                del self.unconfirmed[skill, target]

    def _failed(self, ended: AgentResult) -> None:
        call, code = ended.call, ended.result.code
        self.at.pop(ended.agent, None)
        refused = operator_refused(ended.result.evidence)
        if code in FAULTS and not refused:
            self.faults += 1
            self.last_fault = f"{call}: {ended.result.text}"
            return
        self.failures += 1
        self.faults = 0
        target = call.arguments[0] if call.arguments else None
        if target is None:
            return
        thing = self.doing.get(ended.agent, target)
        # Count failures for the thing that is out of reach, whatever the approach was.
        key = f"{ended.agent} {call}"
        if call.name == SkillName.NAVIGATE:
            key = f"{ended.agent} reach {thing}"
        self.tries[key] += 1
        why = "the operator refused it" if refused else ended.result.text
        self.why[target] = self.why[thing] = f"{call}: {why}"
        if code is SkillCode.BLOCKED:
            self.blocked[ended.agent] += 1
        elif code is SkillCode.TIMED_OUT and call.name in _WALKING:
            # Two that walk towards each other in a passage stand until both time out.
            self.blocked[ended.agent] += BLOCKED_PER_TIMEOUT
        if code in OBSTRUCTED:
            self.detours[thing] += 1
            place = call.arguments[2] if call.name == SkillName.PLACE else target
            self.obstructed.append((ended.agent, place or target))
        if code is SkillCode.FURNITURE_CLOSED:
            self._closed(call, target)
        if code in (SkillCode.UNKNOWN_ENTITY, SkillCode.NOT_GROUNDED) and self.tries[key] > 1:
            self.gone[target] = ended.ended_s
        hopeless = refused or code in HOPELESS or self.tries[key] >= MAX_TRIES
        if call.name == SkillName.PLACE:
            if code is SkillCode.NO_PLACEMENT and call.arguments[2] is not None:
                self.full.add(call.arguments[2])
            # Try that once.
            if code in _NO_ROOM and self.tries[key] > 1:
                self._place_failed(self.agents, call, target)
            elif hopeless:
                self._place_failed((ended.agent,), call, target)
        elif hopeless:
            self._set_aside((ended.agent,), call.name, target, thing)

    def _closed(self, call: SkillCall, target: str) -> None:
        furniture = call.arguments[2] if call.name == SkillName.PLACE else None
        self.shut.add(furniture or self.inside_of.get(target, target))

    def _place_failed(self, agents: tuple[str, ...], call: SkillCall, thing: str) -> None:
        relation, furniture = call.arguments[1], call.arguments[2]
        if relation is not None and furniture is not None:
            self.why[furniture] = self.why[thing]
            spot = (Relation(relation), furniture)
            self.bad_spots.update((agent, thing, spot) for agent in agents)
            self.choice.pop(thing, None)

    def _set_aside(self, agents: tuple[str, ...], skill: str, target: str, thing: str) -> None:
        """Stops trying a call: its furniture is no longer searched, or no longer a destination."""
        for agent in agents:
            self.searching.pop(agent, None)
            self.tries[f"{agent} reach {thing}"] = 0
        self.unreached |= not {target} <= self.looked & self.looked_into
        self.looked.add(target)
        self.looked_into.add(target)
        for inside in (False, True):
            self._looked_again(target, inside=inside)
        spot = self.choice.get(thing)
        if spot is not None and spot[1] == target:
            self.bad_spots.update((agent, thing, spot) for agent in agents)
            del self.choice[thing]
        else:
            self.bad_things.update((agent, thing, skill) for agent in agents)

    def unusable(self, thing: str, *skills: str) -> bool:
        """Whether every agent has failed too often with a thing."""
        return all(self.cannot(agent, thing, *skills) for agent in self.agents)

    def cannot(self, agent: str, thing: str, *skills: str) -> bool:
        """Whether an agent has failed too often with one of the skills on a thing."""
        return any((agent, thing, skill) in self.bad_things for skill in skills)

    def has_begun(self, thing: str) -> bool:
        """Whether a place was chosen for a thing, in the end or to change its states there."""
        return thing in self.choice or any(thing == lower for lower, _ in self.holders)

    def is_bad_spot(self, thing: str, spot: Spot) -> bool:
        """Whether every agent failed to put a thing there."""
        return all((agent, thing, spot) in self.bad_spots for agent in self.agents)

    def start_over(self) -> bool:
        """Forgets failures so that everything is tried again; False if done too often already."""
        if self.rounds >= MAX_ROUNDS or not (self.bad_spots or self.bad_things or self.tries):
            return False
        self.rounds += 1
        self.bad_spots.clear()
        self.bad_things.clear()
        self.tries.clear()
        self.choice.clear()
        self.holders.clear()
        return True

    def find(self, thing: str, room: str) -> None:
        """Records where a thing of the goal was located."""
        self.found_in.setdefault(thing, room)
        self.seen.add(thing)

    def lose(self, thing: str) -> None:
        """Records that a thing is not where it was remembered: that place comes first again."""
        class_name, look = self.remembered.pop(thing)
        looks = self.lost.setdefault(class_name, set())
        self.lost_at[class_name, look] += 1
        if self.lost_at[class_name, look] <= MAX_LOST_AT:
            looks.add(look)

    def forget_looks(self, things: Set[str]) -> None:
        """Counts no place as looked at, for things that were seen are not known any more."""
        self.seen -= things
        self.looked.clear()
        self.looked_by.clear()
        self.looked_into.clear()
        self.glanced_into.clear()

    def meet(self, stranger: str, position_m: Vec3) -> None:
        """Records the position of an agent outside the team."""
        at_m = self.strangers.setdefault(stranger, position_m)
        self.stirred |= math.dist(at_m, position_m) > DISTURBED_MIN_M

    def search_again(self, missing: Iterable[str]) -> bool:
        """Marks places as not looked at where another look may reveal a missing thing.

        A place is searched again whenever a thing is no longer where it was known to be, and once
        more if a stranger moved or some places could not be reached.

        Returns:
            False if nothing has changed since the last search, or the limit is reached.
        """
        is_lost = any(name in self.seen or name.rpartition("_")[0] in self.lost for name in missing)
        may_show = self.search_rounds == 1 and (self.stirred or self.unreached)
        if self.search_rounds >= MAX_SEARCHES or not (is_lost or may_show):
            return False
        self.search_rounds += 1
        self.looked.clear()
        self.looked_into.clear()
        self.seen.clear()
        self.lost.clear()
        return True
