"""What a model says about ideas: whether they make sense, and in which words (ETPLAN-2.4)."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from planner.episodes.et_generation.idea import Idea
from planner.episodes.et_generation.phrasing import Phrasing


class RejectedIdeaError(Exception):
    """An idea that becomes no task; the text is the reason, without names."""


class Critic(Protocol):
    """Judges ideas and may word them anew.

    Attributes:
        unworded: how many texts kept their words, by the reason.
    """

    unworded: Counter[str]

    def judged(self, idea: Idea, text: str, phrasing: Phrasing) -> str:
        """The text to use.

        Raises:
            RejectedIdeaError: if the idea makes no sense.
        """
