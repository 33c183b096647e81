"""Planner `heuristic_expert`: PARTNR's privileged baseline (PARTNR-7.1 b).

It reads the goal directly and uses a belief that knows everything. It plans all steps of all agents
in advance, according to their abilities, and then executes the plan open loop. That makes it fast
but not perfect: whatever the plan did not foresee goes wrong. Goals that need a tool in the hand,
such as slices, or a device that is on are refused.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from planner.evaluation.task import GateRelation, Predicate
from planner.planning.expert.facts import Goal, Subgoal, read_goal
from planner.planning.numbered_dialogue import is_able
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.planner_model import Axes, Control, MemorySource, Observability, Privilege
from planner.world.belief import Belief
from planner.world.catalogue import sliced_from
from planner.world.skill import SkillCall, SkillName
from planner.world.states import StateSkill, single_handed, skills_that_make
from planner.world.topics import InstructionCode
from planner.world.vocabulary import EntityKind, Relation, floor_name, is_open

NAME = "heuristic_expert"
NO_GOAL = (
    "The planner `heuristic_expert` reads the structured goal and this instruction has none: name "
    "an episode and give its own instruction."
)
# Attempts at one step before its job is dropped.
MAX_TRIES = 2
DONE, WAIT = SkillCall(SkillName.DONE), SkillCall(SkillName.WAIT)


@dataclass
class _Job:
    """A sequence of calls for one agent; `level` is its position in the goal's order."""

    calls: deque[SkillCall]
    needs: str
    level: int
    tries: int = 0


