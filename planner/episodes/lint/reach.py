"""Goals that need furniture which no agent gets its hands on.

Our own houses with such furniture are refused as a whole (`planner houses check`). A data set's
scene is taken as it is: there only what asks for it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.evaluation.task import STATE_PREDICATES, Evaluation, Predicate, Proposition
from planner.world.state import EntityState


def out_of_reach(
    evaluation: Evaluation, entities: Mapping[str, EntityState], unreachable: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Field and reason of each proposition that cannot be met without unreachable furniture.

    Args:
        evaluation: a sound one.
        entities: all of them, at the start.
        unreachable: why no agent can reach it, by the furniture's name.
    """
    for i, proposition in enumerate(evaluation.propositions):
        if proposition.predicate is Predicate.IS_CLUSTERED:
            continue
        whys = [_why_not(proposition, name, entities, unreachable) for name in proposition.lists[0]]
        reasons = [why for why in whys if why]
        if len(whys) - len(reasons) < proposition.number:
            yield f"propositions.{i}", reasons[0]


def _why_not(
    proposition: Proposition,
    name: str,
    entities: Mapping[str, EntityState],
    unreachable: Mapping[str, str],
) -> str:
    """Why one of the first list cannot come to count; "" if it may, or does so already."""
    entity = entities.get(name)
    if entity is None:
        return ""
    if proposition.predicate in STATE_PREDICATES:
        state, wanted = STATE_PREDICATES[proposition.predicate]
        if (entity.states or {}).get(state) is wanted:
            return ""
        return unreachable.get(name) or unreachable.get(entity.parent or "", "")
    places = proposition.lists[1] if len(proposition.lists) > 1 else ()
    if proposition.predicate is Predicate.IS_NEXT_TO or entity.parent in places:
        return ""
    if places and all(place in unreachable for place in places):
        return unreachable[places[0]]
    return unreachable.get(entity.parent or "", "")
