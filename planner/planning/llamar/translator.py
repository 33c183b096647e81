"""From a model's free text to an admissible action (LLAMAR-2.6)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from planner.planning.llamar.actions import Action, ActionError, parse_action
from planner.world.record import record
from planner.world.vocabulary import Relation


@record
class Translation:
    """What a text was read as; kept beside the text in the trace.

    Attributes:
        action: the one that was meant; Idle where the text was not understood.
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

        A text in the paper's spelling is taken at its word, so that an action on a thing that does
        not exist fails as such (LLAMAR-D23).

        Args:
            text: of a model: any text, also empty.
            admissible: of the moment, in `planner.planning.llamar.actions.admissible`'s order.
        """


def literally(text: str, admissible: Sequence[Action]) -> Action | None:
    """The action that a text spells as the paper does, in any case; None if it spells none.

    Things may be unknown, or of a kind to which this is not done. Actions on nothing are
    admissible.
    """
    try:
        wanted = parse_action(text)
    except ActionError:
        return None
    if not wanted.verb.takes_thing:
        return wanted if wanted in admissible else None
    name = wanted.argument.lower()
    known = (a.argument for a in admissible if a.argument.lower() == name)
    return Action(wanted.verb, next(known, wanted.argument), wanted.relation)


_DESTINATION = re.compile(r"\b(on top of|into|onto|inside|in|on|to|at)\b", re.IGNORECASE)
_RELATIONS = {
    "on top of": Relation.ON,
    "into": Relation.WITHIN,
    "inside": Relation.WITHIN,
    "in": Relation.WITHIN,
}


def relation_in(text: str) -> tuple[str, Relation | None]:
    """The part of a text after the last "in" or "on", and whether it says which is meant.

    A plain "on" is the paper's word for both.
    """
    ways = list(_DESTINATION.finditer(text))
    if not ways:
        return text, None
    return text[ways[-1].end() :], _RELATIONS.get(ways[-1][1].lower())
