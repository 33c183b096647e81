"""What each agent of a team should do next, from the goal, the memory or the prompt alone."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from papers.llamar.actions import DIRECTIONS, DONE, EXPLORE, IDLE, Action, Verb, known_thing
from papers.llamar.prompt import InstanceNames, PromptingRole
from papers.llamar.state import Situation
from papers.llamar.team import Team
from planner.models.chat import ModelError
from planner.planning.expert.expert import Expert
from planner.planning.expert.facts import Subgoal
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.walking import walk_map
from planner.planning.words_planner import Words
from planner.world.belief import Belief, BeliefNode
from planner.world.geometry import record
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import EntityKind, Relation, floor_name, is_open

# What a prompt says, read without a flaw: for privileged models that know no more (LLAMAR-D82).
#
# A reader knows the things that its prompt names, with what the memory knows of each, the house's
# layout, and which subtasks are said to be done. What the prompt does not name it does not know,
# whoever saw it before. What was tried and searched is in the trace of the baselines and in the
# Actor's memory, so that readers of both know it.

_NAME = re.compile(r"\b[A-Z][A-Za-z0-9]*_[0-9]+\b")
_AGAIN = " again"


@record
class Reading:
    """Of one prompt.

    Attributes:
        names: the instances that it names.
        said_done: the subtasks that it lists as completed and not as open.
    """

    names: frozenset[str]
    said_done: frozenset[str] = frozenset()


def reading_of(role: PromptingRole, situation: Situation, instances: InstanceNames) -> Reading:
    """What the role's prompt of a situation says."""
    text = role.messages(situation)[-1].text
    names = names_in(text).intersection(instances.names)
    still_open = {stem(subtask) for subtask in situation.open_subtasks}
    said_done = frozenset(stem(subtask) for subtask in situation.completed_subtasks) - still_open
    return Reading(names, said_done)


def names_in(text: str) -> frozenset[str]:
    """What looks like an instance name, whether or not there is one."""
    return frozenset(_NAME.findall(text))


def known_to(reading: Reading, belief: Belief, instances: InstanceNames) -> Belief:
    """The part of a belief that a reader knows.

    Furniture is of the layout, so it stays; whether it is open and its states only if it is named.
    """
    named = {instances.entity_of(name) for name in reading.names}
    return replace(belief, nodes=dict(_kept(belief.nodes.values(), named)))


def _kept(nodes: Iterable[BeliefNode], named: set[str | None]) -> Iterable[tuple[str, BeliefNode]]:
    for node in nodes:
        if node.name in named or node.kind not in (EntityKind.OBJECT, EntityKind.FURNITURE):
            yield node.name, node
        elif node.kind is EntityKind.FURNITURE:
            yield node.name, replace(node, openness=None, states={})


def stem(subtask: str) -> str:
    """A subtask's first text; one that was done and is undone is open again under another."""
    while subtask.endswith(_AGAIN):
        subtask = subtask.removesuffix(_AGAIN)
    return subtask


def renewed(subtask: str, taken: set[str]) -> str:
    """A text for a subtask that is none of those taken, which are in lower case."""
    while subtask.casefold() in taken:
        subtask += _AGAIN
    return subtask


# The expert's calls as actions on their first argument, and the skills of actions as its calls.
_VERBS = {
    SkillName.NAVIGATE.value: Verb.NAVIGATE_TO,
    SkillName.EXPLORE_FURNITURE.value: Verb.NAVIGATE_TO,
    SkillName.PICK.value: Verb.PICKUP,
    SkillName.OPEN.value: Verb.OPEN,
    SkillName.CLOSE.value: Verb.CLOSE,
    SkillName.CLEAN.value: Verb.CLEAN,
    SkillName.POWER_ON.value: Verb.TOGGLE_ON,
    SkillName.POWER_OFF.value: Verb.TOGGLE_OFF,
    "Slice": Verb.SLICE,
}
_OWN_CALLS = {
    "NavigateTo": SkillName.NAVIGATE,
    "PickupObject": SkillName.PICK,
    "PutObject": SkillName.PLACE,
    "OpenObject": SkillName.OPEN,
    "CloseObject": SkillName.CLOSE,
    "CleanObject": SkillName.CLEAN,
    "ToggleObjectOn": SkillName.POWER_ON,
    "ToggleObjectOff": SkillName.POWER_OFF,
    "SliceObject": "Slice",
}
_SIDES_RAD = {"Ahead": 0.0, "Left": math.pi / 2, "Back": math.pi, "Right": -math.pi / 2}
# Turns and steps aside for one thing; how often to look around; a walk saves at least this.
MAX_TURNS = 6
LOOK_AROUND_EVERY = 6
WORTH_A_WALK_M = 1.0
SIGHT_M = 0.6
TURN = "turn"
NO_GOAL = (
    "the model teacher reads a structured goal, and this instruction has none: name an episode"
)


