"""A toy world that carries out skill calls in an instant and is seen as far as it was explored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pydantic import JsonValue

from planner.models.chat import Picture
from planner.planning.expert.expert import Expert
from planner.planning.planner import (
    AgentResult,
    Context,
    Decision,
    Exchange,
    Planner,
    Task,
    no_picture,
)
from planner.world.agents import capabilities_of
from planner.world.belief import Belief, BeliefNode, Guesses, Source
from planner.world.catalogue import default_catalogue
from planner.world.house import House
from planner.world.primitive import Capabilities
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.states import default_states
from planner.world.vocabulary import (
    AgentKind,
    EntityKind,
    Relation,
    floor_name,
)

_STATE_SKILLS = {
    SkillName.CLEAN: ("clean", True),
    SkillName.FILL: ("filled", True),
    SkillName.POWER_ON: ("powered_on", True),
    SkillName.POWER_OFF: ("powered_on", False),
}
Fault = Callable[[str, SkillCall], SkillResult | None]

Spots = dict[str, tuple[Relation, str]]
# Where things lie in the small house, unless a test says otherwise.
THINGS: Spots = {
    "cup_0": (Relation.ON, "table_0"),
    "apple_0": (Relation.ON, "table_0"),
    "book_0": (Relation.ON, "table_1"),
    "lamp_0": (Relation.ON, "table_1"),
    "spoon_0": (Relation.WITHIN, "chest_of_drawers_0"),
}


def capabilities(kind: AgentKind) -> Capabilities:
    found = capabilities_of(kind)
    assert found is not None
    return found


@dataclass
class ToyWorld:
    """`things` maps a name to (relation, parent); the unseen ones are in `hidden`.

    `taken_for` has what else a thing is taken for: believed class, second guesses.
    """

    house: House
    things: dict[str, tuple[Relation, str]]
    hidden: set[str] = field(default_factory=set)
    agents: dict[str, AgentKind] = field(
        default_factory=lambda: {"agent_0": AgentKind.ROBOT, "agent_1": AgentKind.HUMAN}
    )
    states: dict[str, dict[str, bool]] = field(default_factory=dict)
    fault: Fault = lambda agent, call: None
    names: Callable[[str], str] = lambda name: name
    taken_for: dict[str, tuple[str, Guesses]] = field(default_factory=dict)
    find: dict[str, str] = field(default_factory=dict)
    believed_open: set[str] = field(default_factory=set)
    decide_s: float = 0.0
    now_s: float = 0.0
    sequence: int = 0
    log: list[tuple[str, str, SkillCode]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.open: set[str] = set()
        self.offset: dict[str, float] = {}
        self.beside: dict[str, str] = {}
        self.near: dict[str, str] = {}
        self.position = {name: (1.5 + i, 2.0, 0.0) for i, name in enumerate(self.agents)}

    # ---- what is believed ---------------------------------------------------------------

    def belief(self) -> Belief:
        nodes: dict[str, BeliefNode] = {}
        for room in self.house.rooms:
            floor = floor_name(room.name)
            kind, middle = EntityKind.ROOM, room.shape.centroid
            at = (middle.x, middle.y, 0.0)
            nodes[room.name] = BeliefNode(room.name, kind, room.class_name, None, at)
            nodes[floor] = BeliefNode(
                floor, EntityKind.FURNITURE, "floor", None, at, room=room.name
            )
        for i, piece in enumerate(self.house.furniture):
            states = default_states().initial(piece.affordances)
            nodes[piece.name] = BeliefNode(
                piece.name,
                EntityKind.FURNITURE,
                piece.class_name,
                100 + i,
                (piece.x_m, piece.y_m, piece.size_m[2] / 2),
                size_m=piece.size_m,
                room=piece.room,
                parent=piece.room,
                affordances=piece.affordances,
                states=states | self.states.get(piece.name, {}),
                openness=float(piece.name in self.open | self.believed_open)
                if piece.joints
                else None,
            )
        for name, kind in self.agents.items():
            nodes[name] = BeliefNode(
                name,
                EntityKind.AGENT,
                kind.value,
                None,
                self.position[name],
                hands=tuple(
                    self.names(t)
                    for t, (r, p) in self.things.items()
                    if r is Relation.HELD and p == name
                ),
            )
        for i, (name, (relation, parent)) in enumerate(self.things.items()):
            if name in self.hidden:
                continue
            node = self._thing(150 + i, name, relation, parent)
            nodes[node.name] = node
        return Belief(self.now_s, self.sequence, nodes)

    def _thing(self, number: int, name: str, relation: Relation, parent: str) -> BeliefNode:
        class_name, maybe = self.taken_for.get(name, (name.rpartition("_")[0], ()))
        cls = default_catalogue().objects[class_name]
        piece = self.house.furniture_by_name.get(parent)
        if piece is not None:
            room, at = piece.room, (piece.x_m + self.offset.get(name, 0.0), piece.y_m, 0.8)
        elif parent in self.agents:
            at = self.position[parent]
            room = self.house.room_at(at[0], at[1]) or ""
        else:
            room = parent.removeprefix("floor_")
            middle = self.house.rooms_by_name[room].shape.centroid
            at = (middle.x + self.offset.get(name, 0.0), middle.y, 0.05)
        states = default_states().initial(cls.affordances)
        return BeliefNode(
            self.names(name),
            EntityKind.OBJECT,
            class_name,
            number,
            at,
            size_m=cls.size_m,
            room=room,
            parent=parent,
            relation=relation,
            affordances=cls.affordances,
            states=states | self.states.get(name, {}),
            source=Source.SEEN,
            stamp_s=self.now_s,
            maybe=maybe,
        )

    # ---- what happens -------------------------------------------------------------------

    def carry_out(self, agent: str, call: SkillCall) -> SkillResult:
        call = SkillCall(call.name, tuple(self.find.get(a or "", a) for a in call.arguments))
        self.now_s += 1.0
        self.sequence += 1
        result = self.fault(agent, call) or self._act(agent, call)
        self.log.append((agent, str(call), result.code))
        return result

    def true_name(self, name: str) -> str:
        return next((t for t in self.things if self.names(t) == name), name)

    def _act(self, agent: str, call: SkillCall) -> SkillResult:
        target = self.true_name(call.arguments[0] or "") if call.arguments else ""
        fail = SkillResult.failure
        if call.name in _STATE_SKILLS or call.name == SkillName.POUR:
            if self.agents[agent] is AgentKind.ROBOT:
                return fail(SkillCode.NOT_ABLE, "The robot cannot do that.")
            return self._change(agent, call.name, target)
        if call.name == SkillName.NAVIGATE:
            self._go(agent, target)
        elif call.name == SkillName.EXPLORE_FURNITURE:
            self._go(agent, target)
            self._see(target)
        elif call.name == SkillName.OPEN:
            if self.near.get(agent) != target:
                return fail(SkillCode.TOO_FAR, "It is too far.")
            if len(self._held(agent)) == capabilities(self.agents[agent]).hands:
                return fail(SkillCode.ALREADY_HOLDING, "No hand is free.")
            self.open.add(target)
            self._see(target)
        elif call.name == SkillName.CLOSE:
            if self.near.get(agent) != target:
                return fail(SkillCode.TOO_FAR, "It is too far.")
            self.open.discard(target)
        elif call.name == SkillName.PICK:
            return self._pick(agent, target)
        elif call.name == SkillName.PLACE:
            return self._place(agent, call)
        return SkillResult.success()

    def _go(self, agent: str, target: str) -> None:
        self.near[agent] = target
        place = self.things[target][1] if target in self.things else target
        piece = self.house.furniture_by_name.get(place)
        if piece is not None:
            self.position[agent] = (piece.x_m, piece.y_m, 0.0)

    def _see(self, furniture: str) -> None:
        for name, (relation, parent) in self.things.items():
            if parent == furniture and (relation is Relation.ON or self._visible_in(furniture)):
                self.hidden.discard(name)

    def _visible_in(self, furniture: str) -> bool:
        if furniture not in self.house.furniture_by_name:
            return False
        return furniture in self.open or not self.house.furniture_by_name[furniture].joints

    def _held(self, agent: str) -> list[str]:
        return [t for t, spot in self.things.items() if spot == (Relation.HELD, agent)]

    def _pick(self, agent: str, thing: str) -> SkillResult:
        fail = SkillResult.failure
        if thing not in self.things or thing in self.hidden:
            return fail(SkillCode.UNKNOWN_ENTITY, f"{thing} is not known.")
        relation, parent = self.things[thing]
        if len(self._held(agent)) == capabilities(self.agents[agent]).hands:
            return fail(SkillCode.ALREADY_HOLDING, "The hand is full.")
        if relation is Relation.HELD:
            return fail(SkillCode.HELD_BY_OTHER, "Somebody else has it.")
        if relation is Relation.WITHIN and not self._visible_in(parent):
            return fail(SkillCode.FURNITURE_CLOSED, f"{parent} is closed.")
        if self.near.get(agent) not in (thing, parent):
            return fail(SkillCode.TOO_FAR, "It is too far.")
        self.things[thing] = (Relation.HELD, agent)
        return SkillResult.success()

    def _place(self, agent: str, call: SkillCall) -> SkillResult:
        name, word, furniture, _, reference = call.arguments
        thing = self.true_name(name or "")
        fail = SkillResult.failure
        if thing not in self._held(agent) or furniture is None:
            return fail(SkillCode.NOT_HOLDING, f"{thing} is not in the hand.")
        if self.near.get(agent) not in (furniture, self.true_name(reference or "")):
            return fail(SkillCode.TOO_FAR, "It is too far.")
        relation = Relation(word or "")
        if relation is Relation.WITHIN and not self._visible_in(furniture):
            return fail(SkillCode.FURNITURE_CLOSED, f"{furniture} is closed.")
        other = self.true_name(reference or "")
        if reference is not None and other in self.things and self.things[other][1] != furniture:
            return fail(SkillCode.REFERENCE_ELSEWHERE, f"{reference} is not there.")
        self.things[thing] = (relation, furniture)
        # Everything put down without a neighbour is a metre from everything else.
        taken = [self.offset.get(t, 0.0) for t, spot in self.things.items() if spot[1] == furniture]
        self.offset[thing] = (
            self.offset.get(other, 0.0) + 0.2 if reference else max(taken, default=0.0) + 1.0
        )
        return SkillResult.success()

    def _change(self, agent: str, skill: str, target: str) -> SkillResult:
        held = self._held(agent)
        if skill == SkillName.POUR:
            full = [t for t in held if self.states.get(t, {}).get("filled", False)]
            if not full:
                return SkillResult.failure(SkillCode.SOURCE_EMPTY, "There is nothing to pour.")
            contents = [s for s in self.states[full[0]] if s.startswith("filled")]
            poured = {state: self.states[full[0]].pop(state) for state in contents}
            self.states.setdefault(target, {}).update(poured)
            return SkillResult.success()
        near = self.near.get(agent)
        if skill == SkillName.FILL:
            piece = self.house.furniture_by_name.get(near or "")
            if piece is None or piece.faucet is None:
                return SkillResult.failure(SkillCode.NO_FAUCET, "There is no faucet.")
        elif target not in (near, *held):
            return SkillResult.failure(SkillCode.TOO_FAR, "It is too far.")
        state, value = _STATE_SKILLS[skill]
        self.states.setdefault(target, {})[state] = value
        return SkillResult.success()


@dataclass
class Outcome:
    done: bool
    failure: str
    calls: list[tuple[str, str]]
    decisions: list[Decision]
    world: ToyWorld

    def of(self, agent: str) -> list[str]:
        return [call for who, call in self.calls if who == agent]


def prop(name: str, first: list[str], second: list[str] | None = None, **more: Any) -> Any:
    words = {
        "is_on_top": ("objects", "receptacles"),
        "is_inside": ("objects", "receptacles"),
        "is_in_room": ("objects", "rooms"),
        "is_next_to": ("entities_a", "entities_b"),
    }.get(name, ("objects", ""))
    args = {words[0]: first, **more}
    if second is not None:
        args[words[1]] = second
    return {"function_name": name, "args": args}


def run_goal(
    world: ToyWorld,
    propositions: list[Any],
    *,
    dependencies: Sequence[Any] = (),
    constraints: Sequence[Any] = (),
    agents: Sequence[str] = (),
) -> Outcome:
    goal = {
        "propositions": propositions,
        "dependencies": list(dependencies),
        "constraints": list(constraints),
    }
    task = task_of(world, goal, *agents)
    return play(Expert(task), world, task)


def task_of(world: ToyWorld, goal: Mapping[str, JsonValue], *agents: str) -> Task:
    return Task("do it", agents or tuple(world.agents), goal)


def play(
    planner: Planner,
    world: ToyWorld,
    task: Task,
    most: int = 200,
    answers: Sequence[str | None] = (),
    picture: Callable[[str], Picture | None] = no_picture,
) -> Outcome:
    """Runs calls one after the other; every idle agent has started before one ends.

    A question without an answer left ends the run.
    """
    layout = world.house.layout
    able = {name: capabilities(world.agents[name]) for name in task.agents}
    running: dict[str, SkillCall] = {}
    done: set[str] = set()
    outcome = Outcome(False, "", [], [], world)
    said: tuple[Exchange, ...] = ()
    for _ in range(most):
        idle = tuple(a for a in task.agents if a not in running and a not in done)
        if idle:
            context = Context(
                task,
                world.belief(),
                layout,
                able,
                dict(running),
                idle,
                world.now_s,
                answers=said,
                picture=picture,
            )
            began_s = time.perf_counter()
            decision = asyncio.run(planner.decide(context))
            world.decide_s += time.perf_counter() - began_s
            outcome.decisions.append(decision)
            if decision.question and not decision.failure and len(said) < len(answers):
                said += (Exchange(decision.question, answers[len(said)]),)
                continue
            if decision.failure or decision.question:
                return replace(outcome, failure=decision.failure or decision.question)
            for agent, call in decision.calls.items():
                assert agent in idle
                outcome.calls.append((agent, str(call)))
                if call.name == SkillName.DONE:
                    done.add(agent)
                else:
                    running[agent] = call
        if len(done) == len(task.agents):
            return replace(outcome, done=True)
        assert running, f"nobody does anything: {outcome.decisions[-1]}"
        agent = next(iter(running))
        call = running.pop(agent)
        result = world.carry_out(agent, call)
        planner.observe((AgentResult(agent, call, result, world.now_s),))
    raise AssertionError(f"not over after {most} steps: {outcome.calls[-10:]}")


@pytest.fixture
def toy_world(small_house: House) -> Callable[..., ToyWorld]:
    def make(*hidden: str, things: Spots | None = None, **more: Any) -> ToyWorld:
        return ToyWorld(small_house, dict(things or THINGS), set(hidden), **more)

    return make
