"""The interface of what proposes candidates, and the candidates of the recipe grammar."""

from __future__ import annotations

from typing import Protocol

from planner.episodes.generation.arguments import TaskType
from planner.episodes.generation.drawing import NoProposalError
from planner.episodes.generation.proposals import propose
from planner.episodes.generation.reading_check import misreading
from planner.episodes.recipes.build import RecipeError, UnattainableError, build
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House


class RejectedError(PlannerError):
    """A candidate that did not pass, and why in a few words."""


class Candidates(Protocol):
    """A source of episodes that are placed and have an evaluation, but are not yet checked."""

    def next(self, house: House, kind: TaskType, name: str, seed: int) -> Episode:
        """One candidate; equal arguments give equal candidates where the source can do that.

        Raises:
            RejectedError: if this attempt gave none.
        """


class GrammarCandidates:
    """Candidates of the recipe grammar, whose instructions a reader must understand as meant."""

    def next(self, house: House, kind: TaskType, name: str, seed: int) -> Episode:
        """See `Candidates`."""
        try:
            episode = build(propose(house, kind, name, seed), house).episode
        except NoProposalError:
            raise RejectedError("the house lacks what was drawn") from None
        except UnattainableError:
            raise RejectedError("no room for the goal") from None
        except RecipeError:
            raise RejectedError("no room for the start") from None
        if reason := misreading(episode, house):
            raise RejectedError(reason)
        return episode
