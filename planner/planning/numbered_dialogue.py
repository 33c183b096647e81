"""The dialogue in which entities are numbers (EPM-2.5), and which skills a model is offered.

`react` has it with a model, and traces of all planners are written in it, for models to learn from.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from random import Random

from planner.models.chat import Fault, ModelError, Reader, Reference, ReferenceReply
from planner.models.replies.turn import THOUGHT, Naming, TurnForm, agent_label, word_of
from planner.parts.calls import SKILLS
from planner.planning.expert.expert import Expert
from planner.planning.planner import AgentResult, Context, Planner, Task
from planner.planning.planner_model import Moment
from planner.planning.words_planner import Words
from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import default_catalogue
from planner.world.primitive import Capabilities, PrimitiveName
from planner.world.skill import SkillCall, SkillName
from planner.world.states import state_skill
from planner.world.vocabulary import EntityKind, Relation, floor_name, is_open

# Which skills a model is offered, and in which order.

# Placeholder in a paper's order for all skills that it does not name.
OTHERS = ""
# Skills of every body (config/agents.yaml), offered without checking abilities.
_COMMON = frozenset(
    {
        PrimitiveName.NAVIGATE,
        PrimitiveName.LOOK,
        PrimitiveName.PICK,
        PrimitiveName.PLACE,
        PrimitiveName.OPEN,
        PrimitiveName.CLOSE,
    }
)


def is_able(skill: str, able: Capabilities | None) -> bool:
    """Whether a body has the abilities that a skill needs beyond the common ones."""
    part = SKILLS.find(skill)
    primitives = able.primitives if able is not None else frozenset()
    return part is not None and part.abilities - _COMMON <= primitives


def in_order(skills: Iterable[str], order: Sequence[str]) -> tuple[str, ...]:
    """Sorts skills by a paper's order; those that it does not name go to `OTHERS`."""
    return tuple(sorted(skills, key=lambda n: (order.index(n if n in order else OTHERS), n)))


SYSTEM = (
    "You plan what a robot does in a house where several agents may work on the same task. You "
    "solve the task by going to furniture and things, by picking things up and by putting them "
    "down.\n"
    "Keep exactly to the format that is asked for. Before you choose, look at what was done "
    "before and how it ended. An agent can only handle what it is next to: navigate there first. "
    "You are the one who was given the task; whoever gave it speaks of itself as I and of you as "
    "you. If you find yourself repeating one action many times, something is wrong: do something "
    "else."
)
HINT = (
    "Use this description of the house. Think about which furniture is near to which, and about "
    "where things of a kind are usually kept."
)
QUESTION = (
    "What is the next action? Answer with nothing but the call and the word that ends your turn, "
    "in this format:\n"
    "<next action call>\n"
    "Assigned!\n"
    "For example:\n"
    "Navigate[<object>]\n"
    "Assigned!"
)
ENTITIES = "These are the entities known so far, with their rooms:"
ACTIONS = "Possible Actions:"
UPDATED = "The following objects were updated:"
UNCHANGED = "No object updates."

# The paper's order; skills that it does not have go before Done.
_ORDER = (
    SkillName.CLOSE,
    SkillName.EXPLORE_FURNITURE,
    SkillName.NAVIGATE,
    SkillName.OPEN,
    SkillName.PICK,
    SkillName.PLACE,
    SkillName.CLEAN,
    SkillName.FILL,
    SkillName.POUR,
    SkillName.POWER_ON,
    SkillName.POWER_OFF,
    OTHERS,
    SkillName.DONE,
)


ASKING = (
    "asks the person who gave the task; only where nothing else can settle it. "
    "Example: Ask[which of the two cups]"
)


def opening(
    instruction: str, belief: Belief, verbs: Sequence[str], *, may_ask: bool = False
) -> str:
    """The first user turn: task, entities, hint, actions, question."""
    lines = [entity_line(node) for node in numbered(belief)]
    return opening_text(instruction, lines, verbs, may_ask=may_ask)


