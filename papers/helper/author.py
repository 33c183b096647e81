"""Who writes programs and says near what things may be, and the search for them."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol
from weakref import finalize

from papers.helper.program_change import Unbound, nearest_rebound
from papers.helper.program_memory import ProgramMemory
from papers.helper.programs.program import Method, Program
from planner.planning.planner import Context
from planner.world.belief import Belief, BeliefNode
from planner.world.geometry import record
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.vocabulary import EntityKind, floor_name, free_hand, is_open


@record
class FailedStatement:
    """A statement that failed.

    Attributes:
        agent: the robot's name.
        statement: its text.
        method: of the object; None where the robot itself should have moved.
        code: of the skill that failed.
        text: its words, as the skill's result has them.
    """

    agent: str
    statement: str
    method: Method | None
    code: SkillCode
    text: str


class ProgramAuthor(Protocol):
    """Writes for one task: a language model, or the memory alone."""

    async def program(self, dialogue: str, context: Context) -> Program | None:
        """The program for a dialogue; None if there is none, and `problem` says why.

        Raises:
            ModelError: if a model gives no reply.
        """

    async def repair(
        self, failure: FailedStatement, dialogue: str, context: Context
    ) -> Program | None:
        """What overcomes a failure; None if nothing is known to.

        Raises:
            ModelError: if a model gives no reply.
        """

    async def places(self, target: str, dialogue: str, context: Context) -> tuple[str, ...]:
        """Categories near which a thing may be, the likeliest first; may be empty.

        Raises:
            ModelError: if a model gives no reply.
        """

    @property
    def problem(self) -> str:
        """Why there was no program last; "" = there was."""

    @property
    def evidence(self) -> Mapping[str, str]:
        """What the task's result says of it."""


# The author without a model: the nearest remembered program, as it is asked for (HELPER-D50).


