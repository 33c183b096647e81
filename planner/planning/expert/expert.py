"""Planner `expert`: carries out a structured goal without a language model.

It uses only what the memory knows. Each decision starts afresh from the belief: what holds, what
may be done now, which jobs follow from that, and which agent does which. Only what the belief does
not contain is kept in `Notes`: where agents stand, what was searched, what failed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import replace
from typing import Final

from planner.evaluation.task import GateRelation
from planner.planning.expert.choice import Progress, narrowed
from planner.planning.expert.facts import (
    Facts,
    Goal,
    Subgoal,
    in_memory_names,
    read_goal,
    spots_of,
    with_wholes,
)
from planner.planning.expert.job import Job, Work
from planner.planning.expert.jobs import JobMaker
from planner.planning.expert.location_hints import location_hints
from planner.planning.expert.notes import MAX_FAILURES, MAX_FAULTS, MAX_ROUNDS, Notes
from planner.planning.expert.search import (
    Likelihood,
    Search,
    Sought,
    drawers_of,
    look_at,
    sought_words,
)
from planner.planning.expert.team import Distances, Team
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.walking import walk_map
from planner.world.belief import Belief, BeliefNode, StandIns, score_of
from planner.world.skill import SkillCall, SkillName
from planner.world.states import single_handed
from planner.world.topics import InstructionCode
from planner.world.vocabulary import EntityKind, Relation

# Things that may be what is missing, by the memory's second guesses.
#
# Where nothing of a class is known, what was taken for another class but may be of this one is
# looked at from near before the house is searched, as near looks say more. What still may be the
# missing thing is taken for it as soon as it is likelier than that one of the places left would
# show another.

# At most so many things are walked to for one missing thing: each walk takes time, and the further
# ones are seldom it.
MAX_CLOSER_LOOKS: Final = 3


def may_be(facts: Facts, notes: Notes, missing: str, taken: Collection[str]) -> list[BeliefNode]:
    """The things in place or in a hand of the team that may be a missing one, likeliest first.

    Args:
        facts: what is believed.
        notes: who is of the team.
        missing: a name whose class nothing known has.
        taken: names of things that stand for others already.
    """
    class_name = missing.rpartition("_")[0]
    found = [
        (score, node)
        for node in facts.belief.of_kind(EntityKind.OBJECT)
        if (score := score_of(node.maybe, class_name))
        and node.name not in taken
        and (facts.base_spot(node.name) is not None or facts.holder(node.name) in notes.agents)
    ]
    found.sort(key=lambda pair: (-pair[0], pair[1].name))
    return [node for _, node in found]


def to_look_at(
    facts: Facts, notes: Notes, missing: Iterable[str], taken: Collection[str]
) -> list[str]:
    """The things to be looked at from near for all that is missing, likeliest first."""
    found: dict[str, float] = {}
    for name in missing:
        class_name = name.rpartition("_")[0]
        for node in may_be(facts, notes, name, taken)[:MAX_CLOSER_LOOKS]:
            if _is_left(node.name, notes) and facts.holder(node.name) is None:
                score = score_of(node.maybe, class_name)
                found[node.name] = max(score, found.get(node.name, 0.0))
    return sorted(found, key=lambda name: (-found[name], name))


def to_take(
    facts: Facts, notes: Notes, missing: str, taken: Collection[str], left: float
) -> BeliefNode | None:
    """What to take for a missing thing; None if nothing is likely enough.

    A hand that picked a thing of its class up holds it, whatever it is taken for since.

    Args:
        facts: what is believed.
        notes: what was tried.
        missing: a name whose class nothing known has.
        taken: names of things that stand for others already.
        left: how likely the thing is at one of the places that were not looked at yet.
    """
    class_name = missing.rpartition("_")[0]
    for node in may_be(facts, notes, missing, taken):
        usable = not notes.unusable(node.name, SkillName.NAVIGATE, SkillName.PICK)
        holder = facts.holder(node.name)
        was_near = holder is not None or node.name in notes.looked_closer or not left
        picked = notes.picked.get(holder or "", "").rpartition("_")[0]
        likely = picked == class_name or score_of(node.maybe, class_name) >= left
        if likely and was_near and usable and node.name not in notes.gone:
            return node
    return None


def _is_left(name: str, notes: Notes) -> bool:
    return (
        name not in notes.looked_closer
        and name not in notes.gone
        and not notes.unusable(name, SkillName.NAVIGATE)
    )


NO_GOAL = (
    "The planner `expert` follows a structured goal and this instruction has none: name an "
    "episode (parameter `episode`) and give its own instruction, or choose the planner `react` "
    "with a language model (parameters `planner`, `model` and `model_url`) for free text."
)
# Calls in one task before the planner is assumed to be going in circles.
MAX_CALLS = 600
# Consecutive decisions that only wait.
MAX_WAITS = 8
# Attempts to put down an unneeded object before the agent keeps it.
MAX_PUT_DOWNS = 6

WAIT = SkillCall(SkillName.WAIT)
DONE = SkillCall(SkillName.DONE)


class Expert:
    """The planner's state for one task of one team."""

    name = "expert"

    def __init__(self, task: Task) -> None:
        """Reads the goal from the task.

        Raises:
            FileError: if the goal cannot be read.
        """
        goal = self._goal = read_goal(task.goal) if task.goal is not None else None
        self._progress = Progress(goal) if goal is not None else None
        self._notes = Notes()
        self._jobs: dict[str, Job] = {}
        self._stand_ins = StandIns(with_wholes(goal.names) if goal is not None else ())
        self._likelihood: Likelihood | None = None
        self._wanted: Mapping[str, Sought] = {}
        self._not_found: set[str] = set()
        self._guesses: dict[str, str] = {}
        self._remarks: list[str] = []
        self._given = self._waits = self._put_downs = 0
        self._last: tuple[object, ...] = ()
        self._settled = False

    def pursue(self, goal: Goal, wanted: Mapping[str, Sought]) -> None:
        """Replaces the goal while the task runs; what was seen, tried and achieved is kept.

        Args:
            goal: by the memory's names.
            wanted: names `CLASS_...` of things to look for beyond those of the goal.
        """
        progress = Progress(goal)
        if self._progress is not None:
            progress.carry_over(self._progress)
            if goal.ties != self._progress.goal.ties:
                self._notes.value.clear()
        self._goal, self._progress = goal, progress
        self._wanted = wanted
        self._last = ()

    @property
    def not_found(self) -> frozenset[str]:
        """Names that were wanted and that are at none of the places to look at."""
        return frozenset(self._not_found)

    @property
    def guesses(self) -> Mapping[str, str]:
        """Things that the memory takes for others, with the wanted class that they stand for."""
        return self._guesses

    def trust(self, done: Set[int]) -> None:
        """Takes propositions of the goal for done, by index, instead of those told before."""
        if self._progress is not None:
            self._progress.told = frozenset(done)

    def forget_all_but(self, belief: Belief) -> None:
        """Where a thing of the goal was known and is not in a belief, all is looked for again."""
        gone = {name for name in self._notes.seen if name not in belief.nodes}
        if gone:
            self._notes.forget_looks(gone)

    def judged(self, context: Context) -> Mapping[int, bool | None]:
        """Whether each proposition holds in a belief by itself; None where too little is known."""
        if self._progress is None:
            return {}
        self._name_as(context.belief, self._progress)
        facts = self._facts(context)
        return {w.index: facts.judged(w) for w in self._progress.goal.subgoals}

    @property
    def achieved(self) -> frozenset[int]:
        """The propositions of the goal that are done, by belief."""
        progress = self._progress
        if progress is None:
            return frozenset()
        return frozenset(w.index for w in progress.goal.subgoals if progress.done(w.index))

    @property
    def subgoals(self) -> tuple[Subgoal, ...]:
        """The propositions of the goal in its order; none without a goal."""
        return self._goal.subgoals if self._goal is not None else ()

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Records how calls ended."""
        for ended in results:
            self._notes.take(ended)
        if results:
            self._last = ()

    async def decide(self, context: Context) -> Decision:
        """Returns the next call of each idle agent; never awaits anything."""
        if self._progress is None:
            return Decision(failure=NO_GOAL, end=InstructionCode.NO_GOAL)
        situation = (context.belief.sequence, context.idle, tuple(context.running))
        if situation == self._last and context.running:
            return Decision(thought="nothing has changed")
        decision = self._decide(context, self._progress)
        self._given += len(decision.calls)
        self._last = situation
        return decision

    def _decide(self, context: Context, progress: Progress) -> Decision:
        if self._given > MAX_CALLS or self._notes.failures > MAX_FAILURES:
            return self._give_up(progress, {})
        if self._notes.faults >= MAX_FAULTS:
            return Decision(failure=f"the world does not answer: {self._notes.last_fault}")
        self._name_as(context.belief, progress)
        self._notes.agents = context.task.agents
        self._notes.not_to_open = frozenset(
            name
            for subgoal in progress.goal.subgoals
            if subgoal.index in progress.goal.watched and subgoal.opens is not None
            for name in subgoal.first
        )
        if self._likelihood is None:
            hints = location_hints(context.task.instruction, progress.goal, context.layout)
            self._likelihood = Likelihood(context.layout, hints)
            self._notes.drawers = drawers_of(context.layout)
        self._jobs = {a: job for a, job in self._jobs.items() if a in context.running}
        facts = self._facts(context)
        self._notes.confirm(facts)
        self._forgive_what_was_seen_again(facts)
        for name in progress.goal.names:
            spot = facts.spot(name) if facts.is_thing(name) else None
            if spot is not None and name not in self._notes.gone:
                self._notes.find(name, facts.room_of(spot[1]))
        self._note_what_is_lost(facts)
        for node in context.belief.of_kind(EntityKind.AGENT):
            if node.name not in context.task.agents:
                self._notes.meet(node.name, node.position_m)
        distance = Distances(facts, walk_map(context.layout))
        for _ in range(2 * MAX_ROUNDS):
            subgoals = self._take_stock(progress, facts, distance)
            decision = self._once(context, progress, subgoals, facts, distance)
            if decision is not None:
                return decision
        return self._give_up(progress, {})

    def _name_as(self, belief: Belief, progress: Progress) -> None:
        if self._stand_ins.update(belief) and self._goal is not None:
            progress.goal = in_memory_names(self._goal, self._stand_ins.given)

    def _facts(self, context: Context) -> Facts:
        notes, counts = self._notes, {a: c.hands for a, c in context.capabilities.items()}
        given = self._stand_ins.given
        return Facts(context.belief, context.layout, notes.beside, notes.hands, counts, given)

    def _forgive_what_was_seen_again(self, facts: Facts) -> None:
        for name, since in list(self._notes.gone.items()):
            node = facts.belief.nodes.get(name)
            if node is not None and node.stamp_s > since:
                del self._notes.gone[name]

    def _note_what_is_lost(self, facts: Facts) -> None:
        """A perceived thing that is not where it was remembered is looked for there again.

        A memory of ground truth knows better, and its things keep their names.
        """
        notes = self._notes
        for name in list(notes.remembered):
            if facts.node(name) is None or name in notes.gone:
                notes.lose(name)
        for name, believed in self._stand_ins.given.items():
            spot = facts.base_spot(believed)
            if spot is not None and believed not in notes.gone:
                look = look_at(spot, facts.layout)
                notes.remembered[believed] = (name.rpartition("_")[0], look)

    def _take_second_guesses(
        self, missing: Iterable[str], progress: Progress, facts: Facts, likelihood: Likelihood
    ) -> bool:
        """Takes for what is missing what more likely is it than what any place left would show.

        One of each class at a time; False if there are none.
        """
        taken = set(progress.goal.names)
        served: set[str] = set()
        for name in missing:
            class_name = name.rpartition("_")[0]
            if name not in self._stand_ins.names or class_name in served:
                continue
            left = Search(facts, self._notes, [name], likelihood).left
            node = to_take(facts, self._notes, name, taken, left)
            if node is not None:
                self._stand_ins.give(name, node.name)
                self._remarks.append(f"take {node.name} for {name}: most likely it is that")
                taken.add(node.name)
                served.add(class_name)
        if served and self._goal is not None:
            progress.goal = in_memory_names(self._goal, self._stand_ins.given)
        return bool(served)

    def _guess(
        self, wanted: Iterable[str], names: Set[str], facts: Facts, likelihood: Likelihood
    ) -> bool:
        """As `_take_second_guesses`, for what is wanted beside the goal, which is bound anew."""
        for name in wanted:
            left = Search(facts, self._notes, [name], likelihood, self._wanted).left
            node = to_take(facts, self._notes, name, names | self._guesses.keys(), left)
            if node is not None:
                self._guesses[node.name] = name.rpartition("_")[0]
                words = sought_words([name], self._wanted)
                self._remarks.append(f"take {node.name} for {words}: most likely it is that")
                return True
        return False

    def _take_stock(
        self, progress: Progress, facts: Facts, distance: Distances
    ) -> tuple[Subgoal, ...]:
        """Updates the progress until nothing new comes true, since each success may open gates."""
        while True:
            subgoals = narrowed(progress.goal, progress, facts, self._notes, distance)
            if not progress.update(subgoals, facts):
                return subgoals
            self._settled = not any(
                gate.relation is not GateRelation.WHILE_SATISFIED for gate in progress.goal.gates
            )

    def _once(
        self,
        context: Context,
        progress: Progress,
        subgoals: tuple[Subgoal, ...],
        facts: Facts,
        distance: Distances,
    ) -> Decision | None:
        """Returns a decision, or None if retrying with failures forgotten may produce one."""
        likelihood = self._likelihood or Likelihood(context.layout)
        avoid = {(t, s) for g in progress.untimely() for s in spots_of(g, facts) for t in g.first}
        team = Team(context, facts, self._notes, self._jobs, distance, likelihood, avoid)
        wanted = [name for name in self._wanted if name not in self._not_found]
        if progress.finished and not wanted:
            return self._finish(context, team, facts)

        def able(skill: str) -> bool:
            return any(team.able(agent, skill) for agent in context.task.agents)

        work = JobMaker(subgoals, progress, facts, self._notes, distance, able).make()
        if self._take_second_guesses(work.missing, progress, facts, likelihood):
            return None
        if self._guess(wanted, set(progress.goal.names), facts, likelihood):
            return Decision()
        if not work.jobs and not work.missing:
            work = Work(self._clear_away(progress, facts, distance), [], work.stuck)
        if wanted:
            # What is looked for may be where it has to be opened again.
            work = replace(work, jobs=[job for job in work.jobs if job.skill != SkillName.CLOSE])
        if wanted and work.stuck and not work.jobs and self._notes.start_over():
            # A long search must not come before another attempt.
            return None
        sought, missing = {**work.sought, **self._wanted}, [*work.missing, *wanted]
        closer = to_look_at(facts, self._notes, missing, progress.goal.names)
        team.assign(replace(work, missing=missing, sought=sought, closer=closer))
        if team.calls or context.running:
            self._waits = 0 if team.calls else self._waits
            thought = "; ".join([*self._remarks, *team.story])
            self._remarks.clear()
            return Decision(team.calls, thought)
        if work.missing and self._notes.search_again(work.missing):
            return None
        if wanted:
            self._not_found.update(wanted)
            return None
        if work.stuck and self._notes.start_over():
            return None
        if work.missing:
            names = sought_words(work.missing, work.sought)
            nowhere = {
                -1: f"{names} found nowhere in the house: every place in reach was looked at"
            }
            return self._give_up(progress, work.stuck | nowhere)
        if work.stuck or self._waits >= MAX_WAITS:
            return self._give_up(progress, work.stuck)
        return self._wait(context, "wait for the world to settle")

    def _finish(self, context: Context, team: Team, facts: Facts) -> Decision:
        """Empties the hands, then sends `Done[]` for all agents at once, as it is final."""
        if context.running:
            return Decision(thought="all is done; waiting for the last skill to end")
        for agent in context.idle:
            held = next(iter(facts.held_by(agent)), None)
            if held is not None and self._put_downs < MAX_PUT_DOWNS:
                self._put_downs += 1
                team.put_down(agent, held)
        if team.calls:
            return Decision(team.calls, "; ".join(team.story))
        if not self._settled:
            # Some propositions count only one step after others do.
            self._settled = True
            return self._wait(context, "everything is done; one more moment before the end")
        return Decision(dict.fromkeys(context.idle, DONE), "everything asked for is done")

    def _wait(self, context: Context, thought: str) -> Decision:
        self._waits += 1
        return Decision({context.idle[0]: WAIT} if context.idle else {}, thought)

    def _clear_away(self, progress: Progress, facts: Facts, distance: Distances) -> list[Job]:
        """Jobs that end what must end before something else may begin (`after_unsatisfied`)."""
        jobs = []
        for subgoal in progress.in_the_way():
            for thing, where in facts.pairs(subgoal):
                if subgoal.opens is not None:
                    skill_name = SkillName.CLOSE if subgoal.opens else SkillName.OPEN
                    jobs.append(Job(thing, skill_name, -1))
                    continue
                if subgoal.state is not None:
                    state, value = subgoal.state
                    skill = single_handed(state, value=not value)
                    jobs += [Job(thing, skill.name, -1)] if skill is not None else []
                    continue
                room = facts.room_of(where) if where else ""
                names = [
                    p.name
                    for p in facts.layout.furniture
                    if p.surfaces
                    and p.name not in subgoal.second
                    and p.room != room
                    and p.room not in subgoal.second
                    and facts.free_fraction(thing, Relation.ON, p.name) > 0
                ]
                if names:
                    spot = min(names, key=lambda n: (distance(thing, n), n))
                    jobs.append(Job(thing, SkillName.PLACE, -1, (Relation.ON, spot)))
        return jobs

    def _give_up(self, progress: Progress, stuck: dict[int, str]) -> Decision:
        """Reports the failure: what is missing, and the last known reason."""
        left = [w for w in progress.goal.subgoals if not progress.done(w.index)]
        asked = "; ".join(str(subgoal) for subgoal in left[:5])
        reasons = list(dict.fromkeys(stuck.values())) or list(self._notes.why.values())[-1:]
        because = "; ".join(reasons[:5]) or "nothing more can be done"
        return Decision(failure=f"not achieved: {asked}. Last reason: {because}")
