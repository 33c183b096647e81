"""What all four roles have in common."""

from __future__ import annotations

from typing import Protocol, TypeVar

from planner.models.chat import Message
from planner.models.replies.dictionary import DictionaryReply, Entries
from planner.models.role import Role
from planner.planning.llamar.state import Situation

ValueT_co = TypeVar("ValueT_co", covariant=True)

MAX_SUBTASKS = 32
REASON = "reason"
FAILURE_REASON = "failure reason"


class TeamRole(Protocol[ValueT_co]):
    """One role: its prompt, the form of its reply, and what a reply says."""

    @property
    def role(self) -> Role:
        """Under which its calls are traced, and by which a model may be chosen."""

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt."""

    def form(self, situation: Situation) -> DictionaryReply:
        """The form of the reply."""

    def value(self, entries: Entries) -> ValueT_co:
        """What a reply of that form says."""