def opening_text(
    instruction: str, entities: Sequence[str], verbs: Sequence[str], *, may_ask: bool = False
) -> str:
    """The same from the entities' lines."""
    lines = [f"Task: {instruction}", "", ENTITIES, *entities]
    lines += ["", HINT, "", ACTIONS]
    lines += [f"- {verb}: {SKILLS.get(verb).numbered_text}" for verb in verbs]
    if may_ask:
        lines.append(f"- Ask: {ASKING}")
    return "\n".join([*lines, "", QUESTION])


def offered(able: Capabilities | None) -> tuple[str, ...]:
    """The skills that an agent's body can do, in the order of the dialogue's actions."""
    skills = SKILLS.usable().items()
    return in_order((n for n, part in skills if part.numbered_text and is_able(n, able)), _ORDER)


def numbered(belief: Belief) -> list[BeliefNode]:
    """The entities with a number, by number."""
    nodes = [node for node in belief.nodes.values() if node.entity_id is not None]
    return sorted(nodes, key=lambda node: node.entity_id or 0)


def entity_line(node: BeliefNode) -> str:
    """`Object.100: washer dryer in bathroom_2`."""
    # One line, so that a description cannot pass for a line of the prompt.
    words = " ".join((node.description or node.class_name.replace("_", " ")).split())
    room = f" in {node.room}" if node.room is not None else ""
    return f"Object.{node.entity_id}: {words}{room}"


def result_turn(result: str, deltas: Sequence[str]) -> str:
    """The next user turn: the action's result and the memory's changes since then."""
    changes = [UPDATED, *deltas] if deltas else [UNCHANGED]
    return "\n".join([f"Result: {result}", *changes])


def whole_list_turn(result: str, belief: Belief) -> str:
    """The next user turn where it has all entities again: what EPM compares its changes with."""
    lines = [entity_line(node) for node in numbered(belief)]
    return "\n".join([f"Result: {result}", ENTITIES, *lines])


def without_list(turn: str) -> str:
    """A turn of `whole_list_turn` without its list; any other one itself."""
    return turn.partition(f"\n{ENTITIES}\n")[0] if turn.startswith("Result: ") else turn


class Wording(StrEnum):
    """How the dialogue is worded: as in the paper, or short."""

    PAPER = "paper"
    SHORT = "short"


def vain_calls(
    belief: Belief, verbs: Iterable[str], naming: Naming, moment: Moment
) -> Iterator[SkillCall]:
    """The calls of an agent that cannot succeed now or change nothing, whatever the task is."""
    if not moment.may_end:
        yield DONE
    for node in belief.nodes.values():
        word = word_of(node, naming)
        for verb in verbs if word else ():
            if _is_vain(verb, node, word, belief, moment):
                yield SkillCall(verb, (None, None, word) if verb == SkillName.PLACE else (word,))


def _is_vain(verb: str, node: BeliefNode, word: str, belief: Belief, moment: Moment) -> bool:
    base, of_class = belief.base_of(node), default_catalogue().furniture.get(node.class_name)
    if verb == SkillName.NAVIGATE:
        return word in (moment.at, *moment.held)
    if verb == SkillName.PICK:
        holder = belief.nodes.get(base.parent or "")
        is_shut = holder is not None and is_open(holder.openness) is False
        return base.relation is Relation.HELD or (is_shut and base.relation is Relation.WITHIN)
    if verb in (SkillName.OPEN, SkillName.CLOSE):
        return is_open(node.openness) is not (verb == SkillName.CLOSE)
    if verb == SkillName.PLACE:
        is_flat = of_class is not None and not (of_class.surfaces or of_class.interiors)
        return is_flat or base.relation is Relation.HELD
    skill = state_skill(verb)
    if skill is None:
        return False
    cls = of_class or default_catalogue().objects.get(node.class_name)
    able = node.affordances or (cls.affordances if cls is not None else None)
    is_so = all(node.states.get(state) is value for state, value in skill.sets.items())
    is_unable = able is not None and SKILLS.get(verb).affordance not in able
    return is_so or is_unable or (skill.needs.hand is not None and not moment.held)


