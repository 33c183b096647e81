"""Jobs that change states: first what a skill needs, then the skill itself.

A skill of config/catalogue/states.yaml may need its target on or in something, such as bread in a
toaster that is on, and something in the hand, such as a knife. These conditions are made true one
by one, each by a job or by another such skill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from planner.planning.expert.choice import Cost
from planner.planning.expert.facts import Facts, Spot
from planner.planning.expert.job import Job
from planner.planning.expert.notes import Notes
from planner.planning.expert.search import Sought
from planner.world.belief import BeliefNode
from planner.world.catalogue import default_catalogue
from planner.world.skill import SkillName
from planner.world.states import (
    Condition,
    StateSkill,
    content_of,
    default_state_skills,
    default_states,
    skills_that_make,
    state_skill,
)
from planner.world.vocabulary import EntityKind, Relation

# How many kinds of things are searched for at the same time if any of many would serve.
MAX_KINDS_SOUGHT = 3
# The cost of a holder that has no room at the moment, in metres of walking.
_UNSUITABLE_M = 1_000.0


class Changes:
    """Collects the jobs of one decision that change states.

    Attributes:
        jobs: what can be done now.
        missing: things that must be found first.
        sought: what the missing things are needed as, such as "a cloth".
        stuck: for each subgoal why nothing can be done.
        in_use: things that have to stay, or get, where a skill needs them.
    """

    def __init__(
        self,
        facts: Facts,
        notes: Notes,
        cost: Cost,
        able: Callable[[str], bool],
        goal_things: frozenset[str],
    ) -> None:
        """`able` says whether any agent has a skill; `goal_things` are used only if need be."""
        self._facts, self._notes, self._cost, self._able = facts, notes, cost, able
        self._goal_things = goal_things
        self._wanted: set[tuple[str, str, bool]] = set()
        self.jobs: list[Job] = []
        self.missing: dict[str, None] = {}
        self.sought: dict[str, Sought] = {}
        self.stuck: dict[int, str] = {}
        self.in_use: set[str] = set()

    def change(
        self, thing: str, state: str, subgoal: int, *, value: bool, within: tuple[str, ...] = ()
    ) -> StateSkill | None:
        """Adds the next jobs that give a thing a state.

        Args:
            thing: a known thing, or furniture.
            state: the state's name.
            subgoal: the proposition that it serves.
            value: of the state.
            within: the states that are being made because this one is needed for them.

        Returns:
            The skill that will be used; None if there is none.
        """
        word = default_states().word(state, value=value) or f"not {state.replace('_', ' ')}"
        ways = [] if state in within else skills_that_make(state, value=value)
        if not ways:
            self.stuck[subgoal] = f"nobody can make {thing} {word}"
            return None
        skill = min(ways, key=self._unfitness)
        if not self._able(skill.name):
            self.stuck[subgoal] = f"no agent here has the skill {skill.name} to make {thing} {word}"
        elif self._notes.unusable(thing, skill.name, SkillName.NAVIGATE, SkillName.PICK):
            self.stuck[subgoal] = self._notes.why.get(thing, f"{skill.name} failed")
        elif skill.sets.get(state) is value:
            self._do(skill, thing, subgoal, (*within, state))
        else:
            self._empty(skill, thing, subgoal)
        return skill

    def settle(self) -> None:
        """Drops jobs that would undo what another one needs, such as a device that is on."""
        self.jobs = [
            job
            for job in self.jobs
            if (skill := state_skill(job.skill)) is None
            or not any(
                (job.beside or job.thing, state, not value) in self._wanted
                for state, value in skill.sets.items()
            )
        ]

    def slice_or_search(self, missing: Iterable[str]) -> None:
        """Slices the things that missing slices come from; anything else must be found."""
        for name in missing:
            whole = self._facts.whole_of(name)
            divided = self._facts.is_slice_of_divided(name)
            if whole is None or divided or self._facts.known(name):
                self.missing[name] = None
            elif not self._facts.known(whole) or whole in self._notes.gone:
                self.missing[whole] = None
            elif all(job.beside != whole for job in self.jobs):
                skill = next((s for s in default_state_skills().values() if s.divides), None)
                if skill is None or not self._able(skill.name):
                    self.stuck[-1] = f"no agent here can slice {whole}"
                else:
                    self._do(skill, whole, -1, ())

    def _unfitness(self, skill: StateSkill) -> tuple[bool, bool, bool]:
        """What speaks against one of several skills, most important first."""
        hand = skill.needs.hand
        copied = hand is not None and any(map(content_of, hand.states))
        has_source = hand is None or any(
            hand.has_states(node.states) for node in self._things_of_kind(hand)
        )
        return (not self._able(skill.name), copied and not has_source, not self._has_places(skill))

    def _has_places(self, skill: StateSkill) -> bool:
        """Whether the furniture that the skill needs nearby, and what it needs below, exists."""
        pieces = self._facts.layout.furniture
        near = all(
            any(need.is_kind(p.class_name, p.affordances) for p in pieces)
            for need in skill.needs.near
        )
        return near and all(self._of_kind(need) for need in skill.needs.at)

    def _do(self, skill: StateSkill, thing: str, subgoal: int, within: tuple[str, ...]) -> None:
        needs = skill.needs
        if needs.thing is not None and self._prepare(thing, needs.thing, subgoal, within):
            return
        if needs.at and not self._is_at(skill, thing, subgoal, within):
            return
        if needs.hand is not None:
            self._with_hand(skill, needs.hand, thing, subgoal, within)
        else:
            self.jobs.append(Job(thing, skill.name, subgoal))

    def _prepare(
        self, name: str, need: Condition, subgoal: int, within: tuple[str, ...]
    ) -> list[StateSkill]:
        """Adds jobs for the states that something lacks; the skills that will be used."""
        found = []
        for state, value in need.states.items():
            self._wanted.add((name, state, value))
            if bool(self._facts.state(name, state)) is not value:
                found.append(self.change(name, state, subgoal, value=value, within=within))
        return [skill for skill in found if skill is not None]

    # ---- what the hand needs ------------------------------------------------------------

    def _with_hand(
        self, skill: StateSkill, need: Condition, thing: str, subgoal: int, within: tuple[str, ...]
    ) -> None:
        """Uses a tool or a source; prepares one if there is none in the right state."""
        affordances = {default_states().affordance_of[state] for state in need.states}
        usable = [
            node
            for node in self._things_of_kind(need)
            if node.name != thing and affordances <= set(node.affordances)
        ]
        ready = [node for node in usable if need.has_states(node.states)]
        if ready:
            source = self._nearest(thing, ready)
            self.jobs.append(Job(source, skill.name, subgoal, beside=thing))
        elif not usable or any(state in within for state in need.states):
            # What it would be filled from has to have it already.
            self._seek(need, affordances, subgoal)
        else:
            self._prepare(self._nearest(thing, usable), need, subgoal, within)

    def _empty(self, skill: StateSkill, thing: str, subgoal: int) -> None:
        """Pours a thing into another that can take it."""
        given, made = next(iter(skill.sets.items()))
        needed = default_states().affordance_of[given]
        others = [
            node
            for node in self._facts.belief.of_kind(EntityKind.OBJECT)
            if node.name != thing
            and needed in node.affordances
            and node.states.get(given, False) is not made
        ]
        if not others:
            self.stuck[subgoal] = "there is nothing to pour into"
            return
        self.jobs.append(Job(thing, skill.name, subgoal, beside=self._nearest(thing, others)))

    def _nearest(self, thing: str, nodes: Iterable[BeliefNode]) -> str:
        """The nearest, preferably one that the goal does not mention."""
        return min(
            (node.name for node in nodes),
            key=lambda name: (name in self._goal_things, self._cost(thing, name), name),
        )

    def _seek(self, need: Condition, affordances: set[str], subgoal: int) -> None:
        """Searches for what a condition names, as nothing like it is known."""
        objects = default_catalogue().objects
        kinds = [c for c in need.classes if c in objects] or [
            c.name for c in objects.values() if affordances and affordances <= set(c.affordances)
        ]
        names = [f"{kind}_0" for kind in kinds[:MAX_KINDS_SOUGHT]]
        self.missing.update(dict.fromkeys(names))
        self.sought |= dict.fromkeys(names, Sought(need.what))
        if not kinds:
            self.stuck[subgoal] = f"nobody knows of {need.what}"

    # ---- what the thing has to be on or in ----------------------------------------------

    def _is_at(self, skill: StateSkill, thing: str, subgoal: int, within: tuple[str, ...]) -> bool:
        """Whether a thing is where a skill needs it; adds the next jobs for that if not."""
        holders = self._holders(skill, thing, subgoal)
        if holders is None:
            return False
        self.in_use.update((thing, *holders))
        carried: set[str] = set()
        ready = True
        for holder, need in zip(holders, skill.needs.at, strict=True):
            ways = self._prepare(holder, need, subgoal, within)
            ready = ready and not ways
            if any(way.needs.near for way in ways):
                carried.add(holder)
        for lower, upper in reversed(list(pairwise((thing, *holders)))):
            if upper in self._facts.holders(lower):
                continue
            ready = False
            if not {lower, upper} & carried:
                self._bring(lower, upper, subgoal)
            break
        return ready

    def _holders(self, skill: StateSkill, thing: str, subgoal: int) -> list[str] | None:
        """What fulfils each of the conditions `at`, from the inside out; None if one is missing."""
        found: list[str] = []
        lower = thing
        for need in skill.needs.at:
            candidates = [name for name in self._of_kind(need) if name not in (thing, *found)]
            if not candidates:
                self._seek(need, set(), subgoal)
                return None
            below = self._facts.holders(lower)
            kept = self._notes.holders.get((lower, skill.name))

            def cost(
                name: str,
                lower: str = lower,
                below: tuple[str, ...] = below,
                kept: str | None = kept,
            ) -> tuple[bool, bool, float, str]:
                is_there = name in below
                away = 0.0 if is_there else self._cost(lower, name)
                away += 0.0 if is_there or self._fitting(lower, name) else _UNSUITABLE_M
                return (not is_there, name != kept, away, name)

            holder = min(candidates, key=cost)
            self._notes.holders[(lower, skill.name)] = holder
            found.append(holder)
            lower = holder
        return found

    def _of_kind(self, need: Condition) -> list[str]:
        """Known things and furniture that fulfil a condition, in any state."""
        pieces = self._facts.layout.furniture
        found = [p.name for p in pieces if need.is_kind(p.class_name, p.affordances)]
        return found + [node.name for node in self._things_of_kind(need)]

    def _things_of_kind(self, need: Condition) -> list[BeliefNode]:
        return [
            node
            for node in self._facts.belief.of_kind(EntityKind.OBJECT)
            if need.is_kind(node.class_name, node.affordances)
            and self._facts.known(node.name)
            and node.name not in self._notes.gone
        ]

    def _fitting(self, thing: str, holder: str) -> Spot | None:
        """How a thing can be put on or in a holder; None if it does not fit at the moment."""
        first = self._facts.relation_on(holder)
        for relation in dict.fromkeys((first, Relation.ON, Relation.WITHIN)):
            spot = (relation, holder)
            fits = self._facts.free_fraction(thing, relation, holder) > 0
            if fits and not self._notes.is_bad_spot(thing, spot):
                return spot
        return None

    def _bring(self, thing: str, holder: str, subgoal: int) -> None:
        if self._facts.is_thing(holder) and self._facts.base_spot(holder) is None:
            return
        if self._notes.unusable(thing, SkillName.PICK):
            self.stuck[subgoal] = self._notes.why.get(thing, f"{thing} cannot be taken")
            return
        spot = self._notes.choice.get(thing)
        if spot is None or spot[1] != holder:
            spot = self._fitting(thing, holder)
        if spot is not None:
            self._notes.choice[thing] = spot
            self.jobs.append(Job(thing, SkillName.PLACE, subgoal, spot))
        elif not self._clear(holder, subgoal):
            last = self._notes.why.get(thing, "nothing there has room for it")
            self.stuck[subgoal] = f"{thing} cannot be put where it shall be: {last}"

    def _clear(self, holder: str, subgoal: int) -> bool:
        """Takes something that nobody needs there from a holder; False if there is nothing."""
        for node in self._facts.belief.inside(holder):
            if node.name in self.in_use:
                continue
            spots = [
                (self._cost(node.name, piece.name), piece.name)
                for piece in self._facts.layout.furniture
                if piece.name != holder
                and self._facts.free_fraction(node.name, Relation.ON, piece.name) > 0
            ]
            if spots:
                self.jobs.append(
                    Job(node.name, SkillName.PLACE, subgoal, (Relation.ON, min(spots)[1]))
                )
                return True
        return False
