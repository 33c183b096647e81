"""Conformance check of skills.

Their calls are carried out in this process, in the simulator that the house is usually run in, with
ground truth as the belief.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from planner.app.embedded_run import usual_backend
from planner.app.in_process_world import BackendPort
from planner.memory.memory import Memory
from planner.memory.updater import Facts, Operation
from planner.memory.wording import describe
from planner.models.replies.turn import (
    ASK,
    Ability,
    Naming,
    TurnForm,
    read_turn,
    turn_grammar,
    words_of,
)
from planner.parts.calls import parse_call
from planner.parts.catalog import Finding, Report, Verdict, checked
from planner.planning.planner_inputs import full_belief
from planner.skills.executor import SkillExecutor
from planner.skills.part import SKILLS, SkillPart
from planner.skills.results import Team
from planner.world.belief import Belief, BeliefNode, Entity, OperationKind
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.person import PERSON_CLASS
from planner.world.primitive import PrimitiveName
from planner.world.skill import PLACE_ROLES, CallError, Role, SkillCall, SkillCode, SkillResult
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, is_open
from sim_bridge.backend import Drawn, make_backend

# A simulator with a skill executor for each agent, using ground truth as belief.
#
# Also compares a memory that receives only skill results with the true state.

DT_S = 1 / 30
MAX_CALL_S = 900.0


class SkillWorld:
    """An episode's world in which skills can be called."""

    def __init__(self, house: House, episode: Episode) -> None:
        """Loads the episode; nothing is rendered."""
        drawn = Drawn(pictures=False, instances=False)
        self.backend = make_backend(usual_backend(house), drawn=drawn)
        self.layout = house.layout
        self._house, self._episode = house, episode
        self.reset()

    def __enter__(self) -> Self:
        """Returns the world."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Closes the simulator."""
        self.backend.close()

    def reset(self) -> None:
        """Restarts the episode."""
        self.backend.reset(self._house, self._episode, self._episode.seed)
        self.reports: list[tuple[SkillCall, SkillResult]] = []
        team = Team()
        self.executors = {
            agent: SkillExecutor(
                self.layout,
                BackendPort(self.backend, agent),
                lambda: full_belief(self.state),
                team=team,
                report=lambda call, result: self.reports.append((call, result)),
            )
            for agent in self.backend.agents
        }

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents' names."""
        return tuple(self.executors)

    @property
    def state(self) -> WorldState:
        """The true state of the world."""
        state = self.backend.world_state()
        if state is None:
            raise ValueError("the simulator has no state before its first episode")
        return state

    def primitives(self, agent: str) -> frozenset[str]:
        """The primitives of an agent's body."""
        return self.executors[agent].capabilities.primitives

    def agent_for(self, part: SkillPart) -> str | None:
        """The first agent with the abilities that the skill needs."""
        able = (agent for agent in self.agents if part.abilities <= self.primitives(agent))
        return next(able, None)

    def run(self, call: SkillCall | str, agent: str) -> SkillResult:
        """Carries out one call to its end.

        Raises:
            PlannerError: if it does not end in time.
        """
        executor = self.executors[agent]
        result = executor.start(call)
        until_s = self.backend.now_s() + MAX_CALL_S
        while result is None:
            if self.backend.now_s() > until_s:
                raise PlannerError(f"{call} has not ended after {MAX_CALL_S:g} s")
            self.backend.step(DT_S)
            result = executor.step()
        return result


def forgotten_effects(
    layout: House,
    before: WorldState,
    after: WorldState,
    agent: str,
    reports: Sequence[tuple[SkillCall, SkillResult]],
) -> str:
    """How a memory of the state before, given only the results, differs from the state after.

    Compares only what has changed in the world or in the memory; "" if all agrees.
    """
    memory = Memory(layout, None)
    memory.edit([_add_operation(entity) for entity in _objects(before)], "check", before.stamp_s)
    known = {entity.name: facts_of(entity) for entity in memory.entities}
    for call, result in reports:
        memory.note_result(agent, call, result, after.stamp_s)
    for entity in memory.entities:
        truth = after.entities.get(entity.name)
        if truth is None:
            if entity.name in before.entities:
                return f"{entity.name} is gone, and the memory still has it"
            continue
        now, was = facts_of(truth), facts_of(before.entities[entity.name])
        believed, knew = facts_of(entity), known[entity.name]
        for key in sorted(now.keys() | believed.keys()):
            # A state that is not mentioned does not hold.
            value, held = now.get(key, False), believed.get(key, False)
            changed = value != was.get(key, False) or held != knew.get(key, False)
            if changed and held != value:
                return f"{entity.name}: {key} is {value}, the memory has {held}"
    return ""