# What agents should call next, and the replies that say so: for privileged models (PARTNR-D64).
#
# The planner `expert` decides by the structured goal, and `words` by the instruction of a task
# without one. Nothing is computed until such a model asks for it.

DONE = SkillCall(SkillName.DONE)
WAIT = SkillCall(SkillName.WAIT)
# A class of which no house has any.
INVENTED = "samovar"
_WALKS = frozenset({SkillName.NAVIGATE, SkillName.EXPLORE, SkillName.EXPLORE_FURNITURE})


def guide_of(task: Task) -> Planner:
    """The planner without a model that knows what is right: by the goal, else by the words."""
    return Expert(task) if task.goal is not None else Words(task)


class RightCalls:
    """Follows a task beside its planner; see `planner.models.chat`."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._guide: Planner | None = None
        self._results: list[AgentResult] = []
        self._moment: Context | None = None
        # By agent: what the guide means by its latest call, and how that is said.
        self._meant: dict[str, SkillCall] = {}
        self._offered: dict[str, SkillCall] = {}
        # By agent: its last right call.
        self._last: dict[str, SkillCall] = {}
        self._asked = 0

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps how calls ended."""
        self._results += results

    async def call(self, agent: str, context: Context, naming: Naming) -> SkillCall:
        """What an idle agent should do next; it waits where there is nothing for it.

        Raises:
            ModelError: if the guide gives up, or would have to ask the person.
        """
        if self._moment is not context:
            await self._look(context, naming)
        return self._offered.get(agent, WAIT)

    async def _look(self, context: Context, naming: Naming) -> None:
        guide = self._guide = self._guide or guide_of(self._task)
        guide.observe(tuple(self._as_own(ended, context.belief) for ended in self._results))
        self._results.clear()
        running = {
            agent: self._own_call(agent, call, context.belief)
            for agent, call in context.running.items()
            if call.name != SkillName.WAIT
        }
        # Whoever waits is free, or two who are done would wait for each other.
        waiting = set(context.running) - set(running)
        free = tuple(one for one in context.task.agents if one in (*context.idle, *waiting))
        decision = await guide.decide(replace(context, running=running, idle=free))
        if decision.failure or decision.question:
            words = decision.failure or f"it would ask: {decision.question}"
            raise ModelError(f"{guide.name} knows nothing right to do: {words}")
        self._moment = context
        for agent in context.idle:
            meant = self._meant[agent] = decision.calls.get(agent, WAIT)
            self._offered[agent] = as_offered(meant, context, naming)

    def _as_own(self, ended: AgentResult, belief: Belief) -> AgentResult:
        return replace(ended, call=self._own_call(ended.agent, ended.call, belief))

    def _own_call(self, agent: str, call: SkillCall, belief: Belief) -> SkillCall:
        """A call as that of the guide which was said so, by names."""
        nodes = [belief.find(word) if word is not None else None for word in call.arguments]
        words = [w if n is None else n.name for w, n in zip(call.arguments, nodes, strict=True)]
        named = SkillCall(call.name, tuple(words))
        return self._meant[agent] if self._offered.get(agent) == named else named

    def reference(self, agent: str, context: Context, form: TurnForm, naming: Naming) -> Reference:
        """The right reply of one agent's dialogue, and that with a fault."""

        async def reply(random: Random, reader: Reader) -> ReferenceReply:
            del reader
            call = await self.call(agent, context, naming)
            faulty = faulty_calls(call, self._last.get(agent), context.belief, naming, random)
            self._last[agent] = call

            def text(one: SkillCall) -> str:
                return written(one, context.belief, form, naming)

            wrong = {fault: text(one) for fault, one in faulty.items()}
            return ReferenceReply(text(call), wrong, acts=True)

        return self._asked_for(reply)

    def team_reference(self, context: Context) -> Reference:
        """The right reply of the one dialogue of all agents, and that with a fault."""

        async def reply(random: Random, reader: Reader) -> ReferenceReply:
            del reader
            agents = context.task.agents
            right = {agent: context.running.get(agent, WAIT) for agent in agents}
            for agent in context.idle:
                right[agent] = await self.call(agent, context, Naming.NAMES)
            one = random.choice(sorted(context.idle))
            faulty = faulty_calls(
                right[one], self._last.get(one), context.belief, Naming.NAMES, random
            )
            self._last |= {agent: right[agent] for agent in context.idle}
            wrong = {f: written_for_all({**right, one: c}, agents) for f, c in faulty.items()}
            return ReferenceReply(written_for_all(right, agents), wrong, acts=True)

        return self._asked_for(reply)

    def _asked_for(self, reply: Callable[[Random, Reader], Awaitable[ReferenceReply]]) -> Reference:
        self._asked += 1
        task = self._task
        return Reference(f"{task.seed} {task.instruction} {self._asked}", reply)