@dataclass
class _Plan:
    """The jobs of each agent, in order."""

    jobs: dict[str, deque[_Job]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def level(self) -> int:
        """The lowest level that is not finished."""
        levels = [job.level for queue in self.jobs.values() for job in queue]
        return min(levels, default=0)


class HeuristicExpert:
    """The planner's state for one task of one team."""

    name = NAME

    def __init__(self, task: Task, axes: Axes | None = None) -> None:
        """Reads the goal from the task.

        Raises:
            FileError: if the goal cannot be read.
        """
        self._goal = read_goal(task.goal) if task.goal is not None else None
        self._axes = replace(
            axes or Axes(),
            control=Control.CENTRALIZED if len(task.agents) > 1 else Control.SINGLE,
            observability=Observability.FULL,
            privilege=Privilege.GOAL,
            memory_source=MemorySource.BELIEF,
        )
        self._plan: _Plan | None = None

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Retries a failed step once, then drops its job."""
        if self._plan is None:
            return
        for ended in results:
            queue = self._plan.jobs.get(ended.agent)
            if not queue or not queue[0].calls or queue[0].calls[0] != ended.call:
                continue
            job = queue[0]
            if ended.result.succeeded:
                job.calls.popleft()
                job.tries = 0
            else:
                job.tries += 1
                if job.tries >= MAX_TRIES:
                    self._plan.skipped.append(f"{ended.call}: {ended.result.text}")
                    job.calls.clear()
            if not job.calls:
                queue.popleft()

    async def decide(self, context: Context) -> Decision:
        """Returns the next planned step of each idle agent; never awaits anything."""
        if self._goal is None:
            return Decision(failure=NO_GOAL, end=InstructionCode.NO_GOAL)
        if self._plan is None:
            refusal = _refusal(self._goal, context.belief)
            if refusal:
                return Decision(failure=refusal)
            self._plan = _Planning(self._goal, context).plan()
        level = self._plan.level()
        calls = {}
        for agent in context.idle:
            queue = self._plan.jobs.get(agent)
            if not queue:
                calls[agent] = DONE if not any(self._plan.jobs.values()) else WAIT
            else:
                calls[agent] = queue[0].calls[0] if queue[0].level <= level else WAIT
        thought = "; ".join(f"{agent}: {call}" for agent, call in calls.items())
        evidence = {**self._axes.as_parameters(), "skipped_steps": "; ".join(self._plan.skipped)}
        return Decision(calls, thought, evidence=evidence)


def _refusal(goal: Goal, belief: Belief) -> str:
    """Why a goal cannot be planned; "" if it can."""
    unknown = sorted(name for name in goal.names if name not in belief.nodes)
    needs = [f"{n} needs {sliced_from(n)} to be sliced" for n in unknown if sliced_from(n)]
    if unknown and not needs:
        return f"{NAME} needs full observability: {', '.join(unknown)} not known"
    if not needs:
        found = ((subgoal, _need(subgoal, belief)) for subgoal in goal.subgoals)
        needs = [f"{subgoal} needs {need}" for subgoal, need in found if need]
    if not needs:
        return ""
    return f"{NAME} plans neither tools nor devices: {needs[0]}; use the planner `expert`"


def _need(subgoal: Subgoal, belief: Belief) -> str:
    """What a required state takes besides its thing and something nearby; "" for nothing."""
    if subgoal.state is None:
        return ""
    state, value = subgoal.state
    chosen = subgoal.first[: subgoal.number]
    if all(belief.nodes[name].states.get(state, False) is value for name in chosen):
        return ""
    skill = single_handed(state, value=value)
    if skill is not None:
        return " and ".join(need.what for need in skill.needs.at)
    tools = [way.needs.hand for way in skills_that_make(state, value=value)]
    return next((tool.what for tool in tools if tool is not None), "what no skill does")


class _Planning:
    """Makes the plan from one snapshot of the world."""

    def __init__(self, goal: Goal, context: Context) -> None:
        self._goal, self._context = goal, context
        self._belief: Belief = context.belief
        self._where = {node.name: node.parent for node in self._belief.of_kind(EntityKind.OBJECT)}
        self._load = dict.fromkeys(context.task.agents, 0)
        self._plan = _Plan({agent: deque() for agent in context.task.agents})

    def plan(self) -> _Plan:
        """All jobs, lower levels first."""
        levels = self._levels()
        for subgoal in sorted(
            self._goal.subgoals, key=lambda w: (levels[w.index], _rank(w), w.index)
        ):
            for calls, needs in self._calls(subgoal):
                self._give(calls, needs, levels[subgoal.index], subgoal)
        return self._plan

    def _levels(self) -> dict[int, int]:
        """The level of each subgoal: above everything that precedes it or opens its gate."""
        before = {index: set(earlier) for index, earlier in self._goal.before.items()}
        for gate in self._goal.gates:
            if gate.relation is not GateRelation.WHILE_SATISFIED:
                for index in gate.gated:
                    before[index] |= set(gate.depends_on)
        levels: dict[int, int] = {}
        while len(levels) < len(before):
            for index, earlier in before.items():
                if index not in levels and earlier <= levels.keys():
                    levels[index] = 1 + max((levels[e] for e in earlier), default=-1)
        return levels

    def _give(self, calls: list[SkillCall], needs: str, level: int, subgoal: Subgoal) -> None:
        able = [agent for agent in self._load if self._is_able(agent, needs)]
        if not able:
            self._plan.skipped.append(f"{subgoal}: nobody can {needs}")
            return
        agent = min(able, key=lambda a: (self._load[a], self._context.task.agents.index(a)))
        self._load[agent] += len(calls)
        self._plan.jobs[agent].append(_Job(deque(calls), needs, level))

    def _is_able(self, agent: str, skill: str) -> bool:
        return is_able(skill, self._context.capabilities.get(agent))

    def _calls(self, subgoal: Subgoal) -> list[tuple[list[SkillCall], str]]:
        """The jobs of one subgoal; [] if nothing is to be done or no step can satisfy it."""
        if subgoal.state is not None:
            return [j for n in subgoal.first[: subgoal.number] for j in self._change(n, subgoal)]
        if subgoal.opens is not None:
            return self._open_or_close(subgoal, opens=subgoal.opens)
        if subgoal.predicate in (Predicate.IS_NEXT_TO, Predicate.IS_CLUSTERED):
            return self._neighbours(subgoal)
        target = subgoal.second[0] if subgoal.second else ""
        relation = Relation.WITHIN if subgoal.predicate is Predicate.IS_INSIDE else Relation.ON
        jobs = []
        for name in subgoal.first[: subgoal.number]:
            place = target
            if subgoal.predicate is Predicate.IS_IN_ROOM:
                place = floor_name(target)
            elif subgoal.predicate is Predicate.IS_ON_FLOOR:
                place = floor_name(self._room_of(name))
            if self._where.get(name) != place:
                jobs.append(self._move(name, relation, place, None))
        return jobs

    def _move(
        self, name: str, relation: Relation, place: str, beside: str | None
    ) -> tuple[list[SkillCall], str]:
        self._where[name] = place
        constraint = "next_to" if beside is not None else None
        arguments = (name, relation.value, place, constraint, beside)
        return [SkillCall(SkillName.REARRANGE, arguments)], SkillName.REARRANGE

    def _neighbours(self, subgoal: Subgoal) -> list[tuple[list[SkillCall], str]]:
        """Places each of the first list beside one of the second; in a cluster, beside the last."""
        if subgoal.predicate is Predicate.IS_CLUSTERED:
            members = [names[0] for names in subgoal.lists]
            pairs = list(zip(members[1:], members, strict=False))
        else:
            pairs = [(name, subgoal.second[0]) for name in subgoal.first[: subgoal.number]]
        jobs = []
        for name, other in pairs:
            node = self._belief.nodes[other]
            place = self._where.get(other) if node.kind is EntityKind.OBJECT else None
            place = place or floor_name(self._room_of(other))
            if self._belief.nodes[name].kind is EntityKind.OBJECT:
                jobs.append(self._move(name, Relation.ON, place, other))
        return jobs

    def _open_or_close(self, subgoal: Subgoal, *, opens: bool) -> list[tuple[list[SkillCall], str]]:
        skill = SkillName.OPEN if opens else SkillName.CLOSE
        return [
            ([SkillCall(SkillName.NAVIGATE, (name,)), SkillCall(skill, (name,))], skill)
            for name in subgoal.first[: subgoal.number]
            if is_open(self._belief.nodes[name].openness) is not opens
        ]

    def _change(self, name: str, subgoal: Subgoal) -> list[tuple[list[SkillCall], str]]:
        if subgoal.state is None:
            return []
        state, value = subgoal.state
        skill = single_handed(state, value=value)
        if skill is None or self._belief.nodes[name].states.get(state) is value:
            return []
        if not skill.needs.near:
            near = SkillCall(SkillName.NAVIGATE, (name,))
            return [([near, SkillCall(skill.name, (name,))], skill.name)]
        return self._near_place(name, subgoal, skill)

    def _near_place(
        self, name: str, subgoal: Subgoal, skill: StateSkill
    ) -> list[tuple[list[SkillCall], str]]:
        """To what has to be near, such as a faucet, and back."""
        need = skill.needs.near[0]
        wet = [
            node.name
            for node in self._belief.of_kind(EntityKind.FURNITURE)
            if need.is_kind(node.class_name, node.affordances)
        ]
        place = self._where.get(name)
        if not wet or place is None:
            self._plan.skipped.append(f"{subgoal}: there is no {need.what}")
            return []
        node = self._belief.nodes[name]
        back = Relation.WITHIN if node.relation is Relation.WITHIN else Relation.ON
        calls = [
            SkillCall(SkillName.NAVIGATE, (name,)),
            SkillCall(SkillName.PICK, (name,)),
            SkillCall(SkillName.NAVIGATE, (wet[0],)),
            SkillCall(skill.name, (name,)),
            SkillCall(SkillName.NAVIGATE, (place,)),
            SkillCall(SkillName.PLACE, (name, back.value, place, None, None)),
        ]
        return [(calls, skill.name)]

    def _room_of(self, name: str) -> str:
        place = self._where.get(name) or name
        node = self._belief.nodes.get(place) or self._belief.nodes[name]
        return node.room or self._belief.of_kind(EntityKind.ROOM)[0].name


def _rank(subgoal: Subgoal) -> int:
    """Sort key: states first, at the old place; `next_to` when things have moved; closing last."""
    if subgoal.opens is False:
        return 3
    if subgoal.state is not None:
        return 0
    return 2 if subgoal.predicate in (Predicate.IS_NEXT_TO, Predicate.IS_CLUSTERED) else 1
