"""Planner `open_loop`: what EPM shows DynaMem's memory with (EPM-2.9).

A model splits the instruction into picks and places before anything was done; nobody looks back.
Each looks its words up in the memory, or else searches the house. How a call ends changes nothing
of the plan: only a thing that is nowhere is left with its places, and where a piece of furniture
is nowhere any table serves. One agent carries the plan out.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from random import Random

from planner.models.caller import Caller
from planner.models.chat import (
    Fault,
    Message,
    ModelError,
    Reader,
    Reference,
    ReferenceReply,
    Speaker,
)
from planner.models.replies.form import ReplyError, check_length
from planner.planning.errands import is_meant, is_room_word, spelled
from planner.planning.expert.facts import PLACING, read_goal
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import default_catalogue
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import EntityKind, Relation

# DynaMem's planning prompt for picks and places alone, and the form of its reply (EPM-2.9).

# Ours; a task of PARTNR has a few.
MAX_STEPS = 60
_STEP = re.compile(r"([A-Za-z]+)\[([^\[\]\n]*)\]")
_PROMPT = """\
You are a helpful planning agent who helps with household tasks. Your job is to break down the \
given instruction into a list of actions. Each subtask should be a single action that can be \
executed by the agent. The agent only understands following actions:

- Pick[object-name, context]
- Place[furniture-name, context]
- Done[]

If there is no additional context to the object then only use the object-name do not add any \
unspecified context. The object's name should always be the first in this list. The agent can only \
pick and place objects. It cannot move them directly. The agent can only pick up one object at a \
time. The agent can only place the object in one location at a time.

Following are a few examples of how to break down the instruction into subtasks:

Example 1:
Instruction: Help me move the duck toy from the chest of drawers in play room to the living room.
Actions:
- Pick[duck toy, chest of drawers in play room]
- Place[table, living room]
- Done[]

Example 2:
Instruction: Let's decorate! Move the vase and the plate from the kitchen to the bedroom.
Actions:
- Pick[vase, in kitchen]
- Place[bed, in bedroom]
- Pick[plate, in kitchen]
- Place[bed, in bedroom]
- Done[]

Example 3:
Instruction: I need a clean-up in this house. Move the apple to the kitchen counter and the banana \
to the fridge.
Actions:
- Pick[apple]
- Place[kitchen counter]
- Pick[banana]
- Place[fridge]
- Done[]

Input:
"""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A primitive: `verb` is Pick or Place, `words` name what it is about with its context."""

    verb: SkillName
    words: str

    def __str__(self) -> str:
        return f"{self.verb}[{self.words}]"


def plan_prompt(instruction: str) -> tuple[Message, ...]:
    """The whole prompt; the reply is the list of actions."""
    text = f"{_PROMPT}Instruction: {' '.join(instruction.split())}\nActions:\n"
    return (Message(Speaker.USER, text),)


def plan_text(steps: tuple[PlanStep, ...]) -> str:
    """A plan as a model writes it."""
    return "\n".join(f"- {step}" for step in (*steps, f"{SkillName.DONE}[]"))


@dataclass(frozen=True, slots=True)
class PlanReply:
    """A plan; a `planner.models.replies.form.ReplyForm`. What follows `Done[]` is not read."""

    max_tokens: int = 1024
    stop: tuple[str, ...] = ("Instruction:",)
    grammar: str = (
        f'root ::= step{{0,{MAX_STEPS}}} "- Done[]"\n'
        'step ::= "- " ("Pick" | "Place") "[" [A-Za-z0-9] [A-Za-z0-9 ,\'_-]{0,79} "]\\n"\n'
    )

    def read(self, text: str, *, ended: bool) -> tuple[PlanStep, ...]:
        """The steps before `Done[]`.

        Raises:
            ReplyError: for another action, one without a name, too many, or a plan cut off.
        """
        check_length(text)
        steps: list[PlanStep] = []
        for verb, inside in _STEP.findall(text):
            if verb == SkillName.DONE:
                return tuple(steps)
            if verb not in (SkillName.PICK, SkillName.PLACE):
                raise ReplyError(f"there is no action {verb}; known are Pick, Place and Done")
            if not (words := " ".join(inside.split()).strip(" ,")):
                raise ReplyError(f"action {len(steps) + 1}: {verb}[] names nothing")
            if len(steps) == MAX_STEPS:
                raise ReplyError(f"the plan has more than {MAX_STEPS} actions")
            steps.append(PlanStep(SkillName(verb), words))
        if not steps:
            raise ReplyError("the reply has no action")
        if not ended:
            raise ReplyError("the plan is cut off before Done[]")
        return tuple(steps)


# The second attempt has the reason why the first was refused.
MAX_ATTEMPTS = 2
_DONE = SkillCall(SkillName.DONE)
_ANY_TABLE = "table"
_SPLIT = re.compile(r"\s*,\s*|\s+(?=(?:in|on|from|at|inside)\s)")
_NOT_NAMED = re.compile(r"^(?:(?:in|on|from|at|inside|the|a|an)\s+)+", re.IGNORECASE)


