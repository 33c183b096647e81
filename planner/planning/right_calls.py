"""What agents should call next, and the replies that say so: for privileged models (PARTNR-D64).

The planner `expert` decides by the structured goal, and `words` by the instruction of a task
without one. Nothing is computed until such a model asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from planner.models.chat import Fault, ModelError, Reader, Reference, ReferenceReply
from planner.models.replies.turn import THOUGHT, Naming, TurnForm, agent_label, word_of
from planner.planning.expert.expert import Expert
from planner.planning.planner import AgentResult, Context, Planner, Task
from planner.planning.words_planner import Words
from planner.world.belief import Belief
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import EntityKind, floor_name

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
        """Nothing has happened yet."""
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
            self._offered[agent] = offered(meant, context, naming)

    def _as_own(self, ended: AgentResult, belief: Belief) -> AgentResult:
        return replace(ended, call=self._own_call(ended.agent, ended.call, belief))

    def _own_call(self, agent: str, call: SkillCall, belief: Belief) -> SkillCall:
        """A call as that of the guide which was said so, by names."""
        nodes = [belief.find(word) if word is not None else None for word in call.arguments]
        words = [
            word if node is None else node.name
            for word, node in zip(call.arguments, nodes, strict=True)
        ]
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
            wrong = {
                fault: written_for_all({**right, one: call}, agents)
                for fault, call in faulty.items()
            }
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


def offered(call: SkillCall, context: Context, naming: Naming) -> SkillCall:
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