class RetrievalAuthor:
    """A `papers.helper.author.ProgramAuthor`; repairs and locates nothing."""

    def __init__(self, memory: ProgramMemory) -> None:
        """Takes a memory, which is closed with this object."""
        self._memory = memory
        # Why no program fits; "" = one does.
        self.problem = ""
        self._source = ""
        self._changes: tuple[str, ...] = ()
        finalize(self, memory.close)

    @property
    def evidence(self) -> Mapping[str, str]:
        """The id of the record, and what was changed in its program."""
        return {"examples": self._source, "changes": "; ".join(self._changes)}

    async def program(self, dialogue: str, context: Context) -> Program | None:  # noqa: ARG002
        """The nearest program that can be made to fit; None if none can.

        Raises:
            FileError: if the file of the memory cannot be read.
        """
        found = nearest_rebound(self._memory, dialogue)
        if isinstance(found, Unbound):
            self.problem = found.reason
            return None
        self.problem, self._source = "", str(found.record.id)
        self._changes = found.changes
        return found.program

    async def repair(
        self,
        failure: FailedStatement,  # noqa: ARG002
        dialogue: str,  # noqa: ARG002
        context: Context,  # noqa: ARG002
    ) -> Program | None:
        """None: without a model nothing is repaired."""
        return None

    async def places(
        self,
        target: str,  # noqa: ARG002
        dialogue: str,  # noqa: ARG002
        context: Context,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """None: without a model things are looked for anywhere."""
        return ()


# Looks for a thing that nobody has seen yet: near what is suggested, then anywhere (HELPER-D45).
#
# Furniture that was looked at stays known to the memory, so no search looks at it twice.

# Of one category that is suggested, the nearest pieces are looked at: to open all drawers of a
# house takes longer than most tasks. So do thorough looks where nothing is suggested: through all
# of a room, or into something that is opened.
MAX_SUGGESTED, MAX_THOROUGH = 2, 4
# Whether a known thing or piece of furniture is of a category of programs.
IsOf = Callable[[str, BeliefNode], bool]


@dataclass
class Search:
    """What one agent has looked at in a task.

    Attributes:
        agent: who looks.
        is_of: reads the categories of suggestions.
        random: draws the order in which rooms and furniture are taken where nothing is suggested.
    """

    agent: str
    is_of: IsOf
    random: Random
    _looked: set[str] = field(default_factory=set)
    _opened: set[str] = field(default_factory=set)
    _rooms: set[str] = field(default_factory=set)
    _queue: deque[SkillCall] = field(default_factory=deque)
    _running: SkillCall | None = None
    _thorough: Counter[str] = field(default_factory=Counter)
    _near_for: Counter[tuple[str, str]] = field(default_factory=Counter)

    def next(self, context: Context, target: str, suggested: Sequence[str]) -> SkillCall | None:
        """The next look; None if nothing is left to look at.

        Args:
            context: of the decision.
            target: the category that is looked for.
            suggested: categories near which the thing may be, the likeliest first.
        """
        if not self._queue:
            self._queue.extend(
                self._near(context, target, suggested) or self._anywhere(context, target)
            )
        self._running = self._queue.popleft() if self._queue else None
        return self._running

    def observe(self, result: SkillResult) -> None:
        """Takes the result of the last look; where one fails, the rest of that place is left."""
        call, self._running = self._running, None
        if call is None:
            return
        target = call.arguments[0] or ""
        if call.name == SkillName.EXPLORE:
            self._rooms.add(target)
        elif call.name == SkillName.OPEN:
            self._opened.add(target)
        elif call.name == SkillName.EXPLORE_FURNITURE:
            self._looked.add(target)
        if result.succeeded:
            return
        # A place that cannot be reached, opened or seen is not tried again either.
        self._looked.add(target)
        self._opened.add(target)
        closing = [one for one in self._queue if one.name == SkillName.CLOSE]
        self._queue = deque(closing if call.name == SkillName.EXPLORE_FURNITURE else ())

    def found(self) -> None:
        """The thing is known now: what was planned next is not needed."""
        self._queue.clear()
        self._running = None

    def _near(self, context: Context, target: str, suggested: Sequence[str]) -> list[SkillCall]:
        here = context.belief.nodes.get(self.agent)
        for category in suggested:
            places = dict.fromkeys(_places(context, category, self.is_of))
            for place in sorted(places, key=lambda name: _away_m(context, here, name)):
                calls = list(self._looks(context, place))
                if calls and self._near_for[target, category] < MAX_SUGGESTED:
                    self._near_for[target, category] += 1
                    return calls
        return []

    def _anywhere(self, context: Context, target: str) -> list[SkillCall]:
        """A look around in a room, the agent's own first; all of a room; or what is closed."""
        here = context.belief.nodes.get(self.agent)
        rooms = [room.name for room in context.layout.rooms]
        unseen = [room for room in rooms if floor_name(room) not in self._looked]
        if unseen:
            own = here is not None and here.room in unseen
            room = here.room if own and here is not None else self.random.choice(unseen)
            return [SkillCall(SkillName.EXPLORE_FURNITURE, (floor_name(room or ""),))]
        if self._thorough[target] >= MAX_THOROUGH:
            return []
        self._thorough[target] += 1
        unexplored = [room for room in rooms if room not in self._rooms]
        if unexplored:
            return [SkillCall(SkillName.EXPLORE, (self.random.choice(unexplored),))]
        left = [calls for place in _openable(context) if (calls := [*self._looks(context, place)])]
        return self.random.choice(left) if left else []

    def _looks(self, context: Context, place: str) -> Iterator[SkillCall]:
        """What has to be done to see all of a piece of furniture; nothing if that was done."""
        shuts = place in _openable(context) and place not in self._opened
        closed = is_open(_openness(context.belief, place)) is not True
        if shuts and closed and _has_free_hand(context.belief.nodes.get(self.agent)):
            yield SkillCall(SkillName.NAVIGATE, (place,))
            yield SkillCall(SkillName.OPEN, (place,))
            yield SkillCall(SkillName.EXPLORE_FURNITURE, (place,))
            yield SkillCall(SkillName.CLOSE, (place,))
        elif place not in self._looked:
            yield SkillCall(SkillName.EXPLORE_FURNITURE, (place,))


def _away_m(context: Context, here: BeliefNode | None, name: str) -> float:
    piece = context.layout.furniture_by_name[name]
    x_m, y_m, _ = here.position_m if here is not None else (0.0, 0.0, 0.0)
    return math.hypot(piece.x_m - x_m, piece.y_m - y_m)


def _places(context: Context, category: str, is_of: IsOf) -> Iterable[str]:
    """The furniture of a category, or that things of it are on or in, as it became known."""
    belief = context.belief
    for node in belief.nodes.values():
        if node.kind not in (EntityKind.FURNITURE, EntityKind.OBJECT) or not is_of(category, node):
            continue
        place = node.name
        if node.kind is EntityKind.OBJECT:
            place = belief.base_of(node).parent or ""
        if place in context.layout.furniture_by_name:
            yield place


def _openable(context: Context) -> tuple[str, ...]:
    """The furniture with doors, drawers or lids."""
    return tuple(piece.name for piece in context.layout.furniture if piece.joints)


def _openness(belief: Belief, name: str) -> float | None:
    node = belief.nodes.get(name)
    return None if node is None else node.openness


def _has_free_hand(agent: BeliefNode | None) -> bool:
    """Whether something can be opened; an agent of whom nothing is known may try."""
    return agent is None or not agent.hands or free_hand(agent.hands) is not None