class OpenLoop:
    """The planner's state for one task."""

    name = "open_loop"

    def __init__(self, task: Task, caller: Caller) -> None:
        self._task, self._caller, self._robot = task, caller, task.agents[0]
        self._steps: deque[PlanStep] | None = None
        self._calls: deque[SkillCall] = deque()
        self._thing = ""
        self._picked: set[str] = set()
        # A room that was explored is in the memory as far as it can be seen.
        self._explored: set[str] = set()
        self._planned = 0
        # Steps that could not be begun, and calls that failed: told at the end, and no more.
        self._wrong: list[str] = []

    async def decide(self, context: Context) -> Decision:
        """The next call of the plan; at its end what went wrong.

        Raises:
            ModelError: if there is no reply.
        """
        if self._robot not in context.idle:
            return Decision()
        if self._steps is None:
            problem = await self._plan(context)
            if problem:
                return Decision(failure=f"no plan came in {MAX_ATTEMPTS} replies: {problem}")
        call = self._calls.popleft() if self._calls else self._next(context)
        if call is not None:
            return Decision({self._robot: call}, evidence=self._evidence())
        told = f"; {len(self._wrong)} times it went wrong: {self._wrong[0]}" if self._wrong else ""
        calls = dict.fromkeys(context.idle, _DONE)
        return Decision(calls, f"the plan has ended{told}", evidence=self._evidence())

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Counts what failed."""
        self._wrong += [f"{r.call}: {r.result.text}" for r in results if not r.result.succeeded]

    def _evidence(self) -> dict[str, str]:
        left = len(self._steps or ())
        return {"plan_steps": f"{self._planned - left} of {self._planned}"}

    async def _plan(self, context: Context) -> str:
        """Asks for the plan; returns what is wrong with the last reply, "" = nothing."""
        messages, problem = plan_prompt(self._task.instruction), ""
        for cycle in range(1, MAX_ATTEMPTS + 1):
            reply = await self._caller.ask(
                messages,
                PlanReply(),
                agents=(self._robot,),
                cycle=cycle,
                reference=self._reference(context, cycle),
            )
            if reply.value is not None:
                self._steps, self._planned = deque(reply.value), len(reply.value)
                return ""
            problem = str(reply.error)
            wrong = Message(Speaker.ASSISTANT, reply.completion.text[:1000])
            messages += (wrong, Message(Speaker.USER, f"Wrong: {problem}\nActions:\n"))
        return problem

    def _next(self, context: Context) -> SkillCall | None:
        """The first call of the next step that can be begun; None at the plan's end."""
        steps = self._steps or deque()
        while steps:
            step = steps[0]
            if step.verb is SkillName.PLACE and not self._thing:
                steps.popleft()
                self._wrong.append(f"{step}: nothing was picked")
                continue
            node = self._found(step, context, anywhere=False)
            if node is None and (room := self._unexplored(context)):
                self._explored.add(room)
                return SkillCall(SkillName.EXPLORE, (room,))
            node = node or self._found(step, context, anywhere=True)
            steps.popleft()
            if node is None:
                self._leave(step, steps)
                continue
            self._calls.extend(self._carried_out(step, node, context))
            return self._calls.popleft()
        return None

    def _found(self, step: PlanStep, context: Context, *, anywhere: bool) -> BeliefNode | None:
        """What a step is about; `anywhere` as of `look_up`, and then any table for furniture."""
        taken = self._picked if step.verb is SkillName.PICK else ()
        node = look_up(step, context.belief, self._robot, taken, anywhere=anywhere)
        if node is None and anywhere and step.verb is SkillName.PLACE:
            any_table = PlanStep(step.verb, _ANY_TABLE)
            node = look_up(any_table, context.belief, self._robot, taken, anywhere=True)
        return node

    def _leave(self, step: PlanStep, steps: deque[PlanStep]) -> None:
        """Goes on with the next pick, if it is a thing that was not found."""
        self._wrong.append(f"{step}: not found in the whole house")
        self._thing = ""
        while step.verb is SkillName.PICK and steps and steps[0].verb is SkillName.PLACE:
            steps.popleft()

    def _unexplored(self, context: Context) -> str:
        """The nearest room that the plan has not searched; "" = none is left."""
        rooms = [room for room in context.layout.rooms if room.name not in self._explored]
        x_m, y_m, _ = _position(context.belief, self._robot)

        def away_m(number: int) -> float:
            middle = rooms[number].shape.centroid
            return math.hypot(middle.x - x_m, middle.y - y_m)

        return rooms[min(range(len(rooms)), key=away_m)].name if rooms else ""

    def _carried_out(
        self, step: PlanStep, node: BeliefNode, context: Context
    ) -> Iterator[SkillCall]:
        yield SkillCall(SkillName.NAVIGATE, (node.name,))
        if step.verb is SkillName.PICK:
            self._thing = node.name
            self._picked.add(node.name)
            yield SkillCall(SkillName.PICK, (node.name,))
            return
        piece = context.layout.furniture_by_name.get(node.name)
        # Plans do not say whether something goes onto furniture or into it; nothing is opened.
        within = piece is not None and not piece.surfaces and piece.interiors
        relation = Relation.WITHIN if within else Relation.ON
        words = (self._thing, relation.value, node.name, None, None)
        self._thing = ""
        yield SkillCall(SkillName.PLACE, words)

    def _reference(self, context: Context, cycle: int) -> Reference:
        async def reply(random: Random, reader: Reader) -> ReferenceReply:
            del random, reader
            steps = right_plan(self._task, context)
            faulty = {Fault.EARLY_DONE: plan_text(()), Fault.SKIPPED_STEP: plan_text(steps[2:])}
            return ReferenceReply(plan_text(steps), faulty, acts=True)

        return Reference(f"{self._task.seed} {self._task.instruction} {cycle}", reply)


