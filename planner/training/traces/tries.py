"""The tries of a bag: each world in it that began anew, and which are exported (PARTNR-10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path

from planner.replay.bag import Bag
from planner.replay.bag_parts import parts_of
from planner.training.traces.bag_run import callers_of, traces_of_bag
from planner.training.traces.record import Trace
from planner.world.errors import PlannerError


class Which(StrEnum):
    """Which tries at a task are exported."""

    ALL = "all"
    BEST = "best"


@dataclass(frozen=True, slots=True)
class Tried:
    """What was done in one world of a bag.

    Attributes:
        number: 1 = the first world.
        traces: of one instruction, one for each agent.
    """

    number: int
    traces: tuple[Trace, ...]

    @property
    def words(self) -> str:
        """The task."""
        return self.traces[0].instruction

    @property
    def rank(self) -> tuple[int, float]:
        """The more, the better: solved, then the share that was done."""
        return self.traces[0].reward, self.traces[0].percent_complete


def tries_of_bag(
    path: Path, agents: Sequence[str], which: Which, tell: Callable[[str], None]
) -> list[Tried]:
    """The tries of a bag in which one of these agents made calls, in their order.

    Tries at one task follow each other and have the same words. The best is the one that solved it,
    else the first of those with most done.

    Args:
        path: the bag's folder.
        agents: whose calls; empty = of all that made any.
        which: all, or the best one at each task.
        tell: called with a line for each try of a bag with several.

    Raises:
        LeakError: for a run in a house, of an episode, or with words that are for evaluation.
        PlannerError: for a world with several instructions, or a bag without calls of an agent.
        FileError: for a bag that cannot be read.
    """
    parts = parts_of(Bag(path))
    if len(parts) == 1:
        return [Tried(1, tuple(traces_of_bag(parts[0], agents)))]
    found, missing = list[Tried](), set(agents)
    for number, part in enumerate(parts, 1):
        callers = callers_of(part)
        own = [agent for agent in agents if agent in callers] if agents else callers
        missing -= set(own)
        if not own:
            tell(f"{path}, try {number} of {len(parts)}: nobody to learn from")
            continue
        found.append(Tried(number, tuple(traces_of_bag(part, own))))
        solved, share = found[-1].rank
        how = "solved" if solved else f"{share:.0%} done"
        tell(f"{path}, try {number} of {len(parts)}: {how}, by {', '.join(own)}")
    if missing or not found:
        raise PlannerError(f"{path}: has no calls of {', '.join(sorted(missing)) or 'anybody'}")
    if which is Which.ALL:
        return found
    tasks = groupby(found, key=lambda one: one.words)
    return [max(tries, key=lambda one: one.rank) for _, tries in tasks]