def _objects(state: WorldState) -> Iterator[EntityState]:
    return (e for e in state.entities.values() if e.kind is EntityKind.OBJECT)


def _add_operation(entity: EntityState) -> Operation:
    return Operation(
        OperationKind.ADD,
        description=describe(entity.class_name, entity.states or {}),
        position_m=entity.box.center_m,
        name=entity.name,
        facts=Facts(
            entity.class_name,
            entity.size_m,
            entity.parent,
            entity.relation,
            entity.room,
            entity.states or {},
        ),
    )


def facts_of(entity: Entity | EntityState) -> dict[str, object]:
    """What effects change: place, openness, states."""
    states = {str(state): value for state, value in (entity.states or {}).items()}
    return {
        "parent": entity.parent,
        "relation": entity.relation,
        "open": is_open(entity.openness),
        **states,
    }


MAX_TRIES = 12
_NAME = re.compile(r"[A-Za-z]{1,40}")
_OF_AGENT = re.compile(r"\s*(agent_\d+):\s*")
_NOBODY = "nothing_99"
_EVIDENCE = ("agent", "primitives")
# Long enough for a body to start moving, and to notice that one does not stop.
_BEGIN_STEPS, _STILL_STEPS, _STOP_STEPS = 5, 30, 300
_STILL_M = 0.01
_KINDS = {
    Role.OBJECT: (EntityKind.OBJECT,),
    Role.FURNITURE: (EntityKind.FURNITURE,),
    Role.RECEPTACLE: (EntityKind.FURNITURE,),
    Role.ROOM: (EntityKind.ROOM,),
    Role.OBJECT_OR_FURNITURE: (EntityKind.OBJECT, EntityKind.FURNITURE),
    Role.TARGET: (EntityKind.OBJECT, EntityKind.FURNITURE, EntityKind.ROOM),
    Role.PERSON: (EntityKind.OBJECT,),
    Role.DESTINATION: (EntityKind.FURNITURE, EntityKind.ROOM),
}


@dataclass(frozen=True, slots=True)
class _Tried:
    """A call that was carried out, after the calls that made it possible."""

    before: tuple[str, ...]
    call: SkillCall
    result: SkillResult
    changed: bool
    forgotten: str


def check_skill(
    name: str, house: House, episode: Episode, call: str = "", before: Sequence[str] = ()
) -> Report:
    """Runs all checks.

    Args:
        name: the skill's name in calls.
        house: the episode's.
        episode: with agents and objects for the skill.
        call: one that should succeed; "" = try calls made from what is there.
        before: the calls that make it possible, of the same agent or as `agent_1: Carry[...]`.

    Raises:
        PlannerError: if there is no such skill, or it cannot be used.
        CallError: if `call` is not a skill call.
    """
    part = SKILLS.get(name)
    given = parse_call(call) if call else None
    with SkillWorld(house, episode) as world:
        for text in before:
            who, _ = _whose(text, world.agents[0])
            if who not in world.agents:
                agents = ", ".join(world.agents)
                raise PlannerError(f"--before {text}: there is no agent {who}; there are {agents}")
        belief = full_belief(world.state)
        calls = [given] if given is not None else list(_calls(name, part, belief))
        findings = [
            checked("is_named_as_calls_can_name_it", partial(_names, name, part)),
            checked("reads_its_calls_as_it_writes_them", partial(_round_trip, name, part, calls)),
            checked("refuses_wrong_arguments", partial(_refusals, name, part, world, belief)),
            _offered(name, part, calls, belief),
        ]
        agent = world.agent_for(part)
        if agent is None:
            reason = "no agent of the episode has the abilities"
            return Report((*findings, Finding("ends_its_calls", Verdict.SKIPPED, reason)))
        tried: list[_Tried] = []
        ends = partial(_ends, tried, world, part, agent, calls, tuple(before))
        findings.append(checked("ends_with_a_code_and_evidence", ends))
        findings.append(_effects(part, tried))
        findings.append(_cancels(world, agent, tried))
    return Report(tuple(findings))


def _names(name: str, part: SkillPart) -> str:
    for word in (name, *part.aliases):
        if not _NAME.fullmatch(word) or word == ASK:
            return f"{word!r} is not a valid name: expected 1 to 40 letters, not {ASK}"
    others = {
        word: other
        for other, record in SKILLS.usable().items()
        if other != name
        for word in (other, *record.aliases)
    }
    taken = next((word for word in (name, *part.aliases) if word in others), None)
    return f"{taken} is also the skill {others[taken]}" if taken else ""