def look_up(
    step: PlanStep, belief: Belief, agent: str, taken: Collection[str], *, anywhere: bool
) -> BeliefNode | None:
    """What the words of a step mean: of what fits as well the nearest to the agent.

    Args:
        step: its words are a name, then context after a comma or a preposition, or a room before
            the name.
        belief: what is known.
        agent: that carries it out.
        taken: things that are not meant any more.
        anywhere: whether a thing counts that its context does not fit, since no other was found.
    """
    kind = EntityKind.OBJECT if step.verb is SkillName.PICK else EntityKind.FURNITURE
    here = _position(belief, agent)
    for name, context in _readings(step.words):
        found = [
            (-sum(_fits(node, w, belief) for w in context), math.dist(node.position_m, here), node)
            for node in belief.of_kind(kind)
            if is_meant(node.class_name, name)
            and node.name not in taken
            and node.relation is not Relation.HELD
        ]
        best = min(found, key=lambda one: (*one[:2], one[2].name), default=None)
        if best is not None and (anywhere or -best[0] == len(context)):
            return best[2]
    return None


def _readings(words: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A name and the words of its context: "bedroom table" is a table in a bedroom."""
    name, *context = (_NOT_NAMED.sub("", part).strip() for part in _SPLIT.split(words))
    around = tuple(word for word in context if word)
    parts = name.split()
    splits = [n for n in range(1, len(parts)) if is_room_word(" ".join(parts[:n]))]
    catalogue = default_catalogue()
    for number in splits:
        yield " ".join(parts[number:]), (" ".join(parts[:number]), *around)
    if not splits or catalogue.furniture_name(name) or catalogue.object_name(name):
        yield name, around


def _fits(node: BeliefNode, word: str, belief: Belief) -> bool:
    """Whether something is in the room, or at the furniture, that a word of its context means."""
    places = (
        belief.nodes.get(node.room or ""),
        belief.nodes.get(belief.base_of(node).parent or ""),
    )
    return any(
        is_meant(place.class_name, word) or spelled(place.name) == spelled(word)
        for place in places
        if place is not None
    )


def _position(belief: Belief, agent: str) -> tuple[float, float, float]:
    node = belief.nodes.get(agent)
    return (0.0, 0.0, 0.0) if node is None else node.position_m


def right_plan(task: Task, context: Context) -> tuple[PlanStep, ...]:
    """A plan for what picks and places can do of a goal: what the model `teacher` answers.

    Raises:
        ModelError: without a goal, or for one of which that is nothing.
    """
    if task.goal is None:
        raise ModelError("a right plan follows from a goal, and the task has none")
    goal = read_goal(task.goal)
    steps: list[PlanStep] = []

    def depth(index: int) -> int:
        return max((1 + depth(earlier) for earlier in goal.before[index]), default=0)

    for subgoal in sorted(goal.subgoals, key=lambda one: (depth(one.index), one.index)):
        if subgoal.index in goal.watched or subgoal.predicate not in PLACING:
            continue
        for thing in subgoal.first[: subgoal.number]:
            steps.append(PlanStep(SkillName.PICK, _thing_words(thing, context)))
            steps.append(PlanStep(SkillName.PLACE, _place_words(subgoal.second, context)))
    if not steps:
        raise ModelError("nothing of the goal can be done by picks and places")
    return tuple(steps)


def _thing_words(name: str, context: Context) -> str:
    """Its class, with its room as far as it is known."""
    node = context.belief.nodes.get(name)
    if node is None:
        return name.rpartition("_")[0].replace("_", " ")
    kind = node.class_name.replace("_", " ")
    return f"{kind}, in {node.room}" if node.room else kind


def _place_words(names: tuple[str, ...], context: Context) -> str:
    """Furniture with its room; of a room its floor."""
    name = names[0] if names else ""
    piece = context.layout.furniture_by_name.get(name)
    if piece is not None:
        return f"{piece.class_name.replace('_', ' ')}, in {piece.room}"
    return f"floor, in {name.removeprefix('floor_')}"
