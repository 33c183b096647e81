"""The seam to the world in which plans are carried out: episodes import no simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from planner.world.episode import Episode
from planner.world.house import House


@dataclass(frozen=True, slots=True)
class Played:
    """What became of a plan.

    Attributes:
        reason: why it does not count, in few words without names; "" if it met the criteria.
        walked_m: the distance that the robot walked.
    """

    reason: str = ""
    walked_m: float = 0.0


class TaskWorld(Protocol):
    """Carries plans out and has them judged."""

    @property
    def name(self) -> str:
        """What the command line calls it."""

    @property
    def lacks(self) -> dict[str, str]:
        """Why it has no tasks of a category or with a relation, by that word."""

    def play(self, episode: Episode, house: House, plan: Sequence[str]) -> Played:
        """Carries a plan out from the episode's start, and has it judged.

        Args:
            episode: with criteria; its own reference plan is ignored.
            house: the episode's.
            plan: calls of skills.

        Raises:
            PlannerError: if the episode does not fit the house.
        """

    def close(self) -> None:
        """Ends what it started."""


# Makes a world by its name on the command line.
MakeWorld = Callable[[str], TaskWorld]