def faulty_calls(
    right: SkillCall, before: SkillCall | None, belief: Belief, naming: Naming, random: Random
) -> dict[Fault, SkillCall]:
    """What a model may call instead; `before` is the agent's last right call."""
    found = {} if right == DONE else {Fault.EARLY_DONE: DONE}
    if before is not None and before not in (right, DONE, WAIT):
        found[Fault.REPEATED_STEP] = before
    node = belief.find(right.arguments[0]) if right.arguments and right.arguments[0] else None
    if node is None:
        return found
    rest = right.arguments[1:]
    unknown = "Object.9999" if naming is Naming.NUMBERS else f"{INVENTED}_0"
    found[Fault.INVENTED_ENTITY] = SkillCall(right.name, (unknown, *rest))
    alike = [
        other.name
        for other in belief.nodes.values()
        if other.kind is node.kind and other is not node and word_of(other, naming)
    ]
    if alike:
        found[Fault.WRONG_ENTITY] = SkillCall(right.name, (random.choice(sorted(alike)), *rest))
    return found


def as_offered(call: SkillCall, context: Context, naming: Naming) -> SkillCall:
    """A call that a paper's planner is offered, for one with which the guide searches.

    Where entities have numbers, rooms and floors have none: it walks to furniture there instead.
    With names, nobody is offered to go and look, and whoever walks somewhere sees what is there.
    """
    place = call.arguments[0] if call.name in _WALKS else None
    node = context.belief.find(place) if place is not None else None
    if naming is Naming.NAMES:
        searches = call.name == SkillName.EXPLORE_FURNITURE
        return SkillCall(SkillName.NAVIGATE, (place,)) if searches else call
    if place is None or (node is not None and node.entity_id is not None):
        return call
    piece = _furniture_at(place, context)
    return call if piece is None else SkillCall(SkillName.NAVIGATE, (piece,))


def _furniture_at(place: str, context: Context) -> str | None:
    """The furniture nearest to the middle of a room, of which the place is the name or floor."""
    rooms = context.layout.rooms
    room = next((one for one in rooms if place in (one.name, floor_name(one.name))), None)
    if room is None:
        return None
    middle = room.shape.centroid
    away_m = {
        node.name: math.dist(node.position_m[:2], (middle.x, middle.y))
        for node in context.belief.nodes.values()
        if node.kind is EntityKind.FURNITURE and node.room == room.name and node.entity_id
    }
    return min(away_m, key=away_m.__getitem__, default=None)


def written(call: SkillCall, belief: Belief, form: TurnForm, naming: Naming) -> str:
    """A turn that has one call, without its end."""
    nodes = [belief.find(word) if word is not None else None for word in call.arguments]
    words = [
        (word_of(node, naming) or word) if node is not None else word
        for word, node in zip(call.arguments, nodes, strict=True)
    ]
    call = SkillCall(call.name, tuple(words))
    return f"{THOUGHT}This is the next step.\n{call}" if form is TurnForm.THOUGHT else str(call)


def written_for_all(calls: Mapping[str, SkillCall], agents: Sequence[str]) -> str:
    """A turn that has a call for each agent, or says that the task is done, without its end."""
    lines = [f"{agent_label(number)}: {calls[agent]}" for number, agent in enumerate(agents)]
    body = str(DONE) if DONE in calls.values() else "\n".join(lines)
    return f"{THOUGHT}This is the next step.\n{body}"