@record
class RightActions:
    """Of one moment.

    Attributes:
        actions: by agent (the memory's names).
        open_subtasks, completed_subtasks: the goal's propositions in words.
    """

    actions: Mapping[str, Action]
    open_subtasks: tuple[str, ...] = ()
    completed_subtasks: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return all(action == DONE for action in self.actions.values())


@record
class _Proposal:
    """What the expert would do, and the action that says so."""

    call: SkillCall
    action: Action


class RightTeam:
    """Follows a team's task beside its planner."""

    def __init__(self, task: Task, team: Team) -> None:
        self._task, self.team = task, team
        self._expert: Expert | None = None
        self._context: Context | None = None
        self._results: list[AgentResult] = []
        self._proposed: dict[str, _Proposal] = {}
        # By agent and what it shall see: vain attempts, and furniture that it went to for that.
        self._tried: Counter[tuple[str, str]] = Counter()
        self._passed: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        # Turns and steps by agent, place, heading and direction, which are made there once.
        self._vain: set[tuple[str, float, float, int, str]] = set()
        # By agent and what it shall see: rooms on the way in which it has looked around.
        self._looked_in: set[tuple[str, str, str | None]] = set()
        self._now: dict[Reading | None, RightActions] = {}
        # Of a task without a structured goal: who follows its words, and what it decided now.
        self._words: Words | None = None
        self._by_words: Decision | None = None
        # The reading that is being decided by.
        self._reading: Reading | None = None

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps how calls ended."""
        self._results += results

    def look(self, context: Context) -> None:
        """The moment of the next questions."""
        self._context = context
        self._by_words = None
        self._now.clear()

    @property
    def context(self) -> Context:
        """The moment.

        Raises:
            ModelError: before there is one.
        """
        if self._context is None:
            raise ModelError("the team has not looked at anything yet")
        return self._context

    async def now(self, reading: Reading | None = None) -> RightActions:
        """What to do in this moment.

        Args:
            reading: what is known; None = all that the memory knows.

        Raises:
            ModelError: if the task has no structured goal, and its words do not say what to do.
        """
        if reading not in self._now:
            self._now[reading] = await self._decide(reading)
        return self._now[reading]

    async def judged(self, reading: Reading | None) -> Mapping[str, bool | None]:
        """The goal's propositions in words, and whether each holds; None where that is unknown.

        Without a goal this is the instruction, done once nobody has anything to do.

        Raises:
            ModelError: as `now`.
        """
        if self._task.goal is None:
            return {self._task.instruction: (await self.now(reading)).is_over}
        if reading is None:
            right = await self.now()
            done = dict.fromkeys(right.completed_subtasks, True)
            return {t: done.get(t, False) for t in self._texts(self._followed()).values()}
        expert = self._followed()
        holds = expert.judged(self._known(reading))
        return {text: holds[index] for index, text in self._texts(expert).items()}

    def noted(self, reading: Reading) -> list[str]:
        """What a reader knows of each thing that its prompt names, things of the goal first."""
        belief, instances = self._known(reading).belief, self.team.instances
        subgoals = self._followed().subgoals if self._task.goal is not None else ()
        goal = {name for w in subgoals for name in (*w.first, *w.second)}
        names = sorted(
            (name for name in instances.names if name in reading.names),
            key=lambda name: instances.entity_of(name) not in goal,
        )
        nodes = ((name, belief.nodes.get(instances.entity_of(name) or "")) for name in names)
        return [_noted(name, node, self.team) for name, node in nodes if node is not None]

    def _known(self, reading: Reading | None) -> Context:
        """The moment as a reader knows it."""
        context = self.context
        if reading is None:
            return context
        return replace(context, belief=known_to(reading, context.belief, self.team.instances))

    def _followed(self) -> Expert:
        if self._task.goal is None:
            raise ModelError(NO_GOAL)
        expert = self._expert = self._expert or Expert(self._task)
        expert.observe(tuple(self._as_own(ended) for ended in self._results))
        self._results.clear()
        return expert

    def _texts(self, expert: Expert) -> dict[int, str]:
        return {subgoal.index: subtask_words(subgoal) for subgoal in expert.subgoals}

    async def _decide(self, reading: Reading | None) -> RightActions:
        if self._task.goal is None:
            return await self._decide_by_words(reading)
        expert, context = self._followed(), self._known(reading)
        texts = self._texts(expert)
        if reading is not None:
            expert.trust({index for index, text in texts.items() if text in reading.said_done})
            expert.forget_all_but(context.belief)
        self._reading = reading
        actions = self._actions_of(await expert.decide(context), context)
        done = expert.achieved
        return RightActions(
            actions,
            tuple(text for index, text in texts.items() if index not in done),
            tuple(text for index, text in texts.items() if index in done),
        )

    async def _decide_by_words(self, reading: Reading | None) -> RightActions:
        """By all that the memory knows: one moment has one decision (LLAMAR-D86)."""
        words = self._words = self._words or Words(self._task)
        if self._by_words is None:
            words.observe(tuple(self._as_own(ended) for ended in self._results))
            self._results.clear()
            decision = self._by_words = await words.decide(self.context)
            if decision.failure or decision.question:
                raise ModelError(f"{NO_GOAL}; its words: {decision.failure or decision.question}")
        self._reading = reading
        actions = self._actions_of(self._by_words, self.context)
        asked = (self._task.instruction,)
        is_over = all(action == DONE for action in actions.values())
        return RightActions(actions, *(((), asked) if is_over else (asked, ())))

    def _actions_of(self, decision: Decision, context: Context) -> Mapping[str, Action]:
        self._proposed = {
            agent: self._proposal(agent, decision.calls.get(agent), context)
            for agent in self._task.agents
        }
        return {agent: each.action for agent, each in self._proposed.items()}

    # The expert's calls as actions

    def _proposal(self, agent: str, call: SkillCall | None, context: Context) -> _Proposal:
        if call is None or call.name == SkillName.WAIT:
            # Whoever has nothing to do stays where it is.
            return _Proposal(SkillCall(SkillName.WAIT), IDLE)
        if call.name == SkillName.DONE:
            return _Proposal(call, DONE)
        target = (call.arguments[2] if call.name == SkillName.PLACE else call.arguments[0]) or ""
        name = self.team.instances.name_of(target)
        if name is None or not self._may_name(name):
            return self._towards(agent, call, target, context)
        if call.name == SkillName.PLACE:
            return _Proposal(call, self._put(name, target, call.arguments[1], context))
        verb = _VERBS.get(call.name)
        return _Proposal(call, Action(verb, name) if verb is not None else IDLE)

    def _may_name(self, name: str) -> bool:
        return self._reading is None or name in self._reading.names

    def _put(self, name: str, target: str, relation: str | None, context: Context) -> Action:
        wanted = Relation(relation or Relation.ON)
        node = context.belief.nodes.get(target)
        usual = known_thing(name, node, context.layout).puts if node is not None else None
        return Action(Verb.PUT, name, None if wanted is usual else wanted)

    def _towards(self, agent: str, call: SkillCall, target: str, context: Context) -> _Proposal:
        """To what nobody has seen: a turn, a known thing on the way, a step, or exploring."""
        place, here = context.belief.nodes.get(target), context.belief.nodes.get(agent)
        if place is None or here is None:
            return _Proposal(call, EXPLORE)
        if _is_all_around(target, here):
            return _Proposal(call, EXPLORE)
        if place.room is not None and place.room == here.room and self._steps:
            self._tried[agent, target] += 1
            if self._tried[agent, target] <= MAX_TURNS:
                return _Proposal(call, _turn(here, place))
        thing = self._on_the_way(agent, here, target, context)
        if thing is not None:
            return _Proposal(call, Action(Verb.NAVIGATE_TO, thing))
        self._tried[agent, target] += 1
        if not self._steps or self._looks_round(agent, here, target):
            return _Proposal(call, EXPLORE)
        return _Proposal(call, self._step(agent, here, target, context))

    def _looks_round(self, agent: str, here: BeliefNode, target: str) -> bool:
        """From now and then looking around more may be seen through doors.

        Where a task limits its actions, each room that is passed is looked at once (LLAMAR-D85).
        """
        if self._task.terms is None:
            return self._tried[agent, target] % LOOK_AROUND_EVERY == 1
        place = (agent, target, here.room)
        is_new = place not in self._looked_in
        self._looked_in.add(place)
        return is_new

    @property
    def _steps(self) -> bool:
        return self.team.options.small_steps

    def _on_the_way(
        self, agent: str, here: BeliefNode, target: str, context: Context
    ) -> str | None:
        """The known furniture from which the walk is shortest, if that saves some of it; once."""
        passed = self._passed[agent, target]
        walks, nodes = walk_map(context.layout), context.belief.nodes
        names = [
            (name, self.team.instances.entity_of(name))
            for name in self.team.instances.names
            if self._may_name(name)
        ]
        known = [
            (walks.distance_m(node.position_m[:2], target), name)
            for name, entity in names
            if (node := nodes.get(entity or "")) is not None
            and node.kind is EntityKind.FURNITURE
            and name not in passed
        ]
        now_m = walks.distance_m(here.position_m[:2], target)
        least_m, name = min(known, default=(now_m, ""))
        if least_m >= now_m - WORTH_A_WALK_M:
            return None
        passed.add(name)
        return name

    def _step(self, agent: str, here: BeliefNode, target: str, context: Context) -> Action:
        """On the shortest walk: a turn, once in each place, that more may be seen; then a step."""
        walks, heading_rad = walk_map(context.layout), here.heading_rad or 0.0
        x_m, y_m, _ = here.position_m
        place = (agent, round(x_m, 1), round(y_m, 1), round(heading_rad / (math.pi / 2)) % 4)

        def left_m(direction: str) -> float:
            angle_rad = heading_rad + _SIDES_RAD[direction]
            ahead = (x_m + SIGHT_M * math.cos(angle_rad), y_m + SIGHT_M * math.sin(angle_rad))
            return walks.distance_m(ahead, target)

        free = [way for way in DIRECTIONS if (*place, way) not in self._vain]
        if not free:
            return EXPLORE
        way = min(free, key=left_m)
        if way != DIRECTIONS[0] and (*place, TURN) not in self._vain:
            self._vain.add((*place, TURN))
            return Action(Verb.ROTATE, "Right" if way == "Right" else "Left")
        # Where it does not end elsewhere, it is not worth another attempt.
        self._vain.add((*place, way))
        return Action(Verb.MOVE, way)

    # What happened, as the expert's own calls

    def _as_own(self, ended: AgentResult) -> AgentResult:
        call, proposed = ended.call, self._proposed.get(ended.agent)
        name = _OWN_CALLS.get(call.name)
        if name is None:
            if call.name != "ExploreByView" or self._context is None:
                return ended
            # It has looked all around in its room, and stands somewhere else there.
            node = self._context.belief.nodes.get(ended.agent)
            wanted = proposed.call if proposed is not None else None
            place = wanted.arguments[0] if wanted is not None and wanted.arguments else None
            if node is None or wanted is None or not _is_all_around(place, node):
                wanted = SkillCall(SkillName.EXPLORE, ((node and node.room) or "",))
            return AgentResult(ended.agent, wanted, ended.result, ended.ended_s)
        own = SkillCall(name, call.arguments)
        is_look = proposed is not None and proposed.call.name == SkillName.EXPLORE_FURNITURE
        if proposed is not None and is_look and proposed.call.arguments == call.arguments:
            own = proposed.call
        return AgentResult(ended.agent, own, ended.result, ended.ended_s)


def subtask_words(subgoal: Subgoal) -> str:
    """A proposition as a subtask; the same text as long as the task runs."""
    things = " or ".join(dict.fromkeys(_plain(name) for name in subgoal.first))
    places = " or ".join(dict.fromkeys(_plain(name) for name in subgoal.second))
    words = str(subgoal.predicate).replace("_", " ")
    count = f"{subgoal.number} of " if subgoal.number > 1 else ""
    return f"{subgoal.index + 1}: {count}{things} {words} {places}".strip()


def _noted(name: str, node: BeliefNode, team: Team) -> str:
    """As the Actor's memory has it: where it is, and whether it stands open."""
    holder = team.instances.name_of(node.parent or "") or node.parent
    is_thing = node.kind is EntityKind.OBJECT
    where = f" {node.relation or 'at'} {_plain(holder)}" if is_thing and holder is not None else ""
    stands = "" if node.openness is None else " open" if is_open(node.openness) else " closed"
    return f"{name}{where}{stands}"


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _is_all_around(target: str | None, here: BeliefNode) -> bool:
    """Whether a place is the room itself in which an agent stands, or its floor."""
    return here.room is not None and target in (here.room, floor_name(here.room))


def _turn(here: BeliefNode, place: BeliefNode) -> Action:
    """By 90 degrees towards something in the room, or a step aside until it is straight ahead."""
    dx, dy = (place.position_m[i] - here.position_m[i] for i in (0, 1))
    turn_rad = math.remainder(math.atan2(dy, dx) - (here.heading_rad or 0.0), math.tau)
    verb = Verb.ROTATE if abs(turn_rad) > math.pi / 4 else Verb.MOVE
    return Action(verb, "Left" if turn_rad > 0 else "Right")
