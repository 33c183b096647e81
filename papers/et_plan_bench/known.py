"""What the agent knows at its level of prior knowledge, and one walk through a task."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from papers.et_plan_bench.parts import Prior, Ranker
from planner.planning.errands import Sought, Where, is_meant, meant, spelled
from planner.planning.planner import AgentResult, Context
from planner.world.belief import Belief, BeliefNode, Source
from planner.world.errors import PlannerError
from planner.world.geometry import Box, Vec3
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import EntityKind, Hands, Relation, floor_name

# ETPLAN-3.1.
CLOSE_M = 1.5
FACING_M = 5.0


class Known:
    """One moment's knowledge; entities that the level does not give are not in it."""

    def __init__(self, context: Context, agent: str, prior: Prior, seen: set[str]) -> None:
        """Takes the memory's belief.

        Args:
            context: of a decision.
            agent: who searches.
            prior: the level.
            seen: the names of furniture that was seen in earlier moments; extended by this one.
        """
        self.belief: Belief = context.belief
        self.agent = agent
        self.rooms = tuple(room.name for room in context.layout.rooms)
        self._layout = context.layout
        for node in self.belief.nodes.values():
            if node.kind is EntityKind.FURNITURE and node.source is not Source.TOLD:
                seen.add(node.name)
        self._seen, self._prior = seen, prior
        self.entities: dict[str, BeliefNode] = {
            node.name: node for node in self.belief.nodes.values() if self._is_known(node)
        }

    def _is_known(self, node: BeliefNode) -> bool:
        if node.kind is EntityKind.AGENT or node.class_name == "floor":
            return False
        if node.kind is EntityKind.FURNITURE and self._prior is Prior.P:
            return node.name in self._seen
        return True

    # The agent itself

    @property
    def here_m(self) -> Vec3:
        """Where the agent is."""
        node = self.belief.nodes.get(self.agent)
        return node.position_m if node is not None else (0.0, 0.0, 0.0)

    @property
    def room(self) -> str | None:
        """The room that the agent is in."""
        node = self.belief.nodes.get(self.agent)
        return node.room if node is not None else None

    @property
    def hands(self) -> Hands:
        """What each hand holds."""
        node = self.belief.nodes.get(self.agent)
        return node.hands if node is not None else ()

    # Entities

    def is_room(self, name: str) -> bool:
        """Whether it is the name of a room."""
        return name in self.rooms

    def room_of(self, name: str) -> str | None:
        """The room that an entity is in."""
        node = self.entities.get(name)
        return None if node is None else (name if node.kind is EntityKind.ROOM else node.room)

    def is_closed(self, name: str) -> bool:
        """Whether it is furniture that opens and is not known to be open."""
        piece = self._layout.furniture_by_name.get(name)
        node = self.entities.get(name)
        return node is not None and piece is not None and bool(piece.joints) and not node.openness

    def takes(self, name: str, where: Where | None) -> Relation:
        """How something is put there: as asked where that is possible, else as it is."""
        piece = self._layout.furniture_by_name.get(name)
        if where is not None and piece is None:
            return Relation.WITHIN if where is Where.INSIDE else Relation.ON
        if piece is None:
            return Relation.ON
        if where is Where.INSIDE or (where is None and not piece.surfaces):
            return Relation.WITHIN if piece.interiors else Relation.ON
        return Relation.ON if piece.surfaces else Relation.WITHIN

    def is_large(self, name: str) -> bool:
        """Whether it is furniture, which nobody carries."""
        node = self.entities.get(name)
        return node is not None and node.kind is EntityKind.FURNITURE

    def seen_in(self, room: str) -> list[BeliefNode]:
        """The furniture and things known in a room, the nearest first."""
        found = [
            node
            for node in self.entities.values()
            if node.kind is not EntityKind.ROOM
            and node.room == room
            and node.relation is not Relation.HELD
        ]
        return sorted(found, key=lambda node: self.away_m(node.name))

    def away_m(self, name: str) -> float:
        """The distance from the agent, as seen from above."""
        node = self.entities.get(name)
        return math.inf if node is None else math.dist(node.position_m[:2], self.here_m[:2])

    def is_close(self, name: str) -> bool:
        """Whether the agent is CLOSE to a known entity (ETPLAN-3.1)."""
        node = self.entities.get(name)
        return node is not None and self._to_box_m(self.here_m, node) < CLOSE_M

    def apart_m(self, name: str, other: str) -> float:
        """The distance of two known entities, as seen from above."""
        one, two = self.entities[name], self.entities[other]
        return math.dist(one.position_m[:2], two.position_m[:2])

    def of_class(self, sought: Sought) -> list[str]:
        """The known entities that its word means, whatever is said about them, nearest first."""
        words = [sought.word]
        if sought.anchor is not None and sought.where is Where.INSIDE:
            # "Kitchen counter" may be a class of its own.
            words.append(f"{sought.anchor.word} {sought.word}")
        classes = frozenset[str]().union(*(meant(word) for word in words))
        named = [n.name for n in self.entities.values() if spelled(n.class_name) in classes]
        return sorted(named, key=self.away_m)

    def fitting(self, sought: Sought) -> list[str]:
        """The known entities that fit all that is said about them, nearest first."""
        return [name for name in self.of_class(sought) if self.fits(name, sought)]

    def fits(self, name: str, sought: Sought) -> bool:
        """Whether what is said about an entity is known to hold of this one."""
        where, anchor = sought.where, sought.anchor
        if where is None or anchor is None:
            return True
        if where is Where.INSIDE and spelled(self.entities[name].class_name) in meant(
            f"{anchor.word} {sought.word}"
        ) - meant(sought.word):
            return True
        return any(
            other != name and self.holds(name, where, other) for other in self.fitting(anchor)
        )

    def holds(self, name: str, where: Where, other: str) -> bool:
        """Whether a relation of two known entities is known to hold (ETPLAN-3.1)."""
        if where is Where.INSIDE and self.is_room(other):
            return self.room_of(name) == other
        node, anchor = self.entities.get(name), self.entities.get(other)
        if node is None or anchor is None:
            return False
        if where is Where.INSIDE:
            return any(up == other and how is Relation.WITHIN for how, up in self._above(node))
        if where is Where.ON:
            return node.parent == other and node.relation is Relation.ON
        if node.room != anchor.room:
            return False
        if where is Where.CLOSE:
            return min(self._gap_m(node, anchor), self._gap_m(anchor, node)) < CLOSE_M
        return math.dist(node.position_m[:2], anchor.position_m[:2]) < FACING_M

    def _gap_m(self, node: BeliefNode, other: BeliefNode) -> float:
        """Distance of an entity's middle from another one's box, as seen from above."""
        return self._to_box_m(node.position_m, other)

    def _to_box_m(self, point_m: Vec3, other: BeliefNode) -> float:
        piece = self._layout.furniture_by_name.get(other.name)
        box = Box.around(other.position_m, other.size_m, 0.0) if piece is None else piece.box
        x, y, _ = point_m
        (x0, y0, _), (x1, y1, _) = box.minimum_m, box.maximum_m
        return math.hypot(max(0.0, x0 - x, x - x1), max(0.0, y0 - y, y - y1))

    def closed_around(self, name: str) -> str | None:
        """The closed furniture that a thing is known to be in."""
        node = self.entities.get(name)
        inside = () if node is None else self._above(node)
        return next(
            (up for how, up in inside if how is Relation.WITHIN and self.is_closed(up)), None
        )

    def _above(self, node: BeliefNode) -> Iterator[tuple[Relation | None, str]]:
        passed: set[str] = set()
        while node.parent is not None and node.name not in passed:
            passed.add(node.name)
            yield node.relation, node.parent
            holder = self.belief.nodes.get(node.parent)
            if holder is None or holder.kind is not EntityKind.OBJECT:
                return
            node = holder

    def rooms_for(self, sought: Sought) -> tuple[str, ...]:
        """The rooms that what is said about something leaves possible; all of them if any."""
        anchor = sought.anchor
        if anchor is None:
            return self.rooms
        within = [room for room in self.rooms if self._is_called(room, anchor.word)]
        if within and sought.where is Where.INSIDE:
            return tuple(within)
        if self._prior is not Prior.P:
            # All large furniture is known, and so are its rooms.
            known = {self.room_of(name) for name in self.of_class(anchor) if self.is_large(name)}
            alone = tuple(room for room in self.rooms if room in known)
            if len(alone) == 1:
                return alone
        return self.rooms_for(anchor)

    def _is_called(self, room: str, word: str) -> bool:
        return is_meant(self._layout.rooms_by_name[room].class_name, word)

    def floor_here(self) -> str | None:
        """The floor of the agent's room."""
        return None if self.room is None else floor_name(self.room)


