"""From a model's free text to an admissible action (LLAMAR-2.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from planner.planning.llamar.actions import Action
from planner.world.record import record


@record
class Translation:
    """What a text was read as; kept beside the text in the trace.

    Attributes:
        action: an admissible one; Idle where the text was not understood.
        raw: the model's own words.
        similarity: of the two, 0 to 1; 1 for a text in the paper's spelling.
        understood: whether the similarity reached the threshold.
    """

    action: Action
    raw: str
    similarity: float
    understood: bool


class Translator(Protocol):
    """Reads what a model wants an agent to do."""

    @property
    def translator_id(self) -> str:
        """Its method and, for one with a model, that model; stored with results."""

    def translate(self, text: str, admissible: Sequence[Action]) -> Translation:
        """The admissible action that a text means, or Idle.

        Args:
            text: of a model: any text, also empty.
            admissible: of the moment, in `planner.planning.llamar.actions.admissible`'s order.
        """
