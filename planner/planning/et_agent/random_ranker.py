"""The ranker for comparison: rooms and furniture in random order."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from planner.planning.et_agent.errand import Errand, TaskClass
from planner.planning.et_agent.ranker import RankerName
from planner.planning.et_agent.reading import read_task


class RandomRanker:
    """See `Ranker`; reads tasks by rules."""

    def __init__(self, seed: int) -> None:
        """The same seed gives the same orders to the same questions."""
        self._random = Random(seed)

    @property
    def name(self) -> RankerName:
        """Random."""
        return RankerName.RANDOM

    @property
    def evidence(self) -> str:
        """That nothing was learnt."""
        return "random order, for comparison"

    async def classify(self, task: str) -> TaskClass:
        """By rules."""
        return read_task(task).task_class

    async def decompose(self, task: str, task_class: TaskClass) -> tuple[Errand, ...]:  # noqa: ARG002
        """By rules."""
        return read_task(task).errands

    async def rank_rooms(self, targets: Sequence[str], rooms: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """In random order."""
        return tuple(self._random.sample(list(rooms), len(rooms)))

    async def large_objects(
        self,
        targets: Sequence[str],  # noqa: ARG002
        room: str,  # noqa: ARG002
        visible: Sequence[str],
    ) -> tuple[str, ...]:
        """All that is in view, in random order."""
        offered = list(dict.fromkeys(visible))
        return tuple(self._random.sample(offered, len(offered)))
