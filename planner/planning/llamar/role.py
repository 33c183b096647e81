"""What all four roles have in common."""

from __future__ import annotations

from typing import Protocol, TypeVar

from planner.models.chat import Message
from planner.models.replies.form import ReplyForm
from planner.models.role import Role
from planner.planning.llamar.state import Situation


class ReadReply(Protocol):
    """What is read from a reply."""

    @property
    def dropped(self) -> tuple[str, ...]:
        """What was left out of it, in words."""


ReadT = TypeVar("ReadT", bound=ReadReply)
ValueT_co = TypeVar("ValueT_co", covariant=True)

MAX_SUBTASKS = 32
REASON = "reason"
FAILURE_REASON = "failure reason"


class PromptingRole(Protocol):
    """The side of a role that a model reads."""

    @property
    def role(self) -> Role:
        """Under which its calls are traced, and by which a model may be chosen."""

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt."""


class TeamRole(PromptingRole, Protocol[ReadT, ValueT_co]):
    """One role: its prompt, the form of its reply, and what a reply says."""

    def form(self, situation: Situation) -> ReplyForm[ReadT]:
        """The form of the reply."""

    def value(self, entries: ReadT) -> ValueT_co:
        """What a reply of that form says."""