def _calls(name: str, part: SkillPart, belief: Belief) -> Iterator[SkillCall]:
    """Calls that roles and affordance allow, in a fixed but well mixed order."""
    if part.takes_text:
        yield SkillCall(name, ("all the furniture",))
        return
    choose = random.Random(name)
    for _ in range(MAX_TRIES):
        words: list[str | None] = []
        for index, role in enumerate(part.roles):
            fitting = [node for node in _nodes(role, belief) if node.name not in words]
            if index == 0 and part.affordance is not None:
                fitting = [node for node in fitting if part.affordance in node.affordances]
            if role is Role.RELATION:
                words.append("on")
            elif role is Role.TEXT:
                words.append("hello, you")
            elif role in (Role.CONSTRAINT, Role.REFERENCE):
                words.append(None)
            elif fitting:
                words.append(choose.choice(fitting).name)
        if len(words) == len(part.roles):
            yield SkillCall(name, tuple(words))
        if not part.roles:
            return


def _nodes(role: Role, belief: Belief) -> list[BeliefNode]:
    nodes = [node for kind in _KINDS.get(role, ()) for node in belief.of_kind(kind)]
    if role is Role.PERSON:
        nodes = [node for node in nodes if node.class_name == PERSON_CLASS]
    return sorted(nodes, key=lambda node: node.name)


def _round_trip(name: str, part: SkillPart, calls: Sequence[SkillCall]) -> str:
    if not calls:
        return "nothing in the episode fits its roles and its affordance"
    for call in calls:
        for word in (name, *part.aliases):
            text = str(SkillCall(word, call.arguments))
            if parse_call(text) != call:
                return f"{text} is read as {parse_call(text)}"
    return ""


def _refusals(name: str, part: SkillPart, world: SkillWorld, belief: Belief) -> str:
    agent = world.agent_for(part) or world.agents[0]
    expected: list[tuple[str, SkillCode]] = []
    if Role.TEXT not in part.roles:
        words = ", ".join(["None"] * (len(part.roles) + 1))
        expected.append((f"{name}[{words}]", SkillCode.WRONG_ARGUMENTS))
    if part.roles and not part.takes_text and world.agent_for(part) is not None:
        for word, code in _wrong_words(part.roles[0], belief):
            rest = ("on", _NOBODY, None, None) if part.roles == PLACE_ROLES else ()
            others = rest or (_NOBODY,) * (len(part.roles) - 1)
            expected.append((str(SkillCall(name, (word, *others))), code))
    for text, code in expected:
        result = world.run(text, agent)
        if result.code is not code:
            return f"{text} ended as {result.code.name}, expected {code.name}"
    for other in world.agents:
        if not part.abilities <= world.primitives(other):
            call = SkillCall(name, (None,) * len(part.roles))
            result = world.run(call, other)
            if result.code is not SkillCode.NOT_ABLE:
                return f"{call} by {other} ended as {result.code.name}, expected NOT_ABLE"
    return ""


def _wrong_words(role: Role, belief: Belief) -> Iterator[tuple[str, SkillCode]]:
    yield _NOBODY, SkillCode.UNKNOWN_ENTITY
    for kind in (EntityKind.ROOM, EntityKind.FURNITURE, EntityKind.OBJECT):
        nodes = belief.of_kind(kind)
        if kind not in _KINDS[role] and nodes:
            yield min(node.name for node in nodes), SkillCode.WRONG_ROLE
            return


def _offered(name: str, part: SkillPart, calls: Sequence[SkillCall], belief: Belief) -> Finding:
    check = "can_be_called_by_a_model"
    if not (part.named_text or part.numbered_text):
        return Finding(check, Verdict.SKIPPED, "no dialogue offers it: it has no text for prompts")
    return checked(check, partial(_reads_replies, name, part, calls, belief))


def _reads_replies(name: str, part: SkillPart, calls: Sequence[SkillCall], belief: Belief) -> str:
    for text in (part.named_text, part.numbered_text):
        if "\n" in text:
            return "a text for prompts has more than one line"
    words = words_of(belief, Naming.NAMES)
    grammar = turn_grammar(words, {"agent_0": Ability((name,))}, TurnForm.CALL)
    for call in calls:
        try:
            turn = read_turn(f"{call}\nAssigned!", grammar, belief, Naming.NAMES)
        except CallError as error:
            return f"a model's reply {call} is refused: {error}"
        if turn.calls != {"agent_0": call}:
            return f"a model's reply {call} is read as {turn.calls}"
    return ""


