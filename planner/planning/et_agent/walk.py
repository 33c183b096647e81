"""One walk through a task: the knowledge of the moment, and the calls made so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TypeAlias

from planner.planning.et_agent.known import Known
from planner.planning.et_agent.prior import Prior
from planner.planning.et_agent.ranker import Ranker
from planner.planning.planner import AgentResult, Context
from planner.world.errors import PlannerError
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import Relation

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
