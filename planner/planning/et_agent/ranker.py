"""The seam for what the agent asks while it searches: four questions, all in words.

A ranker knows neither the house nor the goal, only what is passed to it: words of the task, and
class names as the memory has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from planner.planning.et_agent.errand import Errand, TaskClass


class RankerName(StrEnum):
    """Which ranker answers.

    AUTO is the model where one is set, else the learned model where its file is there, else the
    frequency table. RANDOM is for comparison.
    """

    AUTO = "auto"
    MODEL = "model"
    LEARNED = "learned"
    TABLE = "table"
    RANDOM = "random"


class Ranker(Protocol):
    """Answers the agent's questions (ETPLAN-2.4). One instance is used for one task.

    Its answers are words of the question: names that were not offered never appear.
    """

    @property
    def name(self) -> RankerName:
        """Which one it is; never AUTO."""

    @property
    def evidence(self) -> str:
        """What stands behind its answers, for a result: a file, a model, where it was learnt."""

    async def classify(self, task: str) -> TaskClass:
        """The class of a task.

        Raises:
            ModelError: if it asks a model, and there is no reply.
        """

    async def decompose(self, task: str, task_class: TaskClass) -> tuple[Errand, ...]:
        """The parts of a task, in the order in which they are to be done; empty = not understood.

        Raises:
            ModelError: if it asks a model, and there is no reply.
        """

    async def rank_rooms(self, targets: Sequence[str], rooms: Sequence[str]) -> tuple[str, ...]:
        """All of the rooms, the most likely first.

        Args:
            targets: what is sought: one class, or two that are sought together.
            rooms: names, all different.

        Raises:
            ModelError: if it asks a model, and there is no reply.
        """

    async def large_objects(
        self, targets: Sequence[str], room: str, visible: Sequence[str]
    ) -> tuple[str, ...]:
        """Those of the visible that are worth a visit, the most likely first; empty = none.

        Args:
            targets: what is sought: one class, or two that are sought together.
            room: its name.
            visible: class names, one for each entity in view, so that they may repeat; furniture
                and things alike. An answer names each class once.

        Raises:
            ModelError: if it asks a model, and there is no reply.
        """
