"""A role that replies with a list of subtasks, and why these: the Planner and the Verifier."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from planner.models.chat import Message
from planner.models.replies.dictionary import DictionaryReply, Entries, TextKey, TextsKey
from planner.models.role import Role
from planner.planning.llamar import prompt
from planner.planning.llamar.prompt import Field
from planner.planning.llamar.role import REASON
from planner.planning.llamar.state import Situation


@dataclass(frozen=True, slots=True)
class SubtaskList:
    """Subtasks as the role names them, and why these."""

    subtasks: tuple[str, ...]
    reason: str


class ListRole(ABC):
    """A `planner.planning.llamar.role.TeamRole`.

    Attributes:
        role: under which its calls are traced.
        key: of the list in the reply.
        max_subtasks: of the list.
    """

    role: ClassVar[Role]
    key: ClassVar[str]
    max_subtasks: ClassVar[int]

    @abstractmethod
    def _fields(self, situation: Situation) -> list[Field]:
        """The fields of the prompt."""

    @abstractmethod
    def _system(self, situation: Situation) -> str:
        """What the role has to do."""

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt, its fields in the paper's order."""
        return prompt.messages(self._system(situation), situation, self._fields(situation))

    def form(self, situation: Situation) -> DictionaryReply:  # noqa: ARG002 - always the same
        """A reason and a list."""
        return DictionaryReply((TextKey(REASON), TextsKey(self.key, self.max_subtasks)))

    def value(self, entries: Entries) -> SubtaskList:
        """The list."""
        return SubtaskList(entries.texts(self.key), entries.text(REASON))
