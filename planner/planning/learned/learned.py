"""Planner `learned`: a small network that chooses one of the calls that are possible."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from planner.grounding.records import request_words
from planner.language.goal_form import Find, Follow, Go, Goal, Grasp, Guide, Meet, Tell
from planner.language.interpretation import interpret
from planner.language.reading import NoCommand, NoCommandReason
from planner.planning.dialogues import limit_reached
from planner.planning.learned.chooser import FEATURES, CallFeatures, PlannerModel, best, rank
from planner.planning.learned.network import Array, Reading, read
from planner.planning.learned.progress import (
    FILLED,
    STATE_SKILLS,
    STATES,
    Situation,
    number_of,
    progress_of,
)
from planner.planning.learned.search import HALF, Standing, has_faucet, has_inside, holds, may_open
from planner.planning.learned.tokens import InstructionError, Token, read_tokens
from planner.planning.numbered_dialogue import entity_line, numbered, offered
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.planner_model import Repeats
from planner.world.skill import SkillCall, SkillName
from planner.world.topics import InstructionCode
from planner.world.vocabulary import EntityKind

# The calls that an agent can choose from, each with the features by which the network ranks them.
#
# Only calls that the call grammar allows are listed: known entities in their roles, what a hand
# holds, what the agent is next to. A choice is never repaired afterwards.

WAIT, DONE = SkillCall(SkillName.WAIT), SkillCall(SkillName.DONE)
# After so many walks in a row something else is done: nothing is gained by going to and fro.
MOST_WALKS = 2
# A walk that failed so often may be left undone.
MOST_TRIES = 3
_WALKS = (SkillName.NAVIGATE, SkillName.EXPLORE_FURNITURE)
# A thing that was put at a piece so often stays there.
MOST_PUTS = 2
_KNOWN = 0.02


@dataclass(frozen=True, slots=True)
class Choices:
    """Calls with (C, FEATURES) features."""

    calls: tuple[SkillCall, ...]
    features: Array


class ChoiceMaker:
    """Lists the choices of one agent in one situation."""

    def __init__(self, standing: Standing) -> None:
        self._at = standing
        self._features = CallFeatures(self._at)
        self._aside = [n for n in standing.now.held if self._has_to_wait(n)]

    def choices(self, blocked: Collection[SkillCall] = ()) -> Choices:
        """All choices but the blocked ones."""
        calls = [call for call in self._calls() if call not in blocked and call.name in self._can]
        # Where all is blocked nothing is left to do.
        calls = calls or [DONE]
        # What was refused is refused again until something changes at the piece.
        calls = [call for call in calls if not self._is_vain(call)] or calls
        if self._at.now.walks >= MOST_WALKS:
            calls = [call for call in calls if call.name != SkillName.NAVIGATE] or calls
        elif self._came_to_open():
            calls = [call for call in calls if not self._is_walk_to_furniture(call)] or calls
        if self._aside:
            puts = [call for call in calls if call.name == SkillName.PLACE]
            walks = [call for call in calls if self._is_walk_to_furniture(call)]
            calls = puts or walks or calls
        made = self._with_ways_around(calls)
        if self._at.now.failed_here:
            made = self._elsewhere(made)
        rows = [self._features.of(meant, made=call) for call, meant in made.items()]
        return Choices(tuple(made), np.array(rows, np.float32).reshape(len(made), len(FEATURES)))

    def _with_ways_around(self, calls: Collection[SkillCall]) -> Mapping[SkillCall, SkillCall]:
        """The calls by those that are made: where others stood in the way, one of another way.

        Instead of to a thing the agent then walks to the furniture that it is on, which can often
        be reached from another side.
        """
        found = {call: call for call in calls}
        failures = self._at.now.failures
        for call in calls if failures else ():
            number = number_of(call.arguments[0]) if call.arguments else None
            if call.name != SkillName.NAVIGATE or number not in self._at.things:
                continue
            place = self._at.place_of(number)
            if place is None:
                continue
            around = _call(SkillName.NAVIGATE, place)
            if failures[str(call)] > failures[str(around)]:
                del found[call]
                found[around] = call
        return found

    def _elsewhere(self, made: Mapping[SkillCall, SkillCall]) -> Mapping[SkillCall, SkillCall]:
        """What is left where walks failed: the same is tried again once the agent was elsewhere.

        Nor is that the end, unless it was tried often, or nothing else can be done.
        """
        failed = [call for call in self._at.now.failed_here if call.name in _WALKS]
        often = any(self._at.now.failures[str(call)] >= MOST_TRIES for call in failed)
        left = {
            call: meant
            for call, meant in made.items()
            if call not in failed and (call != DONE or often or not failed)
        }
        return left or made

    def next_look(self) -> SkillCall | None:
        """Where a search goes on: the look of the highest worth; None if nothing is left."""
        here = self._came_to_open()
        for f, n in enumerate(self._at.progress.pieces):
            if here and self._at.now.near == n:
                return _call(SkillName.OPEN, n)
            if not here and self._at.looks.first[f] == 1:
                return _call(SkillName.EXPLORE_FURNITURE, n)
            if not here and self._at.looks.first[f] == 2:
                at = self._at.now.near is not None and self._at.place_of(self._at.now.near) == n
                return _call(SkillName.OPEN if at else SkillName.NAVIGATE, n)
        return None

    def is_look(self, call: SkillCall) -> bool:
        """Whether a call can only serve a search."""
        number = number_of(call.arguments[0]) if call.arguments else None
        if call.name == SkillName.EXPLORE_FURNITURE:
            return number in self._at.places
        if call.name not in (SkillName.NAVIGATE, SkillName.OPEN) or number not in self._at.places:
            return False
        p, f = self._at.progress, self._at.places[number]
        is_place = max(p.goes[1, :, f].max(initial=0), p.state[self._at.index(number)].max())
        return not self._at.now.held and bool(is_place < HALF)

    @property
    def _can(self) -> Collection[str]:
        return {*self._at.verbs, SkillName.WAIT}

    # ---- which calls ----------------------------------------------------------------------

    def _calls(self) -> Iterator[SkillCall]:
        now, p = self._at.now, self._at.progress
        free = not now.held
        relevant = [
            n
            for i, n in enumerate(p.things)
            if not (now.things[n].picked and n not in now.held)
            and n not in now.held
            and max(p.wanted[i], p.state[i].max(), self._referred(i)) > _KNOWN
        ]
        for n in relevant:
            if self._has_to_be_opened_for(n):
                continue
            takes = free and self._takes(n)
            if now.near != n and (takes or self._is_beside_for_held(n) or self._state_of(n)):
                yield _call(SkillName.NAVIGATE, n)
            if takes and self._at.is_near(n):
                yield _call(SkillName.PICK, n)
        # A search ends: what was explored is not explored again (EPM-2.7).
        left = [n for n in p.pieces if not now.explored[n] and holds(now.pieces[n].class_name)]
        for n in left:
            yield _call(SkillName.EXPLORE_FURNITURE, n)
        for n in p.pieces:
            if now.near != n and self._leads_somewhere(n):
                yield _call(SkillName.NAVIGATE, n)
            if now.near is not None and self._at.place_of(now.near) == n:
                if self._opens(n):
                    yield _call(SkillName.OPEN, n)
                elif now.pieces[n].is_open is True:
                    yield _call(SkillName.CLOSE, n)
        for n in (*relevant, *now.held, *p.pieces):
            for k, mark in enumerate(STATES):
                i = self._at.index(n)
                if p.state[i, k] <= _KNOWN or self._is_blocked(n):
                    continue
                if not (n in now.held or self._at.is_near(n)):
                    continue
                if mark != "filled" or self._is_at_faucet():
                    yield _call(STATE_SKILLS[mark], n)
        for held in now.held:
            if held in self._at.things:
                yield from self._placements(held)
        if now.others:
            yield WAIT
        if not now.held:
            yield DONE

    def _placements(self, held: int) -> Iterator[SkillCall]:
        now = self._at.now
        place = self._at.place_of(now.near) if now.near is not None else None
        if place is None or self._first_gets_state(held) or not self._may_be_put(held, place):
            return
        thing, target = f"Object.{held}", f"Object.{place}"
        next_to = self._at.progress.grounded.next_things[self._at.things[held]]
        beside = [
            n
            for n in self._at.progress.things
            if n != held
            and self._at.place_of(n) == place
            and not now.things[n].picked
            and next_to[self._at.things[n]] > _KNOWN
        ]
        for relation in self._relations(held, place):
            yield SkillCall(SkillName.PLACE, (thing, relation, target, None, None))
            for n in beside:
                words = (thing, relation, target, "next_to", f"Object.{n}")
                yield SkillCall(SkillName.PLACE, words)

    def _takes(self, thing: int) -> bool:
        """Whether there is a reason to take a thing that is known, now."""
        now, p, i = self._at.now, self._at.progress, self._at.things[thing]
        if self._is_blocked(thing):
            return False
        if SkillName.CLEAN in self._at.verbs and p.state[i, FILLED] > _KNOWN:
            return True
        if p.move[i] <= _KNOWN or now.put[thing].count(self._at.where[thing] or -1) >= MOST_PUTS:
            return False
        # What is where it is to be waits there for what it is to be next to.
        return bool(p.away[i] > _KNOWN or p.ready[i] > HALF or p.begun[i] > _KNOWN)

    def _is_blocked(self, number: int) -> bool:
        """Whether something else that can be done comes before."""
        return self._at.in_order and bool(self._at.progress.blocked[self._at.index(number)] > HALF)

    def _has_to_wait(self, held: int) -> bool:
        """Whether a held thing got its state, and where it goes waits for others to get theirs."""
        i, made = self._at.things.get(held), self._at.now.made
        got = i is not None and any((held, mark) in made for mark in STATES)
        return got and self._is_blocked(held)

    def _may_be_put(self, held: int, place: int) -> bool:
        """Whether a thing can be put at a piece; one that has to wait goes elsewhere meanwhile."""
        if held not in self._aside:
            return True
        now, f = self._at.now, self._at.places[place]
        goes = self._at.progress.goes[:, self._at.things[held], f].max(initial=0)
        fits = holds(now.pieces[place].class_name) and not now.refused[held, place]
        return bool(fits and goes < HALF)

    def _is_at_faucet(self) -> bool:
        place = self._at.place_of(self._at.now.near) if self._at.now.near is not None else None
        return place is not None and has_faucet(self._at.now.pieces[place].class_name)

    def _is_vain(self, call: SkillCall) -> bool:
        """Whether a call puts what was refused there, or walks to where only that is done."""
        now = self._at.now
        if call.name == SkillName.PLACE:
            return now.is_vain(call)
        place = number_of(call.arguments[0]) if call.arguments else None
        if call.name != SkillName.NAVIGATE or place not in self._at.places or not now.held:
            return False
        if not now.vain or self._at.progress.state[self._at.index(place)].max() > _KNOWN:
            return False
        puts = [p for n in now.held if n in self._at.things for p in self._puts(n, place)]
        return bool(puts) and all(map(now.is_vain, puts))

    def _puts(self, held: int, place: int) -> Iterator[SkillCall]:
        for relation in self._relations(held, place):
            words = (f"Object.{held}", relation, f"Object.{place}", None, None)
            yield SkillCall(SkillName.PLACE, words)

    def _relations(self, held: int, place: int) -> list[str]:
        """How a held thing can be put at a piece: as is said, and not into closed doors."""
        goes = self._at.progress.goes[:, self._at.things[held], self._at.places[place]]
        piece = self._at.now.pieces[place]
        on, within, room = (float(value) for value in goes)
        found = [] if within > HALF > on + room else ["on"]
        closed = may_open(piece.class_name) and piece.is_open is not True
        if has_inside(piece.class_name) and not closed and not on > HALF > within + room:
            found.append("within")
        return found

    def _opens(self, place: int) -> bool:
        """Whether a piece can be opened now, to look into it or to put something there."""
        piece, f = self._at.now.pieces[place], self._at.places[place]
        if piece.is_open is True or not may_open(piece.class_name) or not self._at.free_to_open:
            return False
        return bool(
            self._at.looks.inside[f] > 0 or self._at.progress.goes[1, :, f].max(initial=0) > _KNOWN
        )

    def _came_to_open(self) -> bool:
        """Whether the last call was a walk to what is to be opened: it is not left closed."""
        last = self._at.now.last
        number = number_of(last.arguments[0]) if last is not None and last.arguments else None
        if last is None or last.name != SkillName.NAVIGATE or number not in self._at.places:
            return False
        return self._at.now.near == number and not self._at.now.held and self._opens(number)

    def _is_walk_to_furniture(self, call: SkillCall) -> bool:
        return call.name == SkillName.NAVIGATE and number_of(call.arguments[0]) in self._at.places

    def _is_beside_for_held(self, thing: int) -> bool:
        held = [self._at.things[n] for n in self._at.now.held if n in self._at.things]
        beside, n = self._at.progress.grounded.next_things, self._at.things[thing]
        # Only once the other thing is where it is to be.
        is_there = self._at.progress.away[n] < HALF
        return bool(held) and bool(is_there and beside[held, n].max() > _KNOWN)

    def _state_of(self, thing: int) -> bool:
        """Whether it can get a state where it lies."""
        if SkillName.CLEAN not in self._at.verbs:
            return False
        state = self._at.progress.state[self._at.things[thing]].copy()
        place = self._at.place_of(thing)
        if place is None or not has_faucet(self._at.now.pieces[place].class_name):
            state[FILLED] = 0
        return bool(state.max() > _KNOWN)

    def _has_to_be_opened_for(self, thing: int) -> bool:
        """Whether a body with one hand has to open where a thing goes into, before it takes it."""
        p = self._at.progress
        if SkillName.CLEAN in self._at.verbs:
            return False
        into = p.goes[1, self._at.things[thing]]
        targets = [self._at.now.pieces[n] for f, n in enumerate(p.pieces) if into[f] > HALF]
        return bool(targets) and not any(p.is_open or not may_open(p.class_name) for p in targets)

    def _first_gets_state(self, thing: int) -> bool:
        able, i = SkillName.CLEAN in self._at.verbs, self._at.things.get(thing)
        return able and i is not None and bool(self._at.progress.first_state[i] > HALF)

    def _leads_somewhere(self, place: int) -> bool:
        """Whether there is something to do at a piece: put down, open, switch, or fill."""
        now, p = self._at.now, self._at.progress
        f, i = self._at.places[place], self._at.index(place)
        piece = now.pieces[place]
        if p.state[i].max() > _KNOWN or self._opens(place):
            return True
        held = [self._at.things[n] for n in now.held if n in self._at.things]
        if not held:
            return False
        if any(self._first_gets_state(n) for n in now.held):
            return has_faucet(piece.class_name)
        if self._aside:
            near = self._at.place_of(now.near) if now.near is not None else None
            is_here = near is None or now.pieces[near].room == piece.room
            return is_here and all(self._may_be_put(n, place) for n in self._aside)
        return bool(
            p.goes[:, held, f].max() > _KNOWN
            or (has_faucet(piece.class_name) and p.state[held, FILLED].max() > _KNOWN)
        )

    def _referred(self, thing: int) -> float:
        return float(self._at.progress.grounded.next_things[:, thing].max(initial=0))


def _call(name: str, number: int) -> SkillCall:
    return SkillCall(name, (f"Object.{number}",))


# EPM-1.1 ends after 50 calls; PARTNR's tasks have up to twelve propositions.
MAX_CALLS = 150
MAX_ENTITIES = 600
_DRAWS = 23


NOTHING_FOUND = "not done: nothing was found that the instruction may mean"


def beyond(instruction: str) -> str:
    """Why an instruction is not for this planner, as the rules of language read it; "" = it may be.

    The network was trained on things that are brought and changed, and takes any name for one. What
    the rules do not understand is left to it.
    """
    found = interpret(instruction)
    if isinstance(found, NoCommand) and found.reason is NoCommandReason.QUESTION:
        return "the planner `learned` answers no questions"
    if not isinstance(found, Goal):
        return ""
    beyond_it = (Find, Follow, Go, Grasp, Guide, Meet, Tell)
    other = [r for r in found.requests if isinstance(r, beyond_it)]
    unlike = any(isinstance(r, Follow | Grasp | Guide | Meet | Tell) for r in other)
    if unlike or len(other) == len(found.requests):
        return f"the planner `learned` only brings and changes things: {request_words(other[0])}"
    return ""


@dataclass(slots=True)
class _Agent:
    """What one agent knows, and what it was last told."""

    situation: Situation
    verbs: tuple[str, ...]
    sequence: int
    repeats: Repeats = field(default_factory=Repeats)
    waited: bool = False
    done: bool = False


class Learned:
    """The planner's state for one task of one team."""

    name = "learned"

    def __init__(
        self,
        task: Task,
        model: PlannerModel,
        max_calls: int = MAX_CALLS,
        *,
        temperature: float = 0.0,
    ) -> None:
        """Takes a trained model, and how many calls an agent has.

        `temperature` above 0 draws calls by their rank, seeded by the task, as improvement needs.
        """
        self._task, self._model, self._max_calls = task, model, max_calls
        self._temperature = temperature
        self._rng = np.random.default_rng([task.seed, _DRAWS])
        self._read: tuple[tuple[Token, ...], Reading] | None = None
        self._agents: dict[str, _Agent] = {}

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps how calls ended."""
        for ended in results:
            agent = self._agents.get(ended.agent)
            if agent is not None:
                agent.repeats.take(ended.call, ended.result)
                agent.situation.ended(str(ended.call), succeeded=ended.result.succeeded)

    async def decide(self, context: Context) -> Decision:
        """The highest-ranked call of each idle agent; waiting agents get none."""
        if self._read is None:
            try:
                tokens = read_tokens(self._task.instruction, self._model.vocabulary)
            except InstructionError as error:
                return Decision(failure=str(error), end=InstructionCode.BAD_REQUEST)
            if why := beyond(self._task.instruction):
                return Decision(failure=why, end=InstructionCode.BAD_REQUEST)
            self._read = tokens, read(self._model.weights, self._model.vocabulary, tokens)
        if len(context.belief.nodes) > MAX_ENTITIES:
            count = len(context.belief.nodes)
            words = f"the planner `learned` reads up to {MAX_ENTITIES} entities; {count} are known"
            return Decision(failure=words)
        calls: dict[str, SkillCall] = {}
        running = dict(context.running)
        for name in context.idle:
            agent = self._caught_up(name, context, running)
            if agent.situation.calls >= self._max_calls:
                return limit_reached(self._max_calls, {"planner_limit": name})
            call = self._chosen(agent, len(context.task.agents))
            if call == DONE and self._has_found_nothing(agent):
                return Decision(failure=NOTHING_FOUND)
            agent.waited = call == WAIT
            if call != WAIT:
                calls[name] = running[name] = call
        thought = "; ".join(f"{name}: {call}" for name, call in calls.items())
        return Decision(calls, thought)

    def choices(self, name: str, context: Context) -> Choices:
        """What an agent could do now, for tests and figures.

        Raises:
            InstructionError: as `read_tokens`.
        """
        if self._read is None:
            tokens = read_tokens(self._task.instruction, self._model.vocabulary)
            self._read = tokens, read(self._model.weights, self._model.vocabulary, tokens)
        agent = self._caught_up(name, context, dict(context.running))
        return self._choices(agent, len(context.task.agents))

    def _has_found_nothing(self, agent: _Agent) -> bool:
        """Whether nothing that is known is what the instruction speaks of."""
        assert self._read is not None  # noqa: S101 - set by the callers
        asked = progress_of(*self._read, agent.situation).asked
        return bool(asked.max(initial=0) <= HALF)

    def _choices(self, agent: _Agent, team: int) -> Choices:
        assert self._read is not None  # noqa: S101 - set by the callers
        tokens, reading = self._read
        progress = progress_of(tokens, reading, agent.situation)
        standing = Standing(
            tokens, reading, agent.situation, progress, agent.verbs, team, waited=agent.waited
        )
        return ChoiceMaker(standing).choices(agent.repeats.blocked)

    def _chosen(self, agent: _Agent, team: int) -> SkillCall:
        choices = self._choices(agent, team)
        ranks = rank(self._model.weights, choices.features)
        if self._temperature > 0:
            noise = self._rng.gumbel(size=len(ranks)).astype(np.float32)
            ranks = ranks / np.float32(self._temperature) + noise
            return choices.calls[int(ranks.argmax())]
        return choices.calls[best([call.name for call in choices.calls], ranks)]

    def _caught_up(self, name: str, context: Context, running: dict[str, SkillCall]) -> _Agent:
        agent, belief = self._agents.get(name), context.belief
        if agent is None:
            situation = Situation()
            agent = _Agent(situation, offered(context.capabilities.get(name)), belief.sequence)
            positions = {
                node.entity_id: (node.position_m[0], node.position_m[1])
                for node in belief.nodes.values()
                if node.kind is EntityKind.FURNITURE and node.entity_id is not None
            }
            situation.begin((entity_line(node) for node in numbered(belief)), positions)
            self._agents[name] = agent
        else:
            agent.situation.told(context.deltas(agent.sequence))
            agent.sequence = belief.sequence
        others = {a: str(call) for a, call in running.items() if a != name and call != DONE}
        agent.situation.see_others(others)
        return agent