# One walk through a task: the knowledge of the moment, and the calls made so far.

LOOK_ROUND = "LookRound"

Calls: TypeAlias = AsyncIterator[SkillCall]


class SpentError(PlannerError):
    """The actions of the task are used up (ETPLAN-1.4)."""


@dataclass
class Walk:
    """What searching and carrying share.

    They yield calls and find `last` and `known` renewed when they continue.

    Attributes:
        agent: who acts.
        ranker: answers questions.
        prior: the level of knowledge.
        max_actions: M; looking round is not an action.
        context: of the newest decision.
        last: how the newest call ended.
        actions: that were carried out.
        asked: how often each question was asked.
        looked: rooms, and furniture, that were looked at.
    """

    agent: str
    ranker: Ranker
    prior: Prior
    max_actions: int
    context: Context
    last: AgentResult | None = None
    actions: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    looked: set[str] = field(default_factory=set)
    _seen: set[str] = field(default_factory=set)
    _known: Known | None = None

    def renew(self, context: Context) -> None:
        """Takes up the next decision's input."""
        self.context, self._known = context, None

    def note(self, result: AgentResult) -> None:
        """Takes up how a call ended."""
        self.last = result
        if result.result.succeeded and result.call.name != LOOK_ROUND:
            self.actions += 1

    @property
    def known(self) -> Known:
        """What is known now."""
        if self._known is None:
            self._known = Known(self.context, self.agent, self.prior, self._seen)
        return self._known

    def has_succeeded(self) -> bool:
        """Whether the newest call did."""
        return self.last is not None and self.last.result.succeeded

    def act(self, name: str, *arguments: str | None) -> SkillCall:
        """One more action.

        Raises:
            SpentError: if M actions were carried out.
        """
        if name != LOOK_ROUND and self.actions >= self.max_actions:
            raise SpentError(f"the limit of actions ({self.max_actions}) is reached")
        return SkillCall(name, tuple(arguments))

    async def walk_to(self, name: str) -> Calls:
        """Walks to an entity or a room."""
        yield self.act(SkillName.NAVIGATE, name)

    async def look_round(self) -> Calls:
        """Turns round once; no action (ETPLAN-C16)."""
        yield self.act(LOOK_ROUND)

    async def put(self, thing: str, relation: Relation, place: str) -> Calls:
        """Puts a held thing somewhere."""
        yield self.act(SkillName.PLACE, thing, str(relation.value), place, None, None)