def _ends(
    tried: list[_Tried],
    world: SkillWorld,
    part: SkillPart,
    agent: str,
    calls: Sequence[SkillCall],
    before: tuple[str, ...],
) -> str:
    """Tries calls until one succeeds with an effect, each in a freshly reset world."""
    for call in calls:
        for ahead in [before] if before else _preparations(call, part, world):
            found = _try(world, agent, call, ahead)
            tried.append(found)
            missing = [key for key in _EVIDENCE if key not in found.result.evidence]
            if missing:
                return f"{call} leaves no evidence {', '.join(missing)}"
            if not found.result.text:
                return f"{call} ended as {found.result.code.name} without a text"
            if found.result.succeeded and (found.changed or not part.effects):
                return ""
            if found.result.code is not SkillCode.NOT_HOLDING:
                break
    return ""


def _walks(part: SkillPart) -> bool:
    return PrimitiveName.NAVIGATE in part.abilities


def _preparations(call: SkillCall, part: SkillPart, world: SkillWorld) -> Iterator[tuple[str, ...]]:
    """Walk to the first entity; then also pick something up."""
    words = [w for w, role in zip(call.arguments, part.roles, strict=True) if role in _KINDS and w]
    go = (f"Navigate[{words[-1]}]",) if words else ()
    yield (f"Navigate[{words[0]}]",) if words and not _walks(part) else ()
    things = sorted(n.name for n in full_belief(world.state).of_kind(EntityKind.OBJECT))
    own = [words[0]] if len(words) > 1 and words[0] in things else []
    for thing in [*own, *(name for name in things if name not in words)][:1]:
        yield (f"Navigate[{thing}]", f"Pick[{thing}]", *go)


def _try(world: SkillWorld, agent: str, call: SkillCall, before: tuple[str, ...]) -> _Tried:
    world.reset()
    for text in before:
        who, words = _whose(text, agent)
        world.run(words, who)
    state, count = world.state, len(world.reports)
    result = world.run(call, agent)
    now = world.state
    forgotten = ""
    if result.succeeded:
        forgotten = forgotten_effects(world.layout, state, now, agent, world.reports[count:])
    changed = now.entities.keys() != state.entities.keys() or any(
        facts_of(now.entities[name]) != facts_of(was) for name, was in state.entities.items()
    )
    return _Tried(before, call, result, changed, forgotten)


def _whose(text: str, agent: str) -> tuple[str, str]:
    """The agent of a call that was written with or without one, and the call."""
    who = _OF_AGENT.match(text)
    return (who[1], text[who.end() :]) if who is not None else (agent, text)


def _effects(part: SkillPart, tried: Sequence[_Tried]) -> Finding:
    check = "does_to_the_world_what_the_memory_notes"
    if part.is_query:
        return Finding(check, Verdict.SKIPPED, "it only answers")
    done = [one for one in tried if one.result.succeeded]
    wrong = next((one for one in done if one.forgotten), None)
    if wrong is not None:
        return Finding(check, Verdict.FAILED, f"after {wrong.call}: {wrong.forgotten}")
    if done and (done[-1].changed or not part.effects):
        return Finding(check, Verdict.PASSED, str(done[-1].call))
    ends = ", ".join(sorted({one.result.code.name for one in tried}))
    reason = f"no call changed anything ({ends}); name one with --call and those --before it"
    return Finding(check, Verdict.SKIPPED, reason)


def _cancels(world: SkillWorld, agent: str, tried: Sequence[_Tried]) -> Finding:
    check = "stops_where_it_is_canceled"
    for one in reversed(tried):
        world.reset()
        for text in one.before:
            who, words = _whose(text, agent)
            world.run(words, who)
        executor = world.executors[agent]
        result = executor.start(one.call)
        for _ in range(_BEGIN_STEPS):
            if result is None:
                world.backend.step(DT_S)
                result = executor.step()
        if result is not None:
            continue
        executor.cancel()
        for _ in range(_STOP_STEPS):
            if executor.result is not None:
                return checked(check, partial(_stopped, world, agent, executor.result))
            world.backend.step(DT_S)
            executor.step()
        return Finding(check, Verdict.FAILED, f"{one.call} goes on after its cancellation")
    return Finding(check, Verdict.SKIPPED, "its calls end at once")


def _stopped(world: SkillWorld, agent: str, result: SkillResult) -> str:
    if result.code is not SkillCode.CANCELED:
        return f"a canceled call ended as {result.code.name}, expected CANCELED"
    start = world.state.entities[agent].pose.position_m
    for _ in range(_STILL_STEPS):
        world.backend.step(DT_S)
    moved_m = math.dist(start, world.state.entities[agent].pose.position_m)
    return f"its body moves on, {moved_m:.2f} m" if moved_m > _STILL_M else ""
