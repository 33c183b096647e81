"""Goals that need furniture that no agent can reach.

Our own houses with such furniture are refused (`planner houses check`). Scenes of other data sets
are accepted, and only goals that need the furniture are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.evaluation.task import Evaluation, Predicate, Proposition, asked_open
from planner.world.openness import is_open
from planner.world.state import EntityState, chain_of
from planner.world.states import default_states


def out_of_reach(
    evaluation: Evaluation, entities: Mapping[str, EntityState], unreachable: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Field and reason of each proposition that needs unreachable furniture.

    Args:
        evaluation: a valid one.
        entities: all of them, at the start.
        unreachable: by the furniture's name, why no agent can reach it.
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
    """Why an entity of the first list cannot count; "" if it can, or already does."""
    entity = entities.get(name)
    if entity is None:
        return ""
    around = entity.parent or ""
    for thing in chain_of(entities, name):
        around = thing.parent or ""
    if proposition.predicate in default_states().predicates:
        state, value = default_states().predicates[proposition.predicate]
        if (entity.states or {}).get(state) is value:
            return ""
        return unreachable.get(name) or unreachable.get(around, "")
    opens = asked_open(proposition.predicate)
    if opens is not None:
        return "" if is_open(entity.openness) is opens else unreachable.get(name, "")
    places = proposition.lists[1] if len(proposition.lists) > 1 else ()
    if proposition.predicate is Predicate.IS_NEXT_TO or entity.parent in places:
        return ""
    if places and all(place in unreachable for place in places):
        return unreachable[places[0]]
    return unreachable.get(around, "")
