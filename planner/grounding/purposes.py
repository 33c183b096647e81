"""Which furniture is meant anywhere in an instruction, by what it has put there.

"Open the cabinet, put the plates inside, close it": the cabinet is one for plates from the start.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.grounding.keys import key_of
from planner.grounding.scene import Scene
from planner.grounding.spots import likely_pieces
from planner.language.description import Anchor, Description, Mention
from planner.language.goal_form import Goal, Move


def purposes(goal: Goal, scene: Scene) -> Mapping[str, frozenset[str]]:
    """The likely furniture for definite descriptions of places, by their keys."""
    labels = {
        phrase.label: phrase
        for phrase in goal.phrases()
        if isinstance(phrase, Description) and phrase.label is not None
    }

    def described(phrase: Anchor) -> Description | None:
        if isinstance(phrase, Mention):
            return labels.get(phrase.label)
        return phrase if isinstance(phrase, Description) else None

    found: dict[str, frozenset[str]] = {}
    for request in goal.requests:
        if not isinstance(request, Move):
            continue
        things = [thing for phrase in request.things if (thing := described(phrase)) is not None]
        likely = likely_pieces(scene, [thing.kind for thing in things])
        for place in request.to:
            anchor = described(place.anchor)
            if anchor is not None and anchor.definite and likely:
                found.setdefault(key_of(anchor, ""), likely)
    return found
